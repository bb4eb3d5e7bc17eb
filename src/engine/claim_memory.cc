#include "engine/claim_memory.h"

#include <algorithm>

#include "base/mutant.h"

namespace gs::engine {

void ClaimMemory::took(const model::Uid& pod, const model::ResourceClaim& claim,
                       const std::vector<model::DeviceName>& devices, Mono now) {
  if (devices.empty() || GS_MUTANT(ForgetsTakenClaims)) { return; }
  const model::Pod* known = cache_.pod(pod);
  Taken& taken = of_[pod][claim.key];
  if (!taken.was_bound) { taken = {}; }
  taken.devices.insert(devices.begin(), devices.end());
  taken.for_many = taken.for_many && claim.isForMany();
  taken.was_bound = taken.was_bound || (known != nullptr && known->bound());
  taken_.emplace_back(now, pod);
}

void ClaimMemory::gives(const model::Uid& pod, const model::ObjectKey& claim) {
  const auto it = of_.find(pod);
  if (it == of_.end()) { return; }
  const auto taken = it->second.find(claim);
  if (taken == it->second.end() || taken->second.was_bound) { return; }
  it->second.erase(taken);
  if (it->second.empty()) { of_.erase(it); }
}

void ClaimMemory::forgetOld(Mono now) {
  constexpr Duration kUnseen = std::chrono::minutes{5};
  for (; !taken_.empty() && now - taken_.front().first >= kUnseen; taken_.pop_front()) {
    if (cache_.pod(taken_.front().second) == nullptr) { of_.erase(taken_.front().second); }
  }
}

ClaimMemory::Devices ClaimMemory::of(const model::Uid& pod) const {
  Devices out;
  const auto it = of_.find(pod);
  if (it == of_.end()) { return out; }
  for (const auto& [claim, taken] : it->second) {
    for (const auto& device : taken.devices) {
      bool& for_many = out.try_emplace(device, true).first->second;
      for_many = for_many && taken.for_many;
    }
  }
  return out;
}

std::vector<model::Uid> ClaimMemory::pods() const {
  std::vector<model::Uid> out;
  for (const auto& [pod, taken] : of_) { out.push_back(pod); }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gs::engine
