#include "scheduler/report/slice_statuses.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// A scheduler that leads, and an API server whose watches come at once.
class SliceStatusesTest : public ::testing::Test {
 protected:
  SliceStatusesTest() { context.now = {Mono{1h}, Wall{1h}}; }

  void apply(kapi::Kind kind, const std::string& name, model::Object object) {
    context.engine.apply({kind, {"", name}, {}, std::move(object), ++revision}, context.now.mono);
  }
  void node(const std::string& name, const char* uid = "") {
    model::Node node = testing::makeNode(name);
    if (*uid != '\0') { node.uid = model::Uid{uid}; }
    apply(kapi::kNode, name, std::make_shared<const model::Node>(node));
  }
  /// A device plugin offers GPUs there.
  void pluginComes(const std::string& name) {
    model::Node node = testing::makeNode(name);
    node.allocatable.extended[model::kNvidiaGpu] = 1;
    apply(kapi::kNode, name, std::make_shared<const model::Node>(node));
  }
  /// The node is moved to a device plugin.
  void moves(const std::string& name) {
    publishesNothing(name);
    pluginComes(name);
  }
  void nodeGoes(const std::string& name) { apply(kapi::kNode, name, {}); }
  void publishes(const std::string& name, int gpus, const char* taint = "") {
    model::ResourceSlice s;
    s.key = {"", "slice-" + name};
    s.uid = model::Uid{"slice-" + name};
    s.revision = ++revision;
    s.driver = "gpu.nvidia.com";
    s.pool = name;
    s.generation = static_cast<std::int64_t>(revision);
    s.slices = 1;
    s.node = model::NodeName{name};
    for (int i = 0; i < gpus; ++i) {
      model::SliceDevice& d = s.devices.emplace_back();
      d.name = "gpu-" + std::to_string(i);
      d.attributes[{"gpu.nvidia.com", "type"}] = std::string{"gpu"};
      d.attributes[{"gpu.nvidia.com", "uuid"}] = "GPU-" + name + "-" + std::to_string(i);
      if (*taint != '\0') { d.taints.push_back({taint, "", "NoSchedule"}); }
    }
    apply(kapi::kResourceSlice, s.key.name, std::make_shared<const model::ResourceSlice>(s));
  }
  void publishesNothing(const std::string& name) { apply(kapi::kResourceSlice, "slice-" + name, {}); }

  /// The watch brings what is stored.
  void bring(const std::string& name) {
    const auto at = stored.find(name);
    if (at == stored.end()) { return apply(kapi::kGpuNodeStatus, name, {}); }
    at->second.child("metadata").set("resourceVersion", std::to_string(++revision));
    apply(kapi::kGpuNodeStatus, name,
          std::make_shared<const model::GpuNodeStatus>(kapi::decodeGpuNodeStatus(at->second)));
  }
  /// As an agent does, or somebody by hand. "" leaves it out.
  void writes(const std::string& name, const char* label, const char* observed, const char* enforcement) {
    json::Value& object = stored[name];
    object = json::Object{{"metadata", json::Object{{"name", name}, {"uid", "s-" + name}}}};
    if (*label != '\0') { object.child("metadata").child("labels").set(model::kWrittenByKey, label); }
    if (*observed != '\0') { object.child("status").set("observedTime", observed); }
    if (*enforcement != '\0') { object.child("status").set("enforcement", enforcement); }
    bring(name);
  }

  /// What leaves now.
  std::vector<kapi::Call> pump(bool may_write = true) {
    part.pump(may_write, busy);
    std::vector<kapi::Call> calls;
    for (auto& effect : std::exchange(context.out, {})) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) {
        EXPECT_TRUE(call->leader_only);
        EXPECT_EQ(call->kind, kapi::kGpuNodeStatus);
        calls.push_back(std::move(*call));
      } else if (std::holds_alternative<kapi::Log>(effect)) {
        ++logs;
      }
    }
    return calls;
  }
  static std::string nameIn(const kapi::Call& call) {
    return call.key.name.empty() ? std::string{call.body["metadata"]["name"].str()} : call.key.name;
  }
  static std::string lineOf(const kapi::Call& call) {
    return std::string{kapi::httpMethod(call.verb)} + " " + nameIn(call);
  }
  void answer(const kapi::Call& call, CallResult result, int http, const char* reason = "") {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    o.reason = reason;
    EXPECT_TRUE(context.parts.handle(o, context.now, context.out));
  }
  void carryOut(const kapi::Call& call) {
    const std::string name = nameIn(call);
    if (call.verb == kapi::Verb::Create) {
      stored[name] = call.body;
      stored[name].child("metadata").set("uid", "s-" + name);
    } else if (call.verb == kapi::Verb::Delete) {
      stored.erase(name);
    } else {
      const json::Value& live = stored.at(name)["metadata"];
      EXPECT_EQ(call.body["metadata"]["uid"].str(), live["uid"].str());
      EXPECT_EQ(call.body["metadata"]["resourceVersion"].str(), live["resourceVersion"].str());
      for (const auto& [field, value] : call.body["status"].members()) {
        stored[name].child("status").set(field, value);
      }
    }
    bring(name);
    answer(call, CallResult::Applied, call.verb == kapi::Verb::Create ? 201 : 200);
  }
  /// All that leaves within so long, in order, each carried out at once.
  std::string settle(Duration by = 30s) {
    std::string lines;
    for (const Mono until = context.now.mono + by; context.now.mono < until; context.now.mono += 100ms) {
      for (const auto& call : pump()) {
        lines += lineOf(call) + "; ";
        carryOut(call);
      }
    }
    return lines;
  }
  [[nodiscard]] std::string enforcement(const std::string& name) const {
    return std::string{stored.at(name)["status"]["enforcement"].str()};
  }

  model::Revision revision = 10;
  Context context{Config{}, Rng{1}};
  SliceStatuses part{context};
  bool busy = false;  // pods are being bound
  std::map<std::string, json::Value> stored;
  int logs = 0;
};

TEST_F(SliceStatusesTest, ANodeThatOnlyItsDriverSpeaksOfHasAnObjectThatSaysItsGpus) {
  node("a");
  node("b");
  publishes("a", 2);
  EXPECT_EQ(settle(), "POST a; PATCH a; ");
  const json::Value& status = stored.at("a")["status"];
  EXPECT_EQ(status["devices"].items().size(), 2U);
  EXPECT_EQ(status["devices"].at(1)["uuid"].str(), "GPU-a-1");
  EXPECT_EQ(status["total"].integer(), 2);
  EXPECT_EQ(status["healthy"].integer(), 2);
  EXPECT_EQ(enforcement("a"), "dra");
  EXPECT_TRUE(status["free"].isNull());
  EXPECT_TRUE(status["observedTime"].isNull());
  EXPECT_EQ(settle(1h), "") << "it is so by now";
}

TEST_F(SliceStatusesTest, ItFollowsWhatIsPublishedAndGoesWithIt) {
  node("a");
  publishes("a", 2);
  (void)settle();
  publishes("a", 2, "fan");
  EXPECT_EQ(settle(), "PATCH a; ");
  EXPECT_EQ(stored.at("a")["status"]["devices"].at(0)["healthReason"].str(), "device taint fan:NoSchedule");
  EXPECT_EQ(stored.at("a")["status"]["healthy"].integer(), 0);
  publishes("a", 0);
  EXPECT_EQ(settle(), "PATCH a; ") << "the driver is there, and has none";
  moves("a");
  EXPECT_EQ(settle(), "DELETE a; ");
  node("a");
  publishes("a", 1);
  EXPECT_EQ(settle(), "POST a; PATCH a; ");
}

/// A kubelet that starts anew takes its node's slices away, and its driver publishes them again.
TEST_F(SliceStatusesTest, ItStaysWhileTheDriverIsAway) {
  node("a");
  publishes("a", 2);
  (void)settle();
  publishesNothing("a");
  EXPECT_EQ(settle(1h), "PATCH a; ");
  const json::Value& status = stored.at("a")["status"];
  EXPECT_EQ(status["healthy"].integer(), 0);
  EXPECT_EQ(status["devices"].at(1)["uuid"].str(), "GPU-a-1");
  EXPECT_EQ(status["devices"].at(1)["healthReason"].str(),
            "gpu.nvidia.com publishes no GPUs of the node now");
  EXPECT_EQ(enforcement("a"), "dra");
  publishes("a", 2);
  EXPECT_EQ(settle(), "PATCH a; ");
  EXPECT_EQ(stored.at("a")["status"]["healthy"].integer(), 2);
}

/// Whoever leads from now on has not seen the slices.
TEST_F(SliceStatusesTest, OfADriverThatIsAwayANewLeaderLeavesWhatItSays) {
  node("a");
  node("b");
  writes("b", "agent", "t", "dra");
  writes("a", "scheduler", "", "dra");
  json::Value& ours = stored.at("a");
  ours.child("status").set("devices", json::Array{json::Value{json::Object{{"id", 0}}}});
  const json::Object owner{{"kind", "Node"}, {"name", "a"}, {"uid", "uid-a"}};
  ours.child("metadata").set("ownerReferences", json::Array{json::Value{owner}});
  bring("a");
  EXPECT_EQ(settle(1h), "");
  moves("b");
  EXPECT_EQ(settle(), "PATCH b; ");
  EXPECT_EQ(enforcement("b"), "");
}

TEST_F(SliceStatusesTest, ItIsOfTheNodeThatIsThere) {
  publishes("a", 1);
  EXPECT_EQ(settle(), "") << "nobody can own it";
  node("a");
  EXPECT_EQ(settle(), "POST a; PATCH a; ");
  node("a", "uid-of-another");
  EXPECT_EQ(settle(), "DELETE a; POST a; PATCH a; ");
  EXPECT_EQ(stored.at("a")["metadata"]["ownerReferences"].at(0)["uid"].str(), "uid-of-another");
  nodeGoes("a");
  EXPECT_EQ(settle(), "DELETE a; ");
}

TEST_F(SliceStatusesTest, WhatSomebodyChangesInItIsPutRight) {
  node("a");
  publishes("a", 1);
  (void)settle();
  stored.at("a").child("status").set("devices", json::Array{});
  bring("a");
  EXPECT_EQ(settle(), "PATCH a; ");
  stored.erase("a");
  bring("a");
  EXPECT_EQ(settle(), "POST a; PATCH a; ");
}

TEST_F(SliceStatusesTest, OfAnAgentsObjectOneWordIsWrittenAndTakenOff) {
  node("a");
  publishes("a", 1);
  writes("a", "agent", "t1", "env");
  EXPECT_EQ(settle(), "PATCH a; ");
  EXPECT_EQ(enforcement("a"), "dra");
  writes("a", "agent", "t2", "dra");
  EXPECT_EQ(settle(), "") << "the agent left it";
  publishesNothing("a");
  EXPECT_EQ(settle(1h), "") << "it is its driver's all the same";
  moves("a");
  EXPECT_EQ(settle(), "PATCH a; ");
  EXPECT_EQ(enforcement("a"), "");
  writes("a", "agent", "t3", "env");
  EXPECT_EQ(settle(), "");
}

struct LeftAlone {
  const char* label;
  const char* observed;
  const char* enforcement;
  const char* what;
};

TEST_F(SliceStatusesTest, WhatOthersKeepIsLeftAlone) {
  for (const LeftAlone& row : {LeftAlone{"", "", "off", "written by hand"},
                               LeftAlone{"", "t", "env", "of an agent of before the label"},
                               LeftAlone{"scheduler", "t", "env", "such a one took it over"},
                               LeftAlone{"agent", "", "dra", "its agent is about to write"}}) {
    for (const bool by_driver : {true, false}) {
      node("a");
      if (by_driver) { publishes("a", 1); }
      writes("a", row.label, row.observed, row.enforcement);
      EXPECT_EQ(settle(1h), "") << row.what;
      stored.erase("a");
      moves("a");
      bring("a");
      EXPECT_EQ(settle(), "");
    }
  }
}

TEST_F(SliceStatusesTest, AnAgentThatComesHasItAndOneThatGoesLeavesIt) {
  node("a");
  publishes("a", 1);
  (void)settle();
  writes("a", "agent", "", "dra");
  EXPECT_EQ(settle(), "");
  publishes("a", 2);
  EXPECT_EQ(settle(), "") << "it is the agent's by now";
  writes("a", "agent", "t", "dra");
  EXPECT_EQ(settle(1h), "");
  stored.erase("a");
  bring("a");
  EXPECT_EQ(settle(), "POST a; PATCH a; ") << "it was deleted, and no agent makes it anew";
}

TEST_F(SliceStatusesTest, FewLeaveAtOnceAndAllInTheEnd) {
  constexpr std::size_t kNodes = 300;
  for (std::size_t i = 0; i < kNodes; ++i) {
    node("n-" + std::to_string(i));
    publishes("n-" + std::to_string(i), 1);
  }
  auto calls = pump();
  EXPECT_EQ(calls.size(), SliceStatuses::kAtOnce);
  context.now.mono += 1s;
  EXPECT_EQ(pump().size(), 0U) << "none was answered";
  for (const auto& call : calls) { carryOut(call); }
  calls = pump();
  EXPECT_EQ(calls.size(), SliceStatuses::kAtOnce);
  for (const auto& call : calls) { carryOut(call); }
  EXPECT_EQ(pump().size(), 0U) << "the next ones wait a moment";
  ASSERT_TRUE(part.nextDue());
  EXPECT_GT(*part.nextDue(), context.now.mono);
  EXPECT_LE(*part.nextDue(), context.now.mono + SliceStatuses::kGap);
  (void)settle(60s);
  EXPECT_EQ(stored.size(), kNodes);
  for (const auto& [name, object] : stored) { EXPECT_EQ(enforcement(name), "dra") << name; }
  EXPECT_EQ(pump().size(), 0U);
}

TEST_F(SliceStatusesTest, WhilePodsAreBoundTheyLeaveSeldom) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    node(name);
    publishes(name, 1);
  }
  busy = true;
  for (int i = 0; i < 2; ++i) {
    const auto calls = pump();
    EXPECT_EQ(calls.size(), SliceStatuses::kAtOnce) << "they do leave";
    for (const auto& call : calls) { carryOut(call); }
    context.now.mono += SliceStatuses::kBusyGap - 1ms;
    EXPECT_EQ(pump().size(), 0U) << "pods come first";
    context.now.mono += 1ms;
  }
}

/// What nothing has to be written for costs a look, some of them at each event.
TEST_F(SliceStatusesTest, AnEventLooksAtSomeNodesOnly) {
  constexpr std::size_t kNodes = 3 * SliceStatuses::kLooks;
  for (std::size_t i = 0; i < kNodes; ++i) { node("n-" + std::to_string(i)); }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pump().size(), 0U);
    ASSERT_TRUE(part.nextDue());
    EXPECT_LE(*part.nextDue(), context.now.mono) << "at once";
  }
  EXPECT_EQ(pump().size(), 0U);
  EXPECT_EQ(part.nextDue(), std::nullopt);
}

TEST_F(SliceStatusesTest, ARoleThatDoesNotAllowItIsAskedSeldomAndSaidOnce) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    node(name);
    publishes(name, 1);
  }
  std::size_t asked = 0;
  for (const Mono until = context.now.mono + 1h; context.now.mono < until; context.now.mono += 1s) {
    for (const auto& call : pump()) {
      ++asked;
      answer(call, CallResult::Refused, 403, "Forbidden");
    }
  }
  EXPECT_LE(asked, 7 * SliceStatuses::kAtOnce);
  for (const auto& call : pump()) { carryOut(call); }
  EXPECT_EQ(logs, 1);
  (void)settle(15min);
  EXPECT_EQ(stored.size(), 6U) << "it is allowed by now";
  EXPECT_EQ(enforcement("f"), "dra");
}

TEST_F(SliceStatusesTest, WhatFailsIsTriedAgainLaterEachTime) {
  struct Row {
    CallResult result;
    int http;
    int logs;
  };
  for (const Row& row : {Row{CallResult::Refused, 409, 0}, Row{CallResult::Unknown, 500, 0},
                         Row{CallResult::NotSent, 0, 0}, Row{CallResult::Refused, 422, 1}}) {
    part.reset();
    logs = 0;
    node("a");
    publishes("a", 1);
    int asked = 0;
    for (const Mono until = context.now.mono + 1h; context.now.mono < until; context.now.mono += 1s) {
      for (const auto& call : pump()) {
        ++asked;
        answer(call, row.result, row.http);
      }
    }
    (void)pump();
    EXPECT_GT(asked, 10) << row.http;
    EXPECT_LT(asked, 25) << row.http;
    EXPECT_EQ(logs, row.logs) << row.http;
    EXPECT_EQ(settle(6min), "POST a; PATCH a; ");
    moves("a");
    EXPECT_EQ(settle(), "DELETE a; ");
  }
}

TEST_F(SliceStatusesTest, BeforeItIsKnownWhatIsPublishedNothingIsWritten) {
  node("a");
  publishes("a", 1);
  EXPECT_EQ(pump(false).size(), 0U);
  EXPECT_EQ(part.nextDue(), std::nullopt);
  EXPECT_EQ(settle(), "POST a; PATCH a; ") << "nothing was forgotten";
}

/// It may have gone while another one led, or nobody.
TEST_F(SliceStatusesTest, ANewLeaderLooksAtAll) {
  node("a");
  node("b");
  publishes("a", 1);
  (void)settle();
  writes("b", "agent", "t", "dra");
  moves("a");
  pluginComes("b");
  context.engine.forgetTouched();
  part.reset();
  EXPECT_EQ(settle(), "");
  part.begin();
  EXPECT_EQ(settle(), "DELETE a; PATCH b; ");
}

TEST_F(SliceStatusesTest, AnAnswerOfAnEarlierTermSaysNothing) {
  node("a");
  publishes("a", 1);
  const auto calls = pump();
  ASSERT_EQ(calls.size(), 1U);
  part.reset();
  answer(calls[0], CallResult::Refused, 403, "Forbidden");
  (void)pump();
  EXPECT_EQ(logs, 0);
  part.begin();
  EXPECT_EQ(settle(), "POST a; PATCH a; ");
}

}  // namespace
}  // namespace gs::scheduler
