// Refusals: the pods of which a kube-scheduler was told that no node takes them, and which of them to wake
// (R76). To wake a pod is to change its annotation gpu.scheduling/wake: kube-scheduler sees a changed pod
// and tries it again.
//
// Why: else kube-scheduler tries such a pod again when something changes that it watches, or after five
// minutes. It does not see that gpu-manager took a pod, that a reservation was taken back, or that a quota
// grew. And it may hear sooner than we that a pod is gone, ask too early, and be refused once more.
// Whom: a pod that a node refused for one of these (too little room, pods before it not taken yet, quota),
// when that node may take it now. The end of all other reasons kube-scheduler sees itself, and nodes that
// were no candidates it has refused itself.
//
// Cost: pods of one namespace that ask for the same are a kind; those of a kind that the same nodes refused
// are a group. A node that changed is looked at once for each kind, some at a time and not more often than
// kLookGap. The nodes that a kind found are compared with the nodes of its groups, as bits. So a change
// costs its nodes for each kind and a few words for each group, however many pods wait, and a turn does a
// bounded part of that.
// Order: of a kind that fits somewhere one pod after the other is woken, from the groups that such a node
// refused: the highest priority first, then the oldest. A pod is woken again after 5 s, then 10 s, up to a
// minute, whatever came of it; how many at a time is bounded (controller/wake_line.h, woken_pods.h). After
// a refusal a pod rests for kRest, for kube-scheduler is still putting it aside.
// Nothing is reserved for a pod that was woken: its next request is decided like any other.
// At most kMostRefused are kept, of one namespace half of what it leaves to others; the rest is not woken.
// One thread. The engine must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "controller/backoff.h"
#include "controller/fair_share.h"
#include "controller/wake_line.h"
#include "controller/woken_pods.h"
#include "engine/engine.h"
#include "extender/grants/node_set.h"
#include "extender/protocol/request.h"
#include "sched/ledger/node_changes.h"

namespace gs::extender {

class Refusals {
 public:
  static constexpr Duration kLookGap = std::chrono::milliseconds{100};
  static constexpr Duration kRest = std::chrono::seconds{1};
  static constexpr int kMostRefused = 1 << 14;  // each group with a bit for each node
  // What one turn may cost: looks at a node, words of sets that are compared, ends of rests.
  static constexpr std::uint64_t kLooksPerTurn = 2'048;
  static constexpr std::uint64_t kWordsPerTurn = 1 << 16;
  static constexpr int kRestsPerTurn = 512;

  explicit Refusals(const engine::Engine& engine) : engine_{engine}, changes_{engine.ledger()} {}

  /// Its scheduler asks about it: what it was told before is over.
  void asked(const model::Uid& uid);
  /// No candidate takes it, as `answer` says of each. `request`: what it asks for.
  void refused(const model::Pod& pod, const sched::PodRequest& request, const Candidates& candidates,
               const Answer& answer, Mono now);
  /// It is bound or gone.
  void forget(const model::Uid& uid);
  void reset();

  /// Who is to be woken now, if `may_be` says so of it; it counts as woken.
  using MayBe = std::function<bool(const model::Uid&)>;
  /// A namespace in which no write goes through: of it one at a time, to see whether one does.
  using IsStuck = std::function<bool(const std::string& ns)>;
  [[nodiscard]] std::optional<model::Uid> next(Mono now, const MayBe& may_be, const IsStuck& is_stuck = {});
  /// It could not be woken: others have its room.
  void notWoken(const model::Uid& uid, Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const;

  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  /// Nodes and pods that kinds looked at so far.
  [[nodiscard]] std::uint64_t looks() const { return work_.looks; }
  /// Words of sets of nodes that were compared so far.
  [[nodiscard]] std::uint64_t words() const { return work_.words; }

 private:
  using NodeIndex = sched::Ledger::NodeIndex;
  using KindId = std::uint64_t;
  using What =
      std::tuple<std::string, std::string, std::int64_t, std::vector<sched::ContainerShare>>;  // see whatOf()
  using Place = std::tuple<std::int64_t, Wall, model::Uid>;  // negative priority, creation

  struct Work {
    std::uint64_t looks = 0;
    std::uint64_t words = 0;
  };
  /// Pods of a kind that the same nodes refused, as they are woken: by place.
  struct Group {
    std::set<Place> ready;         // they may be woken
    std::size_t pods = 0;          // with those that rest
    bool fits = false;             // on some node that refused it, as far as is known
    std::optional<Place> first{};  // its place in Kind::fitting
  };
  using Groups = std::map<NodeSet, Group>;
  struct Refused {
    KindId kind = 0;
    Groups::iterator group;
    Place place;
    std::optional<Mono> rests_until{};  // its place in resting_
  };
  struct Kind {
    What what;
    std::string ns;
    std::int64_t milli = 0;
    sched::PodRequest request;                   // as its quota binds it now
    sched::RecentChanges::Moment looked_at = 0;  // nodes that changed up to then
    NodeSet refused_by;                          // all that refused pods of it; others are none of its
    NodeSet fits;                                // of those that changed since it was there
    Groups groups;
    std::map<Place, Groups::iterator>
        fitting;  // groups that fit and have somebody ready, by the first of them
    // Groups are compared with `fits` when it grew.
    bool grew = false;
    std::optional<NodeSet> compared_to{};  // the last group that was
  };
  using Kinds = std::map<KindId, Kind>;

  [[nodiscard]] static What whatOf(const model::Pod& pod, const sched::PodRequest& request);
  [[nodiscard]] static NodeSet mendable(const sched::Ledger& ledger, const Candidates& c, const Answer& a);
  Kinds::iterator kindOf(const model::Pod& pod, const sched::PodRequest& request);
  void leave(const model::Uid& uid, Refused& pod);
  void rest(const model::Uid& uid, Refused& pod, Mono until);
  void endRests(Mono now);
  void setReady(Refused& pod, bool ready);
  static void placeGroup(Kind& kind, Groups::iterator group);
  void lineUp(KindId id, const Kind& kind);
  [[nodiscard]] bool somethingChanged() const;
  [[nodiscard]] Work endOfTurn() const { return {work_.looks + kLooksPerTurn, work_.words + kWordsPerTurn}; }
  [[nodiscard]] bool isOver(const Work& turn) const {
    return work_.looks >= turn.looks || work_.words >= turn.words;
  }
  void lookSome(Mono now);
  bool look(Kind& kind, const Work& turn);
  bool compareGroups(Kind& kind, const Work& turn);
  void followQuota(Kind& kind) const;
  bool fits(const Kind& kind, NodeIndex i);
  [[nodiscard]] std::optional<NodeIndex> commonNode(const Kind& kind, const NodeSet& by);
  [[nodiscard]] bool fitsSomewhere(Kind& kind, const NodeSet& by, const Work& turn);
  std::optional<model::Uid> pick(Kind& kind, Mono now, const MayBe& may_be, const Work& turn);

  const engine::Engine& engine_;
  sched::NodeChanges changes_;
  std::unordered_map<model::Uid, Refused> pods_;
  Kinds kinds_;
  std::map<What, KindId> by_what_;
  KindId last_kind_ = 0;
  std::set<std::pair<Mono, model::Uid>> resting_;
  controller::FairShare kept_{kMostRefused};
  controller::WakeLine<KindId> line_;
  controller::WokenPods woken_;
  controller::Backoff<model::Uid> backoff_{controller::kWakeTerms};
  // A round of looks.
  std::optional<KindId> round_;  // it came to that kind
  Mono next_round_{};
  std::uint64_t seen_changes_ = 0;  // when it began
  std::uint64_t seen_use_ = 0;
  std::uint64_t seen_quotas_ = 0;
  Work work_;
};

}  // namespace gs::extender
