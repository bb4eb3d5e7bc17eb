// A replica of gpu-scheduler with --extender-address: scheduler and extender in one process.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sandbox/world/companion.h"
#include "serve/combined/combined.h"

namespace gs::test {

class CombinedReplica : public sandbox::Companion {
 public:
  CombinedReplica(scheduler::Scheduler& scheduler, const extender::Config& config, Rng rng)
      : machine_{scheduler, config, rng} {}
  kapi::Effects start(Now now) override { return machine_.start(now); }
  kapi::Effects handle(const kapi::MachineEvent& event, Now now) override {
    return machine_.handle(event, now);
  }
  void stopTaking() override { machine_.stopTaking(); }
  [[nodiscard]] bool underWay() const override { return machine_.underWay(); }
  kapi::Effects ask(extender::RequestId request_id, extender::Request request, Now now) override {
    return machine_.ask(request_id, std::move(request), now);
  }
  std::vector<std::pair<extender::RequestId, extender::Answer>> takeAnswers() override {
    return machine_.takeAnswers();
  }
  extender::NodeTablePtr table() override { return machine_.table(); }
  [[nodiscard]] const extender::Extender& extender() const override { return machine_.extender(); }

 private:
  serve::Combined machine_;
};

[[nodiscard]] inline sandbox::MakeCompanion combined() {
  return [](scheduler::Scheduler& scheduler, Rng rng) {
    return std::make_unique<CombinedReplica>(scheduler, extender::Config{}, rng);
  };
}

}  // namespace gs::test
