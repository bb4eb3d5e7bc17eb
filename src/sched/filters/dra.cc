// GPUs that a DRA driver prepares (docs/inside/decisions/0011-gpus-by-dra.md).
#include <charconv>
#include <string_view>

#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

/// The kubelet gives containers what DRA prepared for their limits (KEP-5004: on from 1.36, and an older one
/// starts them without any GPU).
bool mapsLimitsToClaims(std::string_view kubelet) {
  constexpr int kMajor = 1;
  constexpr int kMinor = 36;
  if (!kubelet.empty() && kubelet.front() == 'v') { kubelet.remove_prefix(1); }
  int numbers[2] = {0, 0};
  for (int& number : numbers) {
    const auto [end, error] = std::from_chars(kubelet.data(), kubelet.data() + kubelet.size(), number);
    if (error != std::errc{}) { return false; }
    kubelet.remove_prefix(static_cast<std::size_t>(end - kubelet.data()));
    if (!kubelet.empty() && kubelet.front() == '.') { kubelet.remove_prefix(1); }
  }
  return numbers[0] > kMajor || (numbers[0] == kMajor && numbers[1] >= kMinor);
}

}  // namespace

/// Of a node whose GPUs a DRA driver prepares for limits of containers: why this pod gets none of them. And
/// of any other, why a pod that was once meant for such a node cannot run there: its kubelet would wait for
/// what the pod's claim is allocated.
std::optional<Misfit> refuseDra(const NodeState& n, const PodRequest& r) {
  if (r.door == nullptr) { return std::nullopt; }
  const bool selects = r.devices && r.devices->selection != nullptr;
  if (n.dra_resource.empty()) {
    if (selects) { return Misfit{Reason::NoDraDevices, "", 0, 0}; }
    return r.mapped ? std::optional{Misfit{Reason::NoDraDriver, "", 0, 0}} : std::nullopt;
  }
  // The kubelet would hand the plugin's devices to some pods and the driver's to others, which are the same.
  if (n.node.allocatable.get(n.dra_resource) > 0) {
    return Misfit{Reason::TwoMechanisms, n.dra_resource, 0, 0};
  }
  if (selects) { return std::nullopt; }
  if (!mapsLimitsToClaims(n.node.kubelet)) { return Misfit{Reason::KubeletTooOld, n.node.kubelet, 0, 0}; }
  if (r.theirs) { return Misfit{Reason::DraIsTheirs, "", 0, 0}; }
  if (!r.devices) { return std::nullopt; }
  if (r.devices->shared) { return Misfit{Reason::DraNotShared, "", 0, 0}; }
  if (r.resources.get(n.dra_resource) != r.devices->count) {
    return Misfit{Reason::DraNeedsLimit, n.dra_resource, r.devices->count, 0};
  }
  return std::nullopt;
}

}  // namespace gs::sched
