// Which claims and disks pods use on which node: those that are bound there and have not finished, and those
// that were decided to come. A function of what was said last of each pod, in whatever order. Cost: O(log)
// for each claim of the pod. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/ids.h"
#include "model/pod.h"
#include "model/pod_volumes.h"

namespace gs::sched {

class VolumeUses {
 public:
  /// A claim as a pod of the namespace `ns` names it; `owner`: of a claim that is to be made for that pod.
  struct Used {
    model::ObjectKey claim;
    model::Uid owner{};  // "": anybody may have it
    friend auto operator<=>(const Used&, const Used&) = default;
  };
  struct OnNode {
    std::map<Used, int> claims;
    std::map<model::Uid, std::vector<model::InlineDisk>> disks;  // by pod
  };
  using Claims = std::set<model::ObjectKey>;

  /// From now on it uses its volumes on that node, and none elsewhere. Gives the claims that somebody uses
  /// now and nobody did, or the other way round.
  Claims put(const model::Pod& pod, const model::NodeName& node);
  Claims remove(const model::Uid& pod);

  /// nullptr: nothing is used there.
  [[nodiscard]] const OnNode* on(const model::NodeName& node) const;
  [[nodiscard]] bool isUsed(const model::ObjectKey& claim) const { return nodes_.contains(claim); }
  using Uids = std::set<model::Uid>;
  /// By somebody else than these pods.
  [[nodiscard]] bool isUsedBeside(const model::ObjectKey& claim, const Uids& pods) const;
  /// The claims that these pods use on that node.
  [[nodiscard]] OnNode of(const Uids& pods, const model::NodeName& node) const;
  /// Where it is used, and how often.
  using Nodes = std::map<model::NodeName, int>;
  [[nodiscard]] const Nodes& nodesOf(const model::ObjectKey& claim) const;

 private:
  struct Pod {
    model::NodeName node;
    std::vector<Used> claims;
  };
  void count(const model::Uid& uid, const Pod& pod, int by, Claims& changed);

  std::unordered_map<model::Uid, Pod> pods_;
  std::unordered_map<model::NodeName, OnNode> on_;
  std::unordered_map<model::ObjectKey, Nodes> nodes_;
};

}  // namespace gs::sched
