// Rejections in words: the same for conditions, events and the CLI, in kube-scheduler's form (R34). Pure
// over the ledger. The free functions look at all nodes; RejectionBoard, which the Decider keeps per class,
// only at those that changed since it was last asked.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sched/placement/fit.h"
#include "sched/request/pod_reason.h"

namespace gs::sched {

inline constexpr std::size_t kMostNamed = 3;

struct Rejection {
  /// Which kinds of reasons apply, without numbers: changes only when the kind of rejection changes.
  std::string kind;
  /// "0/5 nodes are available: 3 node(s) had too few free GPUs: need 4 and most free is 2, 2 node(s) had
  /// untolerated taint {k: v}." One aggregated text per reason, most nodes first then by text, no comma
  /// inside a reason; a node that lacks several resources counts for each, as kube-scheduler counts it; with
  /// no nodes "no nodes available to schedule pods".
  std::string text;
  /// Who holds the GPUs that are not free, ascending, where that is all known and at most kMostNamed pods.
  std::vector<model::Uid> holders{};
  PodReason pod_reason{};  // that the pod's condition says
  friend bool operator==(const Rejection&, const Rejection&) = default;
};

/// What a node says, without how many say so: "node(s) had no GPU". No comma inside.
[[nodiscard]] std::string wordsOf(const Misfit& misfit);
[[nodiscard]] Rejection explainRejection(const Ledger& ledger, const PodRequest& request);
[[nodiscard]] std::string rejectionText(const Ledger& ledger, const PodRequest& request);
[[nodiscard]] std::string rejectionKind(const Ledger& ledger, const PodRequest& request);

/// As explainRejection(), of a request for one node by its name (PodRequest::on_node), which is the only one
/// that is looked at.
[[nodiscard]] Rejection explainNamed(const Ledger& ledger, const PodRequest& request);

/// The words for these nodes' reasons, whoever asked; `nodes`: how many there are.
[[nodiscard]] Rejection explainMisfits(const std::vector<Misfit>& misfits, std::size_t nodes);

/// Remembers each node's reason to refuse one request. Always for the same ledger and request.
class RejectionBoard {
 public:
  /// As explainRejection(). Costs a look at the nodes that changed, and a pass over the numbers of all.
  Rejection explain(const Ledger& ledger, const PodRequest& request);
  /// explain() in parts of about so many looks; a node with a few devices, most of which refuse early, counts
  /// as half of one here. True: that were all, and said() is what it says.
  bool catchUp(const Ledger& ledger, const PodRequest& request, std::uint64_t most_looks);
  [[nodiscard]] Rejection said(const Ledger& ledger, const PodRequest& request) const;
  /// What is known of that node is not true any more.
  void forget(Ledger::NodeIndex i) {
    if (i < entries_.size()) { entries_[i].seen = 0; }
  }
  /// What it has cost so far, in looks that only ask whether a node is refused: why takes longer.
  [[nodiscard]] std::uint64_t looks() const {
    return looked_at_ * kLooksPerReason + meter_.steps / kStepsPerLook;
  }
  static constexpr std::uint64_t kLooksPerReason = 4;

 private:
  struct Entry {
    std::uint64_t seen = 0;  // NodeState::versionFor
    std::int64_t need = 0;
    std::int64_t have = 0;
    std::uint32_t group = 0;  // 0: does not refuse
  };
  /// The node's reason and its detail, then what it has too little of besides (alsoShort()).
  using GroupKey = std::vector<std::pair<Reason, std::string>>;

  void look(const NodeState& node, const PodRequest& request, Entry& entry);
  void followVolumes(const PodRequest& request);
  [[nodiscard]] std::vector<model::Uid> holders(const Ledger& ledger, const PodRequest& request) const;

  std::vector<Entry> entries_;  // by the ledger's index
  std::map<GroupKey, std::uint32_t> groups_;
  bool halfway_ = false;  // catchUp() is to go on
  std::uint64_t looked_at_ = 0;
  std::uint64_t volumes_moment_ = 0;  // VolumeSelection::moment() that the entries are from
  Meter meter_;
};

}  // namespace gs::sched
