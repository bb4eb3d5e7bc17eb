// GPUs that a DRA driver prepares (docs/inside/decisions/0011-gpus-by-dra.md).
#include <charconv>
#include <string_view>

#include "model/resources.h"
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

/// The first kubelets, 1.x, that give containers what DRA prepared unless somebody turns that off: for the
/// limits of containers (KEP-5004), and for claims that the pod names (KEP-4381). One of 1.33 starts such
/// containers without any GPU, one of 1.35 those with limits.
constexpr int kMapsLimits = 36;
constexpr int kPreparesClaims = 34;

bool isAtLeast(std::string_view kubelet, int minor) {
  constexpr int kMajor = 1;
  if (!kubelet.empty() && kubelet.front() == 'v') { kubelet.remove_prefix(1); }
  int numbers[2] = {0, 0};
  for (int& number : numbers) {
    const auto [end, error] = std::from_chars(kubelet.data(), kubelet.data() + kubelet.size(), number);
    if (error != std::errc{}) { return false; }
    kubelet.remove_prefix(static_cast<std::size_t>(end - kubelet.data()));
    if (!kubelet.empty() && kubelet.front() == '.') { kubelet.remove_prefix(1); }
  }
  return numbers[0] > kMajor || (numbers[0] == kMajor && numbers[1] >= minor);
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
  if (!selects && r.devices && n.dra_resource != model::kNvidiaGpu) {
    return Misfit{Reason::DraClaimsOnly, n.dra_resource, 0, 0};
  }
  const int oldest = selects ? kPreparesClaims : kMapsLimits;
  if (!isAtLeast(n.node.kubelet, oldest)) { return Misfit{Reason::KubeletTooOld, n.node.kubelet, oldest, 0}; }
  if (selects) { return std::nullopt; }
  if (r.theirs) { return Misfit{Reason::DraIsTheirs, "", 0, 0}; }
  if (!r.devices) { return std::nullopt; }
  if (r.devices->shared) { return Misfit{Reason::DraNotShared, "", 0, 0}; }
  if (r.resources.get(model::kNvidiaGpu) != r.devices->count) {
    return Misfit{Reason::DraNeedsLimit, model::kNvidiaGpu, r.devices->count, 0};
  }
  if (r.too_many_results > 0) { return Misfit{Reason::DraTooMany, "", r.too_many_results, 0}; }
  return std::nullopt;
}

}  // namespace gs::sched
