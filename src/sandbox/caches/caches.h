// The processes of kernel caches of a World: replicas of the shipped operator (operator/operator.h) with
// their election, and one shipped agent (operator/node/node_agent.h, pod_watch.h) on each machine, run as
// their programs run them.
//
// They join a World that has the kinds of caches, and have a wire to its API server of their own: their calls
// take time, fail and come late by its judges, and they may die at any of them. Who dies is started again
// kStartAgain later, knows nothing but what it reads, and an agent finds the store of its machine
// (cache_rim.h) as it was left. A machine that goes takes its store along; one of the same name that comes
// later has another one.
// On the wire operators have the numbers from 0 on, agents those from kFirstAgent on, the same for the same
// node name. The World must outlive it; it runs nothing once this is gone. One thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "operator/node/node_agent.h"
#include "operator/node/pod_watch.h"
#include "operator/operator.h"
#include "sandbox/caches/cache_rim.h"
#include "sandbox/world/process.h"
#include "sandbox/world/world.h"

namespace gs::sandbox {

class Caches final : public Transport::Clients {
 public:
  static constexpr Duration kLookEvery = std::chrono::seconds{2};  // as Keeper::Options::look
  static constexpr Duration kStartAgain = std::chrono::seconds{1};
  static constexpr ReplicaId kFirstAgent = 100;

  struct Options {
    std::uint64_t seed = 1;
    int operators = 2;
    MakeCacheRim rims;
    bool records = true;       // of wire().writes()
    bool watches_pods = true;  // false: agents of before pods' mount paths were told
  };
  Caches(World& world, Options options);
  ~Caches();
  Caches(const Caches&) = delete;
  Caches& operator=(const Caches&) = delete;

  [[nodiscard]] Transport& wire() { return wire_; }
  /// That process dies.
  void crashOperator(int which);
  void crashAgent(const std::string& node);
  /// All its watches end with that answer.
  void endStreams(ReplicaId id, int http) { wire_.endStreams(id, http); }
  /// It looks at its store now, whenever its next look is due.
  void lookNow(const std::string& node);

  /// Who watches and writes for that node; nullopt: there has been none of that name.
  [[nodiscard]] std::optional<ReplicaId> agentOf(const std::string& node) const;
  /// nullptr: there is no such machine.
  [[nodiscard]] CacheRim* rimOf(const std::string& node);
  /// The agents that run hear of the pods of their nodes: they wait for no watch to be opened again.
  [[nodiscard]] bool hearOfPods() const;
  /// The operator that leads; nullopt: none does.
  [[nodiscard]] std::optional<int> leader() const;

  // What the transport says.
  [[nodiscard]] bool isAlive(Transport::Address who) const override;
  void answered(Transport::Address who, kapi::Outcome outcome) override;
  void streamed(Transport::Address who, ApiPort::StreamEvent event) override;
  void die(Transport::Address who) override;

 private:
  using Address = Transport::Address;
  /// A process, and what runs in it.
  struct Member {
    Member(Caches& in, ReplicaId id, std::size_t connections)
        : process{in.world_.queue(), in.wire_, id, connections, in.programOf(id)} {}
    Process process;
    bool is_wanted = true;  // its machine is there
    // Of an operator.
    std::optional<gkm::Operator> leads{};
    // Of an agent.
    std::string node{};
    std::unique_ptr<CacheRim> rim{};
    std::optional<gkm::NodeAgent> agent{};
    std::optional<controller::Parts> beside{};  // the agent, as serve/node/ has it
    std::optional<gkm::PodWatch> pods{};
    [[nodiscard]] bool isAgent() const { return !node.empty(); }
    [[nodiscard]] bool isAlive(Address who) const { return process.isAlive(who); }
  };

  [[nodiscard]] const Member& at(ReplicaId id) const;
  [[nodiscard]] Member& at(ReplicaId id) { return const_cast<Member&>(std::as_const(*this).at(id)); }
  [[nodiscard]] Now now() const { return world_.now(); }
  [[nodiscard]] Process::Program programOf(ReplicaId id);
  void follow();
  void start(Member& p);
  void startOperator(Member& p);
  void startAgent(Member& p);
  void end(Member& p);
  void startSoon(const Member& p);
  void crash(Member& p);

  [[nodiscard]] kapi::Effects handle(Member& p, const kapi::MachineEvent& event);
  [[nodiscard]] kapi::Effects agentsPart(Member& p, const kapi::MachineEvent& event);
  void handled(Member& p);
  void turn(Member& p);
  void lookIn(Member& p);

  World& world_;
  const Options options_;
  Rng rng_;
  ApiPort port_;
  Transport wire_;
  std::deque<Member> operators_;
  std::deque<Member> agents_;
  std::map<std::string, std::size_t> of_node_;
  std::uint64_t followed_ = 0;  // changes() of the machines
};

}  // namespace gs::sandbox
