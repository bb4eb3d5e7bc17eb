// An extender, an engine that is fed by hand, and an API server of pods, for the tests of this folder.
// Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "extender/extender.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"

namespace gs::extender {

using AnswerKind = Answer::Kind;
using namespace std::chrono_literals;

class ExtenderTest : public ::testing::Test {
 protected:
  explicit ExtenderTest(Config config = {}) : extender{engine, config, Rng{1}} {}

  void lead() { extender.lead(now); }
  void addNode(const model::Node& node) {
    engine.apply(
        {kapi::kNode, {"", node.name.text}, {}, std::make_shared<const model::Node>(node), ++server.revision},
        now.mono);
  }
  void removeNode(const std::string& name) {
    engine.apply({kapi::kNode, {"", name}, {}, {}, ++server.revision}, now.mono);
  }
  /// The watch brings what the server has.
  void watchBrings(const std::string& name) {
    const auto it = server.pods.find(name);
    if (it != server.pods.end()) {
      engine.apply({kapi::kPod,
                    it->second.key,
                    {},
                    std::make_shared<const model::Pod>(it->second),
                    it->second.revision},
                   now.mono);
    }
    settle();
  }
  void watchRemoves(const model::Pod& pod) {
    engine.apply(
        {kapi::kPod, pod.key, pod.uid, {}, ++server.revision, std::make_shared<const model::Pod>(pod)},
        now.mono);
    settle();
  }
  model::Pod create(const std::string& name, std::vector<model::VcudaLimits> limits) {
    server.add(vcudaPod(name, std::move(limits)));
    watchBrings(name);
    return server.pods[name];
  }
  void bindTo(const std::string& name, const std::string& node, bool running = true) {
    model::Pod& pod = server.pods.at(name);
    pod.node = model::NodeName{node};
    if (running) { pod.phase = model::PodPhase::Running; }
    pod.revision = ++server.revision;
    watchBrings(name);
  }
  void settle() {
    extender.settle(now);
    for (auto& effect : extender.takeEffects()) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls.push_back(std::move(*call)); }
      if (const auto* metric = std::get_if<kapi::Metric>(&effect)) { counted[metric->name] += metric->value; }
    }
    for (auto& [request_id, answer] : extender.takeAnswers()) { answers[request_id] = std::move(answer); }
  }
  /// Each call is answered as the server does, until there is none.
  void run() {
    settle();
    while (!calls.empty()) {
      const kapi::Call call = calls.front();
      calls.pop_front();
      give(server.carryOut(call));
    }
  }
  void give(const kapi::Outcome& outcome) {
    extender.handle(outcome, now);
    settle();
  }
  kapi::Call sent() {
    settle();
    EXPECT_EQ(calls.size(), 1U);
    const kapi::Call call = calls.empty() ? kapi::Call{} : calls.front();
    calls.clear();
    return call;
  }
  void pass(Duration by) {
    now.mono += by;
    now.wall += std::chrono::duration_cast<Wall::duration>(by);
    settle();
  }

  Request request(Verb verb, const model::Pod& pod, const std::vector<std::string>& nodes) {
    Request q;
    q.verb = verb;
    q.pod = std::make_shared<const model::Pod>(pod);
    if (verb == Verb::Bind) { q.node = model::NodeName{nodes.at(0)}; }
    q.candidates.table = extender.table();
    for (const auto& name : nodes) { q.candidates.nodes.push_back(q.candidates.table->find(name)); }
    return q;
  }
  RequestId ask(Verb verb, const model::Pod& pod, const std::vector<std::string>& nodes) {
    desk.ask(extender, ++last, request(verb, pod, nodes), now);
    settle();
    return last;
  }
  Answer filter(const model::Pod& pod, const std::vector<std::string>& nodes) {
    const RequestId request_id = ask(Verb::Filter, pod, nodes);
    runUntilAnswered(request_id);
    return answers[request_id];
  }
  /// What failed is tried again after a while.
  void runUntilAnswered(RequestId request_id) {
    run();
    for (int i = 0; i < 40 && !answers.contains(request_id); ++i) {
      pass(100ms);
      run();
    }
  }
  /// The node that it got, or why none; "" no answer yet.
  std::string got(RequestId request_id, const std::vector<std::string>& nodes) const {
    const auto it = answers.find(request_id);
    if (it == answers.end()) { return ""; }
    return it->second.kind == AnswerKind::Chosen ? nodes.at(it->second.chosen) : "(" + it->second.text + ")";
  }
  [[nodiscard]] std::int64_t freeMilli(const std::string& node) const {
    return engine.ledger().find(model::NodeName{node})->free_milli;
  }
  /// Its scheduler writes that it is not scheduled.
  void isGivenUp(const std::string& name) {
    model::Pod& pod = server.pods.at(name);
    pod.scheduled = model::ScheduledCondition{"False", "Unschedulable", "0/1 nodes are available"};
    pod.revision = ++server.revision;
    watchBrings(name);
  }
  /// It asked for these limits on this node, and the reservation was taken back: its scheduler gave it up.
  void isReservedAndGivenUp(const std::string& name, const model::VcudaLimits& limits,
                            const model::Node& node) {
    addNode(node);
    lead();
    ASSERT_EQ(filter(create(name, {limits}), {node.name.text}).kind, AnswerKind::Chosen);
    isGivenUp(name);
    pass(11s);
    run();
    ASSERT_EQ(note(name, model::kVcudaNodeKey), "-");
  }
  std::string note(const std::string& pod, const char* key) {
    const auto& annotations = server.pods.at(pod).annotations;
    const auto it = annotations.find(key);
    return it == annotations.end() ? "-" : it->second;
  }

  engine::Engine engine;
  Extender extender;
  FrontDesk desk{extender.config().answer_within};
  PodServer server;
  Now now{Mono{std::chrono::hours{1}}, Wall{std::chrono::hours{1000}}};
  std::deque<kapi::Call> calls;
  std::map<RequestId, Answer> answers;
  RequestId last = 0;
  std::map<std::string, double> counted;  // metrics that are effects
};

inline constexpr const char* kIds0 = "tencent.com/predicate-gpu-idx-0";
inline constexpr const char* kIds1 = "tencent.com/predicate-gpu-idx-1";
inline constexpr const char* kNode = "tencent.com/predicate-node";

}  // namespace gs::extender
