// The shipped agents of a play: what goes wrong with them, and the laws of what they write.
//
// At any time a status that leaves an agent names for each GPU the pods whose containers have it, neither
// more nor less than what was so within the last look, unless something hinders it; and no agent writes much
// more often than something changed. Once everything is quiet each status tells its machine as it is: GPUs,
// health, users, its owner, and a look that is not old.
// Another process numbers GPUs as the one before did, within a boot of the machine, unless one has come.
// Where containers are told numbers, no status offers a GPU by a number that may reach another one, in any
// way in which programs may count GPUs that are lost; and a container that starts with the number of its
// lease, 45 s after its node's GPUs changed, gets the GPU of that lease, however they count.
// (Where annotations of pods are edited or forged, or a pod may be decided twice after a restore, users are
// not judged: an agent believes what a pod's object says when it is first seen. Nor are they in large plays,
// which would take too long.)
// What fails is drawn from a generator of its own. Nothing of the agent's code is asked. Must not outlive the
// World. One thread.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sandbox/world/world.h"
#include "test/sim/past.h"
#include "test/sim/plan.h"

namespace gs::sim {

class AgentSide {
 public:
  AgentSide(sandbox::World& world, const Plan& plan);

  void carryOut(const Step& step);
  /// To be called whenever something changed.
  void look();
  void calmDown();
  /// "" or the first thing that must never be.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// "" or what is not as it should be now that nothing happens any more.
  [[nodiscard]] std::string settled() const;

 private:
  using Users = std::set<std::pair<std::string, std::string>>;  // UUID of a GPU, uid of who has it
  struct Node {
    Past<Users> users{};
    std::uint64_t process = 0;     // of its agent
    Mono plain_from{};             // from then on nothing keeps its agent from seeing and saying what is so
    Mono blind_until{};            // its container runtime says nothing
    Mono ignorant_until{};         // its driver hangs
    std::optional<Mono> shaken{};  // the last moment at which its agent did not know how its GPUs changed
    bool knew_not = false;         // when it was looked at last
    std::map<std::string, Mono> began{};  // uids of pods -> when they had containers first
    std::deque<Mono> changes{};
    std::deque<Mono> writes{};  // that were carried out
    Users counted{};            // of the last change
    std::uint64_t hardware = 0;
    std::vector<model::Device> gone{};  // GPUs that were pulled by Op::Lose
    std::uint64_t spoke = 0;            // the process whose status left last
    bool was_lost = false;              // by Op::Lose: others may be kept back for it
    bool was_plugged = false;           // by Op::Plug: and for those that went then, ever after
  };

  [[nodiscard]] sandbox::CallFault resultOf(sandbox::ReplicaId id, const kapi::Call& call);
  void answered(sandbox::ReplicaId id, const kapi::Call& call, const kapi::Outcome& outcome);
  [[nodiscard]] Duration lateness();
  void statusLeaves(const std::string& node, const json::Value& status);
  [[nodiscard]] Users usersOn(const sandbox::Machines::Machine& machine) const;
  [[nodiscard]] std::string wrongOf(const std::string& name, const sandbox::Machines::Machine& machine) const;
  [[nodiscard]] bool isUnclear(const sandbox::Machines::Machine& machine, const std::string& uid) const;
  /// What starts in its containers now gets another GPU than they have, by a number that they were told.
  [[nodiscard]] bool mayGetOthers(const std::string& name, const sandbox::Kubelet::Running& running) const;
  void lose(const Step& step);
  void noteUnclear(const std::string& name, Node& node);
  [[nodiscard]] Mono hinderedUntil(const Node& node) const;
  /// "" or which GPU is offered there by a number that may reach another one.
  [[nodiscard]] std::string misleads(const std::string& name, const json::Value& status) const;
  [[nodiscard]] std::string renumbers(const std::string& name, const json::Value& status) const;
  [[nodiscard]] bool mayKeepBack(const std::string& name) const;
  void judgeStart(const std::string& name, const Node& node, const sandbox::Kubelet::Running& running);
  void noteUnpublished(const std::string& name);
  void wrong(std::string what);

  sandbox::World& world_;
  const Plan& plan_;
  Rng rng_;
  std::map<std::string, Node> nodes_;
  std::set<std::string> unclear_;  // uids of pods that were told numbers of GPUs as those changed
  std::uint64_t seen_containers_ = 0;
  std::uint64_t seen_machines_ = 0;
  Mono faults_until_{};
  std::uint64_t fault_permille_ = 0;
  Mono slow_until_{};
  std::uint64_t slow_ms_ = 1;
  const bool judges_users_;
  std::string problem_;
};

}  // namespace gs::sim
