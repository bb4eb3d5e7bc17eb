// A scheduler that goes by kernel caches, before an API server that answers at once: where a pod goes, and
// what is said of it.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kapi/kinds.h"
#include "scheduler/caches/extracted.h"
#include "scheduler/scheduler.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;

/// Every list has the objects of its kind, every write is applied and changes nothing.
class CachesTest : public ::testing::Test {
 protected:
  template <class T>
  void add(kapi::Kind kind, T value) {
    objects[kind].push_back(std::make_shared<const T>(std::move(value)));
  }
  void addNode(const std::string& name, int gpus) {
    model::Node node = testing::makeNode(name);
    node.allocatable.extended[model::kNvidiaGpu] = gpus;
    add(kapi::kNode, node);
    model::GpuNodeStatus status = testing::makeStatus(name, gpus);
    status.enforcement = model::Enforcement::Off;
    add(kapi::kGpuNodeStatus, status);
  }
  void addExtracted(const char* node, std::vector<std::string> names) {
    add(kExtracted, ExtractedCaches{{"default", node}, model::Uid{node}, 1, std::move(names)});
  }
  void addPod(testing::PodBuilder pod) {
    model::Pod value = pod.value();
    value.kernel_caches = {{"default", "vectors"}};
    add(kapi::kPod, value);
  }
  void lead(std::int32_t weight) {
    Config config;
    config.cache_weight = weight;
    scheduler = std::make_unique<Scheduler>(config, Rng{1});
    carryOut(scheduler->start(now));
    carryOut(scheduler->handle(kapi::Leadership{true, 1, now.mono + 1h}, now));
    pass(10s);
  }
  void pass(Duration time) {
    for (const Mono end = now.mono + time; now.mono < end;) {
      now.mono += 100ms;
      now.wall += 100ms;
      carryOut(scheduler->handle(kapi::TimerDue{}, now));
    }
  }
  /// And whatever follows from it.
  void carryOut(kapi::Effects effects) {
    std::deque<kapi::Effects> left;
    left.push_back(std::move(effects));
    for (; !left.empty(); left.pop_front()) {
      for (const auto& effect : left.front()) {
        const auto* call = std::get_if<kapi::Call>(&effect);
        if (call == nullptr) { continue; }
        sent.push_back(*call);
        left.push_back(scheduler->handle(answer(*call), now));
      }
    }
  }
  kapi::Outcome answer(const kapi::Call& call) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = kapi::CallResult::Applied;
    o.http = 200;
    if (call.verb == kapi::Verb::List) {
      o.items = objects[call.kind];
      o.list_revision = 10;
    } else if (call.kind == kapi::kCrd) {
      model::Crd crd{"gpuclaims.gpu.scheduling", model::Uid{"u"}, 7, "default", "", "gpu-scheduler"};
      crd.lease_term = call.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-term"].str();
      o.object = std::make_shared<const model::Crd>(crd);
    }
    return o;
  }
  [[nodiscard]] std::string boundTo() const {
    for (const auto& call : sent) {
      if (call.subresource == "binding") { return std::string{call.body["target"]["name"].str()}; }
    }
    return "";
  }
  [[nodiscard]] std::string event(const std::string& reason) const {
    for (const auto& call : sent) {
      if (call.kind == kapi::kEvent && call.body["reason"].str() == reason) {
        return std::string{call.body["note"].str()};
      }
    }
    return "";
  }
  [[nodiscard]] std::size_t listsOf(kapi::Kind kind) const {
    std::size_t out = 0;
    for (const auto& call : sent) { out += call.verb == kapi::Verb::List && call.kind == kind ? 1 : 0; }
    return out;
  }

  std::map<kapi::Kind, std::vector<model::Object>> objects;
  std::vector<kapi::Call> sent;
  std::unique_ptr<Scheduler> scheduler;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
};

TEST_F(CachesTest, APodGoesToTheNodeThatHasItsCacheAndItsEventSaysSo) {
  addNode("full", 2);
  addNode("with-cache", 8);
  addExtracted("with-cache", {"vectors"});
  addPod(testing::PodBuilder{"p"}.gpus(1));
  lead(1000);
  EXPECT_EQ(boundTo(), "with-cache");
  EXPECT_EQ(event("Scheduled"),
            "Successfully assigned default/p to with-cache; 1 of 1 kernel cache extracted there");
}

TEST_F(CachesTest, WhereNoNodeHasItTheFullerOneIsTaken) {
  addNode("full", 2);
  addNode("empty", 8);
  addExtracted("empty", {"others"});
  addPod(testing::PodBuilder{"p"}.gpus(1));
  lead(1000);
  EXPECT_EQ(boundTo(), "full");
  EXPECT_EQ(event("Scheduled"),
            "Successfully assigned default/p to full; 0 of 1 kernel cache extracted there");
}

TEST_F(CachesTest, OffNobodyAsksAndNothingIsSaid) {
  addNode("full", 2);
  addNode("with-cache", 8);
  addExtracted("with-cache", {"vectors"});
  addPod(testing::PodBuilder{"p"}.gpus(1));
  lead(0);
  EXPECT_EQ(boundTo(), "full");
  EXPECT_EQ(event("Scheduled"), "Successfully assigned default/p to full");
  EXPECT_EQ(listsOf(kExtracted) + listsOf(kClusterExtracted), 0U);
}

TEST_F(CachesTest, APodThatWaitsIsToldWhereItsCacheIs) {
  addNode("small", 2);
  addExtracted("small", {"vectors"});
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  EXPECT_EQ(boundTo(), "");
  const std::string why = event("FailedScheduling");
  EXPECT_TRUE(why.starts_with("0/1 nodes are available: ")) << why;
  EXPECT_TRUE(why.ends_with(". Kernel caches: default/vectors on 1 node(s).")) << why;
}

}  // namespace
}  // namespace gs::scheduler
