// Preemption of our own scheduler: on which node there is room for a pod once others went, and who has to go.
// What kube-scheduler's preemption chooses, for GPUs too: a device is free when nobody holds it any more who
// stays (sched/placement/victims.h), sets are what the request asks for, anonymous devices count, and so does
// the quota. Pure; nothing is reserved or written.
//
// Of one node: all pods of lower priority are thought away, with all that they have there and say of others
// (what_if.h, request_if.h), and where the pod fits then they come back one
// after the other, first those whose going breaks a PodDisruptionBudget, and of either kind the most
// important first. Who finds no place beside the pod is a victim. Among nodes: candidate.h.
// Pods that are nominated there and not less important count as being there (nominations.h).
//
// Otherwise than kube-scheduler:
//   - Who leaves by itself is as good as gone: pods that are being deleted, of any priority, and GPUs of
//     pods that ended which are not free yet (R21). A node where that is enough costs nobody, and comes
//     first. The caller says for how long it is to be so (Question::awaits); after that those of lower
//     priority are victims as any others, and nobody deletes them again. Of whom it knows that they do not
//     end (World::stays) neither is so: their room is taken.
//   - A pod that is on its way there (its Binding is not seen yet) is no victim.
//   - Nodes are looked at in the order of the least that they could cost (bound.h), until none that is left
//     can be better, and kEnough at most that would do. kube-scheduler takes as many, from anywhere.
//
// Cost: a pass over some numbers of every node, and looks at a few nodes, one as a rule. A look at a node is
// a copy of it and some log(pods) placements. Where no bound helps (budgets that protect everybody, sets that
// topology refuses) it is a look at kEnough nodes that would do; and at all nodes that only a look can tell
// apart from these, where none would do. So it is done in parts. Between two searches only nodes that changed
// are read anew.
// What is found of a node was true when it was looked at: whoever acts on it looks again. One thread. The
// ledger and the others must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/ledger/ledger.h"
#include "sched/ledger/quota.h"
#include "sched/placement/fit.h"
#include "sched/placement/name_ranks.h"
#include "sched/placement/victims.h"
#include "sched/preemption/bound.h"
#include "sched/preemption/budgets.h"
#include "sched/preemption/candidate.h"
#include "sched/preemption/nominations.h"
#include "sched/preemption/request_if.h"
#include "sched/preemption/residents.h"

namespace gs::sched {

class PreemptionSearch {
 public:
  /// Candidates with victims after which no more are looked for; kube-scheduler's least number.
  static constexpr std::size_t kEnough = 100;
  /// Of a node on which more is held than that nobody has to go.
  static constexpr std::size_t kMostHolders = 8'192;

  /// Does it fit there? (fitsOn(); another one in tests.)
  using Fits = bool (*)(const NodeState&, const PodRequest&, const model::Uid& self, Meter*);
  struct Question {
    model::PodPtr pod;  // it may preempt, and is unbound
    PodRequest request;
    std::int64_t milli = 0;               // that it counts of its namespace's quota
    std::optional<QuotaRoom> quota = {};  // what is left of that; nullopt: it has none
    bool awaits = true;                   // who leaves by itself
  };
  struct World {
    const Ledger& ledger;
    const Residents& residents;
    Budgets& budgets;
    const Nominations& nominations;
    PodsThere others{};
    /// It is being deleted, or has ended, and keeps what it has; none: nobody.
    std::function<bool(const model::Uid&)> stays{};
  };
  explicit PreemptionSearch(World world, Fits fits = &fitsOn) : w_{std::move(world)}, fits_{fits} {}

  /// Whatever was under way is dropped.
  void begin(Question question);
  /// Goes on, for about that cost. False: it is not done.
  [[nodiscard]] bool work(std::uint64_t most_cost);
  /// When it is done. nullopt: nobody's going makes room for it anywhere.
  [[nodiscard]] const std::optional<Candidate>& best() const { return best_; }
  /// When it is done and found nobody: that, as kube-scheduler says it. Costs a look at each node's facts.
  [[nodiscard]] std::string whyNobody();
  /// What all of it has cost, in devices, pods and nodes that were looked at, or as much of a search.
  [[nodiscard]] std::uint64_t cost() const { return cost_; }

  /// One node, wholly, as it is now: who has to go there. nullopt: there is no room.
  [[nodiscard]] std::optional<Candidate> lookAt(const Question& question, Ledger::NodeIndex node);

 private:
  enum class Stage : std::uint8_t { Reading, Looking, Done };
  struct Next {
    PreemptionCost bound;
    std::uint32_t rank = 0;  // by name; the node that it is nominated to first
    Ledger::NodeIndex node = 0;
  };
  /// Who may have to go, in the order in which they come back.
  struct Lower {
    std::vector<model::PodPtr> pods;
    std::vector<bool> broken;  // by position
  };
  struct Look {
    std::shared_ptr<RequestIf> asked;
    RoomSearch search;
    std::vector<model::PodPtr> leaving;  // that the search means, as those of `lower`
    Lower lower;
    Ledger::NodeIndex node = 0;
    std::size_t cost = 0;  // of each time
  };

  void noteChanges();
  void note(Ledger::NodeIndex node);
  [[nodiscard]] bool readProfiles(std::uint64_t until);
  void listNext();
  [[nodiscard]] static bool isAfter(const Next& a, const Next& b);
  [[nodiscard]] std::uint32_t rankOf(Ledger::NodeIndex node) const;
  [[nodiscard]] bool isOver() const;
  [[nodiscard]] std::optional<Look> lookFor(const Question& question, Ledger::NodeIndex node);
  [[nodiscard]] Lower listed(std::vector<model::PodPtr> lower);
  /// nullopt: it is not known yet.
  [[nodiscard]] std::optional<Room> goOn(Look& look, const Question& question);
  [[nodiscard]] static std::optional<Candidate> found(const Look& look, const Room& room);
  void keep(Candidate candidate);

  World w_;
  Fits fits_;
  NameRanks names_;
  std::vector<NodeProfile> profiles_;  // by node
  std::vector<Ledger::NodeIndex> unread_;
  std::vector<bool> is_unread_;  // by node
  std::uint64_t ledger_position_ = 0;
  std::uint64_t residents_position_ = 0;

  Stage stage_ = Stage::Done;
  Question question_;
  std::uint64_t comings_ = 0;
  std::vector<Next> next_;  // a heap: the best in front
  std::optional<Look> look_;
  std::optional<Candidate> best_;
  PreemptionCost best_cost_;
  std::size_t found_ = 0;  // with victims
  std::uint64_t cost_ = 0;
};

}  // namespace gs::sched
