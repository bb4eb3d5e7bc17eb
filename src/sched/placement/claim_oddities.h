// What is odd about a GpuClaim because of the pods that use it: a count that running pods do not follow, a
// deletion while pods have GPUs by the claim. What its spec alone says is in model/claim_oddities.h. The
// scheduler makes events of both, and the sandbox's API server warnings, as an admission webhook would. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/claim_oddities.h"
#include "model/ids.h"
#include "model/pod.h"

namespace gs::sched {

using model::ClaimOddity;

/// The pods that have GPUs by a claim. There may be very many: all are counted, and the first three named.
class ClaimUsers {
 public:
  static constexpr std::size_t kNamed = 3;

  /// `count`: of the claim's spec.
  ClaimUsers(model::ObjectKey claim, std::int64_t count) : claim_{std::move(claim)}, count_{count} {}
  /// Passed over, unless it names the claim, is bound, has its GPUs and is not about to end.
  void add(const model::Pod& pod);

 private:
  friend std::optional<ClaimOddity> oddityOfCount(const ClaimUsers& users);
  friend std::optional<ClaimOddity> oddityOfDeletion(const ClaimUsers& users);
  struct Some {
    std::size_t total = 0;
    std::map<std::string, std::size_t> first;  // by name: how many GPUs it has
    void add(const std::string& pod, std::size_t gpus);
    [[nodiscard]] std::string names(bool with_gpus) const;
  };

  model::ObjectKey claim_;
  std::int64_t count_;
  Some all_;
  Some others_;  // that have another number of GPUs than `count_`
};

/// The count was changed, and pods run with another one.
[[nodiscard]] std::optional<ClaimOddity> oddityOfCount(const ClaimUsers& users);
/// Of a claim that is deleted.
[[nodiscard]] std::optional<ClaimOddity> oddityOfDeletion(const ClaimUsers& users);

}  // namespace gs::sched
