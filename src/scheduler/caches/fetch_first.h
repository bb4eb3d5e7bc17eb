// Asks that what a waiting pod needs is fetched first where it will run, perhaps: kernel caches, on nodes
// that could take the pod when others end. So when it gets its GPUs they are there.
//
// Agents fetch every cache of the cluster, in an order of their own; a request changes that order and nothing
// else (kcache/kinds/first.h). Asked for are the caches that the node does not have, on kNodes nodes: of
// those that do not take the pod now and may later (sched::isNever()) the ones with the most free GPUs, then
// with the most of its caches, then by name.
// Bounds: one look at all nodes per kGap, whoever waits, and namespaces take turns; a class of pods is asked
// for once, and once more when it is rejected again kAgain later; at most kMostFirst caches of one namespace
// are asked for on one node at a time, the latest. A request ages out by itself, and nobody waits for it: one
// that is refused is only said. Pods are told of those that the API server took.
// Pods that mount caches of the cluster only have their turns, and their places, together: their classes are
// nobody's in particular.
// A part of the scheduler's, that is there only while kernel caches are looked at; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/caches/node_caches.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class FetchFirst : public controller::Part {
 public:
  static constexpr Duration kGap = std::chrono::seconds{1};
  static constexpr Duration kAgain = std::chrono::minutes{5};
  static constexpr std::size_t kNodes = 2;
  static constexpr std::size_t kMostOfOne = 256;  // classes of a namespace that have not had their turn

  FetchFirst(Context& context, const NodeCaches& node_caches);

  /// No node takes pods of that class now.
  void waits(sched::EquivalenceClass pod_class);
  /// Classes for which saidOf() says something else since this was last asked.
  [[nodiscard]] std::vector<sched::EquivalenceClass> takeAsked() { return std::exchange(news_, {}); }
  /// "Asked for first on node-a and node-b."; "" nowhere.
  [[nodiscard]] std::string saidOf(sched::EquivalenceClass pod_class) const;

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;

 private:
  struct Asked {
    Mono at{};
    std::set<std::string> nodes;  // where it was taken
  };
  struct Name {
    Mono at{};
    std::string cache;
  };
  struct Open {
    sched::EquivalenceClass pod_class{};
    std::string node;
  };
  [[nodiscard]] std::optional<sched::EquivalenceClass> takeNext();
  [[nodiscard]] std::vector<const sched::NodeState*> nodesFor(const sched::PodRequest& request) const;
  void askFor(sched::EquivalenceClass pod_class);
  void askOn(const model::NodeName& node, sched::EquivalenceClass pod_class);
  void ask(const model::ObjectKey& object, const std::vector<std::string>& caches,
           sched::EquivalenceClass pod_class);
  void forgetOld();

  Context& c_;
  const NodeCaches& node_caches_;
  std::uint8_t owner_ = 0;
  std::uint64_t next_token_ = 1;
  std::unordered_map<kapi::Token, Open> open_;                        // calls that are under way
  std::map<std::string, std::set<sched::EquivalenceClass>> waiting_;  // by namespace, none empty
  std::string last_;                                                  // whose turn it was
  Mono next_look_{};
  std::unordered_map<sched::EquivalenceClass, Asked> asked_;
  std::map<model::ObjectKey, std::vector<Name>> on_;  // by node object, the latest first
  std::vector<sched::EquivalenceClass> news_;
  bool is_refusal_said_ = false;
};

}  // namespace gs::scheduler
