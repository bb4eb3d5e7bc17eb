// How the rules of a class of waiting pods stand (NearRules): which nodes refuse them for the sake of other
// pods, now. One for all requests with equal rules. Asked for a node by its index in the ledger; it follows
// the ledger and is true as long as whoever changes one tells the other (sched/near/near.h).
//
// What changes its answers is told in two ways:
//   - A domain of few nodes: each of these is in Ledger::closings().
//   - A wide domain, a zone say, whose nodes change together and often: Ledger::wideChanges() grows, and
//     versionAt() of these nodes.
// So that nobody need look at all nodes of a zone, who looks for the best node asks in two parts. Fine: of
// the domains of few nodes, node by node. Wide: of whole cells, where a cell is the nodes that are in the
// same wide domains; openCells() says which of these take the pod. A node takes it when both do. How nodes
// are in cells, and what Fine says of very many nodes, changes with epoch().
// What the rules only wish for refuses no node: it is asked for all nodes that are left, when they are
// compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/pod.h"
#include "sched/request/reason.h"

namespace gs::sched {

enum class NearPart : std::uint8_t { All, Fine };

/// The cell of each node, by its index.
struct NearCells {
  using Cell = std::uint8_t;
  static constexpr std::size_t kMost = 64;
  std::vector<Cell> of;  // nodes beyond its end: cell 0
  std::size_t count = 1;
  [[nodiscard]] Cell at(std::uint32_t node) const { return node < of.size() ? of[node] : Cell{0}; }
};
/// Bits, by cell.
using NearCellSet = std::uint64_t;

/// What a node has of what the pod would like of other pods: numbers of kube-scheduler's plugins before these
/// are compared (sched/placement/wishes.h).
struct NearWish {
  std::int64_t liked = 0;   // InterPodAffinity
  std::int64_t beside = 0;  // PodTopologySpread: of its like, the fewer the better
  bool is_counted = true;   // for `beside`: it has the labels that are asked for
  friend bool operator==(const NearWish&, const NearWish&) = default;
};

class NearStandingIf;

class NearStanding {
 public:
  using Node = std::uint32_t;
  NearStanding() = default;
  NearStanding(const NearStanding&) = delete;
  NearStanding& operator=(const NearStanding&) = delete;
  virtual ~NearStanding() = default;

  // nullopt: it takes the pod.
  /// SpreadNoLabel or SpreadUnmet.
  [[nodiscard]] virtual std::optional<Reason> spreadAt(Node node, NearPart part) const = 0;
  /// PodAffinity or PodAntiAffinity.
  [[nodiscard]] virtual std::optional<Reason> nearAt(Node node, NearPart part) const = 0;

  /// Its affinity asks for a pod, and none is in any domain: no node takes it before one comes.
  [[nodiscard]] virtual bool lacksCompany() const { return false; }

  /// What the same rules say if other pods were on that node. Good until anything changes. nullptr: it is not
  /// known.
  [[nodiscard]] virtual std::shared_ptr<NearStandingIf> ifOthersWere(Node /*node*/) const { return nullptr; }

  /// Of the last change there by way of wide domains; one of NodeState::version's.
  [[nodiscard]] virtual std::uint64_t versionAt(Node node) const = 0;
  [[nodiscard]] virtual std::uint64_t epoch() const = 0;
  /// Costs a look at all nodes in a new epoch.
  [[nodiscard]] virtual const NearCells& cells() const = 0;
  [[nodiscard]] virtual NearCellSet openCells() const = 0;

  // Wishes, which refuse no node.
  [[nodiscard]] virtual bool hasWishes() const = 0;
  /// Grows with each change of what wishes() says; nobody is told.
  [[nodiscard]] virtual std::uint64_t wishesVersion() const = 0;
  /// For these nodes, which the pod may choose from; one for each. O(nodes, and domains with pods).
  [[nodiscard]] virtual std::vector<NearWish> wishes(const std::vector<Node>& nodes) const = 0;
};

/// Of one node, with some pods more or fewer than there are. Of all others it says what is.
class NearStandingIf : public NearStanding {
 public:
  /// So many such pods more are there; below 0: fewer. It is compared with the rules each time.
  virtual void count(const model::Pod& pod, int more) = 0;
};

}  // namespace gs::sched
