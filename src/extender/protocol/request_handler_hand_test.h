// A request handler with a machine and pods on an API server behind it, for its tests and for fuzzing.
// Included by tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "extender/extender.h"
#include "extender/protocol/pod_server_test.h"
#include "extender/protocol/request_handler.h"
#include "kapi/kinds.h"

namespace gs::extender {

/// A machine and an API server behind one request handler, without threads: a request is answered when
/// nothing is left to be done.
class RequestHandlerHand : public Backend {
 public:
  explicit RequestHandlerHand(Config config = {}) : extender{engine, config, Rng{1}} { extender.lead(now); }

  NodeTablePtr table() override { return table_ ? table_ : extender.table(); }
  Answer ask(Request request) override {
    ++requests;
    desk.ask(extender, ++last_, std::move(request), now);
    for (;;) {
      extender.settle(now);
      std::vector<kapi::Call> calls;
      for (auto& effect : extender.takeEffects()) {
        if (auto* call = std::get_if<kapi::Call>(&effect)) { calls.push_back(std::move(*call)); }
      }
      if (calls.empty()) { break; }
      for (const auto& call : calls) { extender.handle(server.carryOut(call), now); }
    }
    Answer mine;
    for (auto& [request_id, answer] : extender.takeAnswers()) {
      if (request_id == last_) { mine = std::move(answer); }
    }
    if (mine.table) { table_ = mine.table; }
    return mine;
  }

  void addNode(const model::Node& node) {
    engine.apply(
        {kapi::kNode, {"", node.name.text}, {}, std::make_shared<const model::Node>(node), ++server.revision},
        now.mono);
  }
  /// A pod of namespace ml, as the API server has it.
  void addPod(const std::string& name, const std::string& uid, std::vector<model::VcudaLimits> limits) {
    model::Pod pod = vcudaPod(name, std::move(limits));
    pod.key.ns = "ml";
    pod.uid = model::Uid{uid};
    server.add(pod);
    watchBrings(name);
  }
  void watchBrings(const std::string& name) {
    const model::Pod& pod = server.pods.at(name);
    engine.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), pod.revision}, now.mono);
    extender.settle(now);
  }
  net::Response post(const std::string& path, std::string body) {
    return handler.answer({"POST", path, {}, std::move(body)}, scanner, *this).response;
  }
  std::string reply(const std::string& path, std::string body) { return post(path, std::move(body)).body; }

  engine::Engine engine;
  Extender extender;
  FrontDesk desk{extender.config().answer_within};
  PodServer server;
  RequestHandler handler{{"v1-test", {}}};
  json::Scanner scanner;
  Now now{Mono{std::chrono::hours{1}}, Wall{std::chrono::hours{1000}}};
  int requests = 0;

 private:
  NodeTablePtr table_;
  RequestId last_ = 0;
};

}  // namespace gs::extender
