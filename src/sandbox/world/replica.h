// What runs in a process of a World (process.h): a scheduler, maybe with an extender beside it, or an
// extender alone. Only replicas.cc includes this.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "controller/election.h"
#include "extender/standalone.h"
#include "kapi/call.h"
#include "sandbox/world/companion.h"
#include "sandbox/world/process.h"
#include "scheduler/scheduler.h"

namespace gs::sandbox {

inline constexpr const char* kExtenderLease = "extender.gpu.scheduling";

struct Replica {
  Replica(EventQueue& queue, Transport& transport, ReplicaId id, Process::Program program)
      : process{queue, transport, id, kConnections, std::move(program)} {}

  static constexpr std::size_t kConnections = 32;  // as --connections by default
  Process process;
  std::variant<scheduler::Config, extender::Config> config;
  MakeCompanion make_companion;  // of schedulers
  // One of the first two, as the config says.
  std::unique_ptr<scheduler::Scheduler> machine;
  std::unique_ptr<extender::Standalone> extender;
  std::unique_ptr<Companion> companion;  // `machine`; goes before it

  void make(Rng& schedulers, Rng& extenders) {
    if (const auto* alone = std::get_if<extender::Config>(&config)) {
      extender = std::make_unique<extender::Standalone>(*alone, Rng{extenders.next()});
    } else {
      companion.reset();
      machine =
          std::make_unique<scheduler::Scheduler>(std::get<scheduler::Config>(config), Rng{schedulers.next()});
      if (make_companion) { companion = make_companion(*machine, Rng{extenders.next()}); }
    }
  }
  [[nodiscard]] controller::Election::Config electionConfig() const {
    controller::Election::Config election;
    if (const auto* alone = std::get_if<extender::Config>(&config)) {
      election.lease = {scheduler::Config{}.lease_namespace, kExtenderLease};
      election.identity = fmt::format("{}_{}", alone->instance, process.address().life);
    } else {
      const auto& c = std::get<scheduler::Config>(config);
      election.lease = {c.lease_namespace, scheduler::kLeaderLease};
      election.scheduler = c.scheduler_name;
      election.identity = fmt::format("{}_{}", c.instance, process.address().life);
    }
    return election;
  }
  /// Of what runs in it, `what`(machine): all of them have the same members.
  template <class What>
  [[nodiscard]] auto with(What what) const {
    return companion ? what(*companion) : machine ? what(*machine) : what(*extender);
  }
  [[nodiscard]] kapi::Effects start(Now now) {
    return with([&](auto& m) { return m.start(now); });
  }
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now) {
    return with([&](auto& m) { return m.handle(event, now); });
  }
  void stopTaking() {
    with([](auto& m) { m.stopTaking(); });
  }
  [[nodiscard]] bool underWay() const {
    return with([](const auto& m) { return m.underWay(); });
  }
  [[nodiscard]] bool isAsked() const { return companion || extender; }
  [[nodiscard]] kapi::Effects ask(extender::RequestId request_id, extender::Request request,
                                  const std::vector<std::string>& nodes, Now now) {
    request.candidates.table = companion ? companion->table() : extender->table();
    for (const auto& node : nodes) {
      request.candidates.nodes.push_back(request.candidates.table->find(node));
    }
    return companion ? companion->ask(request_id, std::move(request), now)
                     : extender->ask(request_id, std::move(request), now);
  }
  [[nodiscard]] std::vector<std::pair<extender::RequestId, extender::Answer>> takeAnswers() {
    return companion ? companion->takeAnswers() : extender->takeAnswers();
  }
  [[nodiscard]] bool leadsExtender() const {
    return isAsked() && (companion ? companion->extender() : extender->extender()).leading();
  }
};

}  // namespace gs::sandbox
