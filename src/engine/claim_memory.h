// What pods had by ResourceClaims that give it to them no more.
//
// Problem: a claim may be emptied, or deleted, while containers have its devices: whoever may edit claims
// takes its finalizer off, and of a pod that was deleted by force the claim's end may be seen before the
// pod's. No object says then what the containers have, and they have it until they end.
// So it is kept for each pod that has not ended, and counts while the pod is bound (PodDevices). The last
// allocation of a claim that was emptied while its pod was unbound may have come to nothing: it is forgotten
// once the claim gives the pod something again.
// Kept until ended(), or, of pods that nobody ever saw, for some minutes. Whether a pod ended is for others
// to know. One thread.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/cache.h"
#include "model/dra.h"
#include "model/object.h"

namespace gs::engine {

class ClaimMemory {
 public:
  /// By name; whether all that gave the device were for many (model/dra.h).
  using Devices = std::map<model::DeviceName, bool>;

  /// The cache must outlive it.
  explicit ClaimMemory(const Cache& cache) : cache_{cache} {}

  /// `claim` gave the pod these devices, and does no more.
  void took(const model::Uid& pod, const model::ResourceClaim& claim,
            const std::vector<model::DeviceName>& devices, Mono now);
  /// The claim gives it something again.
  void gives(const model::Uid& pod, const model::ObjectKey& claim);
  void ended(const model::Uid& pod) { of_.erase(pod); }
  /// From time to time.
  void forgetOld(Mono now);

  [[nodiscard]] Devices of(const model::Uid& pod) const;
  /// Of which anything is kept; ascending.
  [[nodiscard]] std::vector<model::Uid> pods() const;

 private:
  struct Taken {
    std::set<model::DeviceName> devices;
    bool for_many = true;
    bool was_bound = false;  // by then, so that its containers may have them
  };
  using ByClaim = std::map<model::ObjectKey, Taken>;

  const Cache& cache_;
  std::unordered_map<model::Uid, ByClaim> of_;
  std::deque<std::pair<Mono, model::Uid>> taken_;  // when; to forget those that nobody sees
};

}  // namespace gs::engine
