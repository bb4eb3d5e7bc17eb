// A scheduler that goes by kernel caches, before an API server that answers at once: where a pod goes, and
// what is said of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
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

/// Every list has the objects of its kind, every write is applied; of those only a Binding changes anything.
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
  void addPod(const testing::PodBuilder& pod,
              std::vector<model::ObjectKey> caches = {{"default", "vectors"}}) {
    model::Pod value = pod.value();
    if (!value.bound()) { value.kernel_caches = std::move(caches); }
    add(kapi::kPod, value);
  }
  /// After lead(). `type`: Added or Deleted.
  void change(kapi::WatchType type, const testing::PodBuilder& pod, std::vector<model::ObjectKey> caches) {
    auto& pods = objects[kapi::kPod];
    addPod(pod, std::move(caches));
    const model::Object object = pods.back();
    if (type == kapi::WatchType::Deleted) {
      std::erase_if(pods, [&](const auto& one) { return one.key() == object.key(); });
    }
    carryOut(scheduler->handle(
        kapi::WatchEvent{streams.at(kapi::kPod), type, object, object.key(), ++revision}, now));
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
        if (const auto* log = std::get_if<kapi::Log>(&effect)) { warned.push_back(log->message); }
        if (const auto* opened = std::get_if<kapi::OpenWatch>(&effect)) {
          streams[opened->kind] = opened->stream;
        }
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
    if (refused == call.kind && call.verb == kapi::Verb::MergePatch) {
      o.result = kapi::CallResult::Refused;
      o.http = 403;
    } else if (call.verb == kapi::Verb::List) {
      o.items = objects[call.kind];
      o.list_revision = 10;
    } else if (call.kind == kapi::kCrd) {
      const auto& set = call.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-term"];
      if (call.verb != kapi::Verb::Get) { crd.lease_term = set.str(); }
      o.object = std::make_shared<const model::Crd>(crd);
    }
    if (call.subresource == "binding") { bind(call); }
    if (call.verb == kapi::Verb::Get && call.kind == kapi::kPod) { o.object = find(call.key); }
    return o;
  }
  void bind(const kapi::Call& call) {
    for (auto& object : objects[kapi::kPod]) {
      if (object.key() != call.key) { continue; }
      model::Pod bound = *object.as<model::Pod>();
      bound.node = model::NodeName{call.body["target"]["name"].str()};
      bound.revision = 11;
      bound.kernel_caches.change().clear();
      object = model::Object{std::make_shared<const model::Pod>(std::move(bound))};
    }
  }
  model::Object find(const model::ObjectKey& key) {
    for (const auto& object : objects[kapi::kPod]) {
      if (object.key() == key) { return object; }
    }
    return {};
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
  [[nodiscard]] std::vector<std::string> events(const std::string& reason) const {
    std::vector<std::string> out;
    for (const auto& call : sent) {
      if (call.kind == kapi::kEvent && call.body["reason"].str() == reason) {
        out.emplace_back(call.body["note"].str());
      }
    }
    return out;
  }
  /// That agents fetch something first.
  [[nodiscard]] std::vector<kapi::Call> requests() const {
    std::vector<kapi::Call> out;
    for (const auto& call : sent) {
      const bool is_one = call.kind == kExtracted || call.kind == kClusterExtracted;
      if (is_one && call.verb == kapi::Verb::MergePatch) { out.push_back(call); }
    }
    return out;
  }
  /// Which, behind the time (kcache/kinds/first.h).
  static std::vector<std::string> cachesIn(const kapi::Call& call) {
    std::string rest{call.body["metadata"]["annotations"]["gkm.io/fetch-first"].str()};
    rest.erase(0, rest.find(' ') + 1);
    std::vector<std::string> out;
    for (std::size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
      out.push_back(rest.substr(0, comma));
      rest.erase(0, comma + 1);
    }
    out.push_back(rest);
    return out;
  }
  [[nodiscard]] std::size_t listsOf(kapi::Kind kind) const {
    std::size_t out = 0;
    for (const auto& call : sent) { out += call.verb == kapi::Verb::List && call.kind == kind ? 1 : 0; }
    return out;
  }

  std::map<kapi::Kind, std::vector<model::Object>> objects;
  model::Crd crd{"gpuclaims.gpu.scheduling", model::Uid{"u"}, 7, "default", "", "gpu-scheduler"};
  std::map<kapi::Kind, kapi::Token> streams;
  model::Revision revision = 100;  // of what is changed
  std::vector<kapi::Call> sent;
  std::vector<std::string> warned;    // the log
  std::optional<kapi::Kind> refused;  // whose patches are
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

TEST_F(CachesTest, WhoWaitsIsToldByTheSweepThatACacheCame) {
  addNode("small", 2);
  addNode("other", 2);
  addExtracted("small", {"vectors"});
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  addExtracted("other", {"vectors"});
  const model::Object object = objects[kExtracted].back();
  carryOut(scheduler->handle(
      kapi::WatchEvent{streams.at(kExtracted), kapi::WatchType::Added, object, object.key(), ++revision},
      now));
  pass(2min);
  const auto said = events("FailedScheduling");
  ASSERT_FALSE(said.empty());
  EXPECT_TRUE(said.back().ends_with(". Kernel caches: default/vectors on 2 node(s).")) << said.back();
}

TEST_F(CachesTest, WhereAPodMayRunLaterItsCacheIsAskedForFirst) {
  addNode("taken", 4);
  addNode("too-small", 2);
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  const auto asked = requests();
  ASSERT_EQ(asked.size(), 1U) << "once";
  EXPECT_EQ(asked[0].key, (model::ObjectKey{"default", "taken"})) << "the other one never has so many";
  EXPECT_EQ(asked[0].kind, kExtracted);
  EXPECT_TRUE(asked[0].leader_only);
  EXPECT_EQ(cachesIn(asked[0]), (std::vector<std::string>{"vectors"}));
  EXPECT_EQ(asked[0].body["metadata"].members().size(), 1U) << "and nothing else is changed";
}

TEST_F(CachesTest, WhereItIsAskedForIsSaid) {
  addNode("taken", 4);
  addNode("taken-too", 4);
  for (const char* name : {"taken", "taken-too"}) {
    addPod(testing::PodBuilder{std::string{"on-"} + name}.gpus(3).on(name).running());
  }
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  pass(2min);
  const auto notes = events("FailedScheduling");
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.back(),
            "0/2 nodes are available: 2 node(s) had too few free GPUs: need 4 and most free is 1. "
            "Kernel caches: default/vectors on 0 node(s). Asked for first on taken and taken-too.");
}

TEST_F(CachesTest, WhatWasAskedForLongAgoIsNotAskedForOnceMoreWithTheNext) {
  addNode("taken", 4);
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  change(kapi::WatchType::Deleted, testing::PodBuilder{"p"}.gpus(4), {});
  pass(5min);
  change(kapi::WatchType::Added, testing::PodBuilder{"q"}.gpus(4), {{"default", "soon"}});
  pass(5s);
  EXPECT_EQ(cachesIn(requests().back()), (std::vector<std::string>{"soon", "vectors"}));
  change(kapi::WatchType::Deleted, testing::PodBuilder{"q"}.gpus(4), {});
  pass(5min);
  change(kapi::WatchType::Added, testing::PodBuilder{"r"}.gpus(4), {{"default", "later"}});
  pass(5s);
  EXPECT_EQ(cachesIn(requests().back()), (std::vector<std::string>{"later", "soon"}));
  EXPECT_EQ(requests().size(), 3U);
}

TEST_F(CachesTest, WhatIsThereIsNotAskedFor) {
  addNode("taken", 4);
  addExtracted("taken", {"vectors"});
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  EXPECT_TRUE(requests().empty());
}

TEST_F(CachesTest, AskedOnAFewNodesOnlyTheOnesWithTheMostFreeGpus) {
  for (const char* name : {"a", "b", "c", "d"}) { addNode(name, 4); }
  addPod(testing::PodBuilder{"on-a"}.gpus(3).on("a").running());
  addPod(testing::PodBuilder{"on-b"}.gpus(1).on("b").running());
  addPod(testing::PodBuilder{"on-c"}.gpus(2).on("c").running());
  addPod(testing::PodBuilder{"on-d"}.gpus(2).on("d").running());
  addPod(testing::PodBuilder{"p"}.gpus(4));
  lead(1000);
  std::vector<std::string> nodes;
  for (const auto& call : requests()) { nodes.push_back(call.key.name); }
  EXPECT_EQ(nodes, (std::vector<std::string>{"b", "c"}));
}

TEST_F(CachesTest, NamespacesTakeTurnsAndOneAsksForAFewCachesAtATime) {
  addNode("taken", 4);
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  for (int i = 0; i < 20; ++i) {
    addPod(testing::PodBuilder{"many-" + std::to_string(i), "busy"}.gpus(4),
           {{"busy", "cache-" + std::to_string(i)}});
  }
  addPod(testing::PodBuilder{"one", "quiet"}.gpus(4), {{"quiet", "its-own"}});
  lead(1000);
  pass(20s);
  const auto asked = requests();
  ASSERT_EQ(asked.size(), 21U);
  const auto quiet =
      std::find_if(asked.begin(), asked.end(), [](const auto& c) { return c.key.ns == "quiet"; });
  EXPECT_LE(quiet - asked.begin(), 1) << "not behind all of the other one's";
  for (const auto& call : asked) {
    EXPECT_GE(cachesIn(call).size(), 1U);
    EXPECT_LE(cachesIn(call).size(), 8U);
  }
}

TEST_F(CachesTest, WhoWaitsNoMoreHasNoTurn) {
  addNode("taken", 4);
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  for (int i = 0; i < 20; ++i) {
    addPod(testing::PodBuilder{"many-" + std::to_string(i)}.gpus(4),
           {{"default", "cache-" + std::to_string(i)}});
  }
  lead(1000);
  const auto had = requests();
  const std::size_t before = had.size();
  ASSERT_LT(before, 15U);
  std::vector<int> left;
  for (int i = 0; i < 20; ++i) {
    const bool had_it = std::any_of(had.begin(), had.end(), [&](const auto& call) {
      return cachesIn(call).front() == "cache-" + std::to_string(i);
    });
    if (!had_it) { left.push_back(i); }
  }
  for (int i = 0; i < 20; ++i) {
    if (i == left.back()) { continue; }
    change(kapi::WatchType::Deleted, testing::PodBuilder{"many-" + std::to_string(i)}.gpus(4), {});
  }
  pass(1s);
  ASSERT_EQ(requests().size(), before + 1);
  EXPECT_EQ(cachesIn(requests().back()).front(), "cache-" + std::to_string(left.back()))
      << "at once, not after all that went";
  pass(30s);
  EXPECT_EQ(requests().size(), before + 1);
}

TEST_F(CachesTest, OnlySoManyClassesOfANamespaceWaitForTheirTurn) {
  addNode("taken", 4);
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  for (int i = 0; i < 300; ++i) {
    addPod(testing::PodBuilder{"many-" + std::to_string(i)}.gpus(4),
           {{"default", "cache-" + std::to_string(i)}});
  }
  lead(1000);
  pass(280s);
  EXPECT_EQ(requests().size(), FetchFirst::kMostOfOne);
}

TEST_F(CachesTest, WhereAgentsMayNotBeAskedItIsSaidOnce) {
  refused = kExtracted;
  addNode("taken", 4);
  addPod(testing::PodBuilder{"runs"}.gpus(3).on("taken").running());
  addPod(testing::PodBuilder{"p"}.gpus(4));
  addPod(testing::PodBuilder{"q", "other"}.gpus(4), {{"other", "x"}});
  lead(1000);
  EXPECT_EQ(requests().size(), 2U);
  pass(2min);
  for (const auto& note : events("FailedScheduling")) {
    EXPECT_EQ(note.find("Asked for first"), std::string::npos) << note;
  }
  EXPECT_EQ(
      std::count(warned.begin(), warned.end(),
                 "agents cannot be asked to fetch kernel caches first; apply deploy/rbac/kernel-caches.yaml"),
      1);
}

}  // namespace
}  // namespace gs::scheduler
