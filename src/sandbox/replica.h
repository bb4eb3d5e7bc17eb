// One process of a World: a scheduler or an extender alone, with its election and what a process keeps. Only world.cc includes
// this.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sandbox/world.h"

namespace gs::sandbox {

inline constexpr std::uint8_t kElectionOwner = 100;
inline constexpr const char* kExtenderLease = "extender.gpu.scheduling";

struct World::Replica {
  ReplicaId id = 0;
  std::uint64_t life = 0;  // counts starts; 0 before the first
  bool alive = false;
  bool frozen = false;
  std::vector<std::function<void(Replica&)>> while_frozen;
  std::variant<scheduler::Config, extender::Config> config;
  // One of the two, as the config says.
  std::unique_ptr<scheduler::Scheduler> machine;
  std::unique_ptr<extender::Alone> extender;
  std::unique_ptr<kapi::Election> election;
  kapi::Leadership gate;
  std::map<std::string, std::deque<kapi::Call>> lanes;  // busy lanes with what waits behind
  std::set<kapi::Token> streams;
  std::set<Mono> wakes;
  Duration lag{};  // its clock is so much behind
  std::optional<Mono> stalled_from;
  Mono stalled_until{};

  void make(Rng& schedulers, Rng& extenders) {
    if (const auto* alone = std::get_if<extender::Config>(&config)) {
      extender = std::make_unique<extender::Alone>(*alone, Rng{extenders.next()});
    } else {
      machine =
          std::make_unique<scheduler::Scheduler>(std::get<scheduler::Config>(config), Rng{schedulers.next()});
    }
  }
  [[nodiscard]] kapi::Election::Config electionConfig() const {
    kapi::Election::Config election;
    if (const auto* alone = std::get_if<extender::Config>(&config)) {
      election.lease = {scheduler::Config{}.lease_namespace, kExtenderLease};
      election.identity = fmt::format("{}_{}", alone->instance, life);
    } else {
      const auto& c = std::get<scheduler::Config>(config);
      election.lease = {c.lease_namespace, scheduler::kLeaderLease};
      election.scheduler = c.scheduler_name;
      election.identity = fmt::format("{}_{}", c.instance, life);
    }
    election.owner = kElectionOwner;
    return election;
  }
  [[nodiscard]] kapi::Effects start(Now now) { return machine ? machine->start(now) : extender->start(now); }
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now) {
    return machine ? machine->handle(event, now) : extender->handle(event, now);
  }
  void stopTaking() { machine ? machine->stopTaking() : extender->stopTaking(); }
  [[nodiscard]] bool underWay() const { return machine ? machine->underWay() : extender->underWay(); }

  /// What its clock shows. It never goes back.
  [[nodiscard]] Now clock(Now world) {
    Duration behind = lag;
    if (stalled_from && world.mono >= stalled_until) {
      lag += stalled_until - *std::exchange(stalled_from, std::nullopt);
      behind = lag;
    } else if (stalled_from) {
      behind += world.mono - *stalled_from;
    }
    return {world.mono - behind, world.wall - std::chrono::duration_cast<Wall::duration>(behind)};
  }
};

}  // namespace gs::sandbox
