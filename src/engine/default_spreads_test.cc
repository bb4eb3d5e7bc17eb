// The cluster's default spread, from the objects that say whose like a pod is to the decision.
#include "engine/default_spreads.h"

#include <gtest/gtest.h>

#include <memory>

#include "engine/engine.h"
#include "kapi/decode.h"
#include "kapi/json_text_test.h"
#include "kapi/kinds.h"
#include "testing/builders.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;

class DefaultSpreadsTest : public ::testing::Test {
 protected:
  DefaultSpreadsTest() {
    model::SpreadConstraint zone;
    zone.topology_key = "zone";
    model::DefaultSpread spread;
    spread.constraints = {zone};
    engine.defaultSpreads().configure(spread);
    engine.synced(now);
    for (const char* name : {"a", "b"}) {
      model::Node n = testing::makeNode(name);
      n.labels = {{"zone", name}};
      n.revision = ++revision;
      engine.apply({kapi::kNode, {"", name}, {}, std::make_shared<const model::Node>(n), n.revision}, now);
    }
  }
  void object(kapi::Kind kind, const std::string& text) {
    const model::Object decoded = kapi::decodeObject(kind, kapi::parsed(text));
    engine.apply({kind, decoded.key(), decoded.uid(), decoded, ++revision}, now);
  }
  void pod(model::Pod p) {
    p.revision = ++revision;
    engine.apply({kapi::kPod, p.key, p.uid, std::make_shared<const model::Pod>(p), p.revision}, now);
  }
  static model::Pod podOf(const std::string& name) {
    model::Pod p = testing::PodBuilder{name}.value();
    p.labels = {{"app", "x"}, {"pod-template-hash", "1"}};
    p.controller = "ReplicaSet/web";
    return p;
  }
  std::string decide(const model::Pod& p) {
    sched::Objects named;
    named.default_spread = engine.defaultSpreads().of(p);
    auto request = std::get<sched::PodRequest>(sched::readPod(p, named, engine.doors()));
    EXPECT_FALSE(engine.askNear(p, request));
    const auto placed = engine.decider().decide(engine.decider().classOf(request));
    return placed ? placed->node.text : "";
  }

  Engine engine;
  Mono now{1h};
  model::Revision revision = 0;
};

constexpr const char* kWebService = R"({"apiVersion":"v1","kind":"Service",
  "metadata":{"namespace":"default","name":"web","uid":"u1"},"spec":{"selector":{"app":"x"}}})";
constexpr const char* kWebSet = R"({"apiVersion":"apps/v1","kind":"ReplicaSet",
  "metadata":{"namespace":"default","name":"web","uid":"u2"},
  "spec":{"selector":{"matchLabels":{"pod-template-hash":"1"}}}})";

TEST_F(DefaultSpreadsTest, WhomNothingMeansIsSpreadOverNothing) {
  model::Pod there = podOf("there");
  there.node = model::NodeName{"a"};
  pod(there);
  EXPECT_EQ(engine.defaultSpreads().of(podOf("p")), nullptr);
  EXPECT_EQ(decide(podOf("p")), "a");
}

TEST_F(DefaultSpreadsTest, TheControllerSaysWhoseLikeItIs) {
  model::Pod there = podOf("there");
  there.node = model::NodeName{"a"};
  pod(there);
  pod(podOf("p"));
  (void)engine.takeTouched();
  object(kapi::kReplicaSet, kWebSet);
  EXPECT_TRUE(engine.takeTouched().contains(model::Uid{"uid-p"})) << "it asks for something else now";
  EXPECT_EQ(decide(podOf("p")), "b");
  model::Pod other = podOf("other");
  other.controller = "StatefulSet/web";
  EXPECT_EQ(decide(other), "a");
  model::Pod own = podOf("own");
  own.spread.change().emplace_back();
  own.spread.change().back().topology_key = "nowhere";
  EXPECT_EQ(engine.defaultSpreads().of(own), nullptr) << "it says its own";
}

TEST_F(DefaultSpreadsTest, ServicesAndTheControllerAreTakenTogether) {
  object(kapi::kService, kWebService);
  object(kapi::kReplicaSet, kWebSet);
  const auto spread = engine.defaultSpreads().of(podOf("p"));
  ASSERT_NE(spread, nullptr);
  using Op = model::LabelRequirement::Op;
  const model::LabelSelector both{{{"app", Op::In, {"x"}}, {"pod-template-hash", Op::In, {"1"}}}};
  EXPECT_EQ(spread->constraints.front().pods, both);
  model::Pod other = podOf("other");
  other.labels = {{"app", "y"}, {"pod-template-hash", "1"}};
  EXPECT_EQ(engine.defaultSpreads().of(other)->constraints.front().pods->requirements.size(), 1U)
      << "the Service does not mean it";
  engine.apply({kapi::kReplicaSet, {"default", "web"}, model::Uid{"u2"}, {}, ++revision}, now);
  EXPECT_EQ(engine.defaultSpreads().of(other), nullptr);
}

TEST(PodController, IsReadWhereDefaultSpreadAsksForIt) {
  const auto controllerOf = [](const std::string& owner) {
    return kapi::decodePod(
               kapi::parsed(R"({"metadata":{"name":"p","ownerReferences":[)" + owner + R"(]},"spec":{}})"))
        .controller;
  };
  EXPECT_EQ(controllerOf(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","controller":true})"),
            "ReplicaSet/web");
  EXPECT_EQ(
      controllerOf(R"({"apiVersion":"v1","kind":"ReplicationController","name":"r","controller":true})"),
      "ReplicationController/r");
  EXPECT_EQ(controllerOf(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web"})"), "");
  EXPECT_EQ(controllerOf(R"({"apiVersion":"batch/v1","kind":"Job","name":"j","controller":true})"), "");
  EXPECT_EQ(controllerOf(R"({"apiVersion":"other/v1","kind":"ReplicaSet","name":"web","controller":true})"),
            "");
}

}  // namespace
}  // namespace gs::engine
