// ShareChooser: which of the candidates is best for a pod that asks for shares of GPUs, how each of them
// stands, and which of them the quota of the pod's namespace forbids.
//
// It answers for the ledger as it is: what the pod holds of an earlier decision has to be set aside by who
// asks (Grants::setAside()). It gives nothing, writes nothing, and knows no callers.
// What it remembers, beside a table of the nodes and of how they stand:
//   - nodes on which a pod was tried in vain. They are left out while another one will do, and else while
//     their time lasts (controller/nodes_in_vain.h);
//   - groups of which a pod was given back unbound. A group that Volcano makes of an owner's pods is a gang
//     from then on.
// Ties: the tightest node that fits; of equal ones the first by name. The engine must outlive it. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/nodes_in_vain.h"
#include "engine/engine.h"
#include "extender/protocol/request.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {

class ShareChooser {
 public:
  ShareChooser(const engine::Engine& engine, bool strict)
      : engine_{engine}, strict_{strict}, board_{engine.ledger()} {}

  /// For reading names of nodes.
  [[nodiscard]] const NodeTablePtr& table();
  /// What it asks for, or why no node will ever do.
  [[nodiscard]] sched::DoorResult requestOf(const model::Pod& pod) const;

  struct Choice {
    std::optional<sched::PodRequest> request{};
    Answer answer{};  // how the candidates stand, or why none will ever do; its kind is open
    std::optional<std::size_t> best{};  // none fits
  };
  /// A node that is left out is chosen where no other one fits: its scheduler waits by itself.
  [[nodiscard]] Choice choose(const Candidates& candidates, const model::Pod& pod, Mono now);
  /// As choose(), but for nodes that are left out now.
  [[nodiscard]] std::optional<std::size_t> bestInTurn(const Candidates& candidates,
                                                      const sched::PodRequest& request, const model::Uid& uid,
                                                      Mono now);
  /// Would it fit? Whether or not it was tried there.
  [[nodiscard]] Answer look(const Candidates& candidates, const model::Pod& pod);
  /// How full are they?
  [[nodiscard]] Answer rank(const Candidates& candidates);
  /// The node, as the caller knows it if it knows more.
  [[nodiscard]] sched::NodeState stateOf(const Candidates& candidates, std::size_t position) const;
  /// Positions of nodes whose objects the caller has newer than what is known: it is to read them. Where
  /// there are very many, what is known counts of the others.
  [[nodiscard]] std::vector<std::size_t> lackingObjects(const Candidates& candidates) const;

  /// "": it is in none that is placed whole or not at all.
  [[nodiscard]] std::string gangOf(const model::Pod& pod) const;
  /// Volcano had no place for all of the group that this one is of.
  void givenBack(const model::Pod& pod);

  /// `refused`: the API server did not take its Binding.
  void triedInVain(const model::Uid& uid, const model::NodeName& node, bool refused, Mono now);
  [[nodiscard]] bool isLeftOut(const model::Uid& uid, const model::NodeName& node, Mono now) const;
  /// Pods whose tries in vain are known.
  [[nodiscard]] std::size_t inVain() const { return in_vain_.size(); }
  /// It is bound or gone.
  void forget(const model::Uid& uid) { in_vain_.forget(uid); }
  void reset();

 private:
  [[nodiscard]] Answer standingsFor(const Candidates& candidates, const sched::PodRequest& request);
  [[nodiscard]] std::optional<std::size_t> bestInTurn(const Answer& standings, const Candidates& candidates,
                                                      const model::Uid& uid, Mono now);

  const engine::Engine& engine_;
  const bool strict_;
  sched::ShareBoard board_;
  NodeTablePtr table_;
  controller::NodesInVain in_vain_;  // of pods that are known and unbound
  std::set<std::string> gangs_;      // groups of which a pod was given back unbound
};

}  // namespace gs::extender
