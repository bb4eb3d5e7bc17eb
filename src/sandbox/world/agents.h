// The shipped agents of a World: one process (process.h, agent/agent.h) on each machine, run as serve/agent
// runs it.
//
// What a process sees is the machine's: each look at its GPUs and at its containers
// (sandbox/node/machines.h), one look every kLookEvery as from the flag's default, at a moment that is drawn
// for each process. What it wants of the API goes over a wire like anybody's, so its calls take time, fail
// and come late, and it can die at any of them; its kubelet starts another one kStartAgain later, as it does
// with one that says that it has failed. A new process knows nothing but what it reads.
// On the wire an agent is known by a number below zero, the same for the same node name.
// `queue`, `transport` and `machines` must outlive it. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/random.h"
#include "enforce/report.h"
#include "sandbox/node/machines.h"
#include "sandbox/world/event_queue.h"
#include "sandbox/world/process.h"
#include "sandbox/world/transport.h"

namespace gs::sandbox {

class Agents final : public Transport::Clients {
 public:
  static constexpr Duration kLookEvery = std::chrono::seconds{5};
  static constexpr Duration kStartAgain = std::chrono::seconds{1};

  /// `told_uuids`: containers are told their GPUs so. `enforces_devices`: somebody answers the container
  /// runtime from their records, and says with enforced() what comes of it.
  Agents(EventQueue& queue, Transport& transport, const Machines& machines, Rng rng, bool told_uuids = false,
         bool enforces_devices = false);
  ~Agents();
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  /// Starts and ends processes as the machines say.
  void follow();
  /// Its process dies, and is started again.
  void crash(const std::string& node);
  /// It looks now, whenever its next look is due, so that nobody who changed its machine waits for that.
  void lookNow(const std::string& node);

  /// To the one that runs there now, if any.
  void enforced(const std::string& node, const enforce::Report& report);

  /// Nullptr: none runs there now.
  [[nodiscard]] const agent::Agent* of(const std::string& node) const;
  /// How many have been started there.
  [[nodiscard]] std::uint64_t starts(const std::string& node) const;
  /// Whose calls those are; "" nobody's.
  [[nodiscard]] const std::string& nodeOf(ReplicaId id) const;

  // What the transport says.
  [[nodiscard]] bool isAlive(Transport::Address who) const override;
  void answered(Transport::Address who, kapi::Outcome outcome) override;
  void streamed(Transport::Address who, ApiPort::StreamEvent event) override;
  void die(Transport::Address who) override;

 private:
  using Address = Transport::Address;
  /// The process of one node.
  struct OfNode {
    std::string node;
    Process process;
    std::uint64_t wanted = 0;  // Machine::agent, of which it is one
    std::uint64_t seen = 0;    // Machine::hardware of its last look
    agent::LookPtr look{};     // which was that
    std::unique_ptr<agent::Agent> machine{};
  };

  [[nodiscard]] OfNode& processOf(const std::string& node);
  [[nodiscard]] OfNode& at(ReplicaId id) { return *processes_.at(static_cast<std::size_t>(-id - 1)); }
  [[nodiscard]] const OfNode& at(ReplicaId id) const {
    return *processes_.at(static_cast<std::size_t>(-id - 1));
  }
  [[nodiscard]] Process::Program programOf(ReplicaId id);
  void start(OfNode& p);
  void end(OfNode& p);
  void startSoon(OfNode& p);
  void look(OfNode& p);
  void lookIn(OfNode& p, Duration wait);

  EventQueue& queue_;
  Transport& transport_;
  const Machines& machines_;
  Rng rng_;
  bool told_uuids_;
  bool enforces_devices_;
  std::vector<std::unique_ptr<OfNode>> processes_;
  std::map<std::string, std::size_t> of_node_;
  std::uint64_t followed_ = 0;  // changes() of the machines
};

}  // namespace gs::sandbox
