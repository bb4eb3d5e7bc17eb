// What an operator is told: a log line for each decision, and who waits in the metrics.
#include "scheduler/status_page.h"
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

struct Lines {
  std::vector<std::string> lines;
  std::vector<std::string> warnings;  // of those
};

sandbox::World::Options noting(Lines& to) {
  sandbox::World::Options options;
  options.on_log = [&to](sandbox::ReplicaId, const kapi::Log& log) {
    std::string line = log.message;
    for (const auto& [key, value] : log.fields) { line += " " + key + "=" + value; }
    if (log.level >= kapi::Level::Warn) { to.warnings.push_back(line); }
    to.lines.push_back(std::move(line));
  };
  return options;
}

class Said : protected Lines, public Cluster {
 protected:
  Said() : Cluster{noting(*this)} { startOne(); }
  [[nodiscard]] std::vector<std::string> about(const std::string& what) const {
    std::vector<std::string> out;
    for (const auto& line : lines) {
      if (line.starts_with(what)) { out.push_back(line); }
    }
    return out;
  }
  [[nodiscard]] std::string waiting(const std::string& queue) {
    const std::string text = scheduler::stateMetrics(world.scheduler(0));
    const std::string name = "scheduler_pending_pods{queue=\"" + queue + "\"} ";
    const auto at = text.find(name);
    return at == std::string::npos ? "not there"
                                   : text.substr(at + name.size(), text.find('\n', at) - at - name.size());
  }
};

TEST_F(Said, AStartWithoutTroubleWarnsOfNothing) {
  world.run(10s);
  EXPECT_EQ(about("leading; catching up before deciding").size(), 1U);
  EXPECT_EQ(about("deciding").size(), 1U);
  EXPECT_EQ(warnings, std::vector<std::string>{});
}

TEST_F(Said, APlacementIsOneLine) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  world.create(pod("plain", ""));
  ASSERT_TRUE(eventually([&] { return !nodeOf("p").empty() && !nodeOf("plain").empty(); }));
  world.run(90s);
  const auto bound = about("bound pod=default/p ");
  ASSERT_EQ(bound.size(), 1U);
  const std::string gpu = allocated("p").substr(allocated("p").find(':') + 1);
  EXPECT_TRUE(
      bound[0].starts_with("bound pod=default/p node=" + nodeOf("p") + " gpus=" + gpu + " claim=one ms="))
      << bound[0];
  const auto plain = about("bound pod=default/plain ");
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].find("gpus="), std::string::npos);
}

TEST_F(Said, APodThatWaitsIsOneLineForEachKindOfReason) {
  world.create(claim("many", 64));
  world.create(pod("p", "many"));
  world.run(3min);
  ASSERT_EQ(about("waits pod=default/p ").size(), 1U);
  world.create(pod("q", "none"));
  world.run(3min);
  ASSERT_EQ(about("waits pod=default/q ").size(), 1U);
  EXPECT_EQ(about("waits pod=default/q ")[0],
            "waits pod=default/q reason=gpuclaim \"none\" not found in namespace default; create it");
  world.create(claim("none", 64));
  world.run(3min);
  EXPECT_EQ(about("waits pod=default/q ").size(), 2U) << "it waits for something else now";
  EXPECT_EQ(about("waits pod=default/p ").size(), 1U);
}

TEST_F(Said, WhoCannotBePlacedAsItIsCountsAsWaiting) {
  world.create(pod("missing", "none"));
  json::Value gated = pod("gated", "");
  gated.child("spec").set("schedulingGates", json::Array{json::Object{{"name", "example.com/later"}}});
  world.create(gated);
  world.run(5s);
  EXPECT_EQ(waiting("unschedulable"), "1");
  EXPECT_EQ(waiting("gated"), "1");
  EXPECT_EQ(waiting("active"), "0");
  world.create(claim("none", 1));
  ASSERT_TRUE(eventually([&] { return !nodeOf("missing").empty(); }));
  deletePod("gated", true);
  world.run(5s);
  EXPECT_EQ(waiting("unschedulable"), "0");
  EXPECT_EQ(waiting("gated"), "0");
}

/// How many events of that reason there are about the object.
std::size_t eventsAbout(sandbox::World& world, const std::string& name, const std::string& reason) {
  const json::Value list = world.get("/apis/events.k8s.io/v1/events");
  std::size_t n = 0;
  for (const auto& event : list["items"].items()) {
    n += event["regarding"]["name"].str() == name && event["reason"].str() == reason ? 1 : 0;
  }
  return n;
}

/// The next leader says who waits; two that said it would count everybody twice.
TEST_F(Said, WhoLeadsNoMoreCountsNobody) {
  world.create(claim("many", 64));
  world.create(pod("p", "many"));
  world.run(5s);
  EXPECT_EQ(waiting("unschedulable"), "1");
  world.stop(0);
  world.run(10s);
  EXPECT_EQ(waiting("unschedulable"), "0");
}

TEST_F(Said, AGpuThatFailsUnderAPodIsSaidToPodAndNodeOnceUntilItIsWell) {
  world.create(claim("one", 1));
  world.create(pod("p", "one"));
  ASSERT_TRUE(eventually([&] { return !allocated("p").empty(); }));
  const std::string node = nodeOf("p");
  const int id = std::stoi(allocated("p").substr(allocated("p").find(':') + 1));
  const auto told = [&](const std::string& of) { return eventsAbout(world, of, "GpuUnhealthy"); };
  world.run(60s);
  EXPECT_EQ(told("p"), 0U);
  world.machines().setHealth(node, id, model::Health::Unhealthy, "XID 79");
  world.run(5s);  // not by the next sweep only
  EXPECT_EQ(told("p"), 1U);
  EXPECT_EQ(told(node), 1U);
  world.run(5min);
  EXPECT_EQ(told("p") + told(node), 2U) << "once";
  EXPECT_FALSE(allocated("p").empty()) << "nothing is taken away";
  world.machines().setHealth(node, id, model::Health::Healthy, "");
  world.run(7min);
  world.machines().setHealth(node, id, model::Health::Unhealthy, "XID 79");
  world.run(60s);
  EXPECT_EQ(told("p") + told(node), 4U) << "it failed again";
}

}  // namespace
}  // namespace gs::test
