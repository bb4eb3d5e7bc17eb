#include "sched/placement/fit.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sched/doors/door.h"
#include "sched/filters/near.h"
#include "sched/ledger/quota.h"

namespace gs::sched {
namespace {

/// As k8s.io/api/core/v1 Toleration.ToleratesTaint.
bool tolerates(const model::Toleration& t, const model::Taint& taint) {
  if (!t.effect.empty() && t.effect != taint.effect) { return false; }
  if (!t.key.empty() && t.key != taint.key) { return false; }
  return t.exists || t.value == taint.value;
}

bool toleratesAny(const std::vector<model::Toleration>& tolerations, const model::Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const auto& t) { return tolerates(t, taint); });
}

/// The first of them that the node does not have; nullptr: it has all.
const std::pair<const std::string, std::string>* missingLabel(
    const model::Node& node, const std::map<std::string, std::string>& wanted) {
  const auto it = std::find_if(wanted.begin(), wanted.end(), [&](const auto& want) {
    const auto label = node.labels.find(want.first);
    return label == node.labels.end() || label->second != want.second;
  });
  return it == wanted.end() ? nullptr : &*it;
}

const model::Taint* untoleratedTaint(const model::Node& node,
                                     const std::vector<model::Toleration>& tolerations) {
  for (const auto& taint : node.taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") { continue; }
    if (!toleratesAny(tolerations, taint)) { return &taint; }
  }
  return nullptr;
}

/// Only what is asked for has to be there.
bool isShort(std::int64_t asked, std::int64_t allocatable, std::int64_t used) {
  return asked > 0 && asked > allocatable - used;
}

bool isKeptAway(const NodeState& n, const PodRequest& r) {
  return std::any_of(r.kept_away_by.begin(), r.kept_away_by.end(),
                     [&](const auto& term) { return n.closedTo(term); });
}

/// The one whose reason comes first; where both have the same reason, the one with less room.
std::optional<Misfit> firstOf(std::optional<Misfit> a, std::optional<Misfit> b) {
  if (!a || !b) { return a ? a : b; }
  if (a->reason != b->reason) { return a->reason < b->reason ? a : b; }
  return a->have <= b->have ? a : b;
}

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

/// Of a node whose GPUs a DRA driver prepares for limits of containers: why this pod gets none of them. And
/// of any other, why a pod that was once meant for such a node cannot run there: its kubelet would wait for
/// what the pod's claim is allocated (docs/inside/decisions/0011-gpus-by-dra.md).
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

}  // namespace

std::optional<Misfit> refuseFacts(const NodeState& n, const PodRequest& r) {
  static const model::Taint kCordoned{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  if (!r.on_node.empty() && !n.answersTo(r.on_node)) { return Misfit{Reason::OtherName, r.on_node, 0, 0}; }
  if (n.node.unschedulable && !toleratesAny(r.tolerations, kCordoned)) {
    return Misfit{Reason::Unschedulable, "", 0, 0};
  }
  if (!n.exists || !n.node.ready) { return Misfit{Reason::NotReady, "", 0, 0}; }
  if (missingLabel(n.node, r.node_selector) != nullptr) { return Misfit{Reason::SelectorMismatch, "", 0, 0}; }
  if (const auto* label = missingLabel(n.node, r.match_labels)) {
    return Misfit{Reason::ClaimSelectorMismatch, label->first + "=" + label->second, 0, 0};
  }
  if (const model::Taint* taint = untoleratedTaint(n.node, r.tolerations)) {
    return Misfit{Reason::UntoleratedTaint, taint->key + ": " + taint->value, 0, 0};
  }
  if (!isKeptBy(r.door, n.enforcer)) {
    return Misfit{Reason::ManagedByOther, enforcerName(n.enforcer), 0, 0};
  }
  if (auto misfit = refuseDra(n, r)) { return misfit; }
  if (std::binary_search(r.not_on.begin(), r.not_on.end(), n.node.name)) {
    return Misfit{Reason::TriedInVain, "", 0, 0};
  }
  if (r.quota && !passesQuota(n.node, r.quota->terms)) { return Misfit{Reason::ExceedsQuota, "", 0, 0}; }
  return std::nullopt;
}

namespace {

/// Calls `lacks(reason, what)` for each amount of which too little is left, but for nvidia.com/gpu, until it
/// returns false. The order is that of reasons, then of resources.
template <class Lacks>
void eachShort(const NodeState& n, const PodRequest& r, const Lacks& lacks) {
  const model::Resources& asked = r.resources;
  const model::Resources& have = n.node.allocatable;
  if (n.used_pods + 1 > n.node.allocatable_pods && !lacks(Reason::TooManyPods, "")) { return; }
  const auto goes_on = [&](std::int64_t wants, std::int64_t all, std::int64_t used, const char* what) {
    return !isShort(wants, all, used) || lacks(Reason::InsufficientResource, what);
  };
  if (!goes_on(asked.cpu_milli, have.cpu_milli, n.used.cpu_milli, "cpu")) { return; }
  if (!goes_on(asked.memory, have.memory, n.used.memory, "memory")) { return; }
  if (!goes_on(asked.ephemeral, have.ephemeral, n.used.ephemeral, "ephemeral-storage")) { return; }
  for (const auto& [name, wants] : asked.extended) {
    if (name == model::kNvidiaGpu) { continue; }
    if (!goes_on(wants, have.get(name), n.used.get(name), name.c_str())) { return; }
  }
}

bool isOfResources(Reason reason) {
  return reason == Reason::TooManyPods || reason == Reason::InsufficientResource;
}

}  // namespace

std::optional<Misfit> refuseUse(const NodeState& n, const PodRequest& r) {
  std::optional<Misfit> first;
  eachShort(n, r, [&](Reason reason, const char* what) {
    first = Misfit{reason, what, 0, 0};
    return false;
  });
  if (!first) { first = refuseSpread(n, r); }
  if (!first) { first = refuseNear(n, r); }
  if (!first && isKeptAway(n, r)) { return Misfit{Reason::ExistingAntiAffinity, "", 0, 0}; }
  return first;
}

std::vector<Misfit> alsoShort(const NodeState& n, const PodRequest& r, const Misfit& first,
                              const model::Uid& self) {
  std::vector<Misfit> all;
  if (!isOfResources(first.reason)) { return all; }
  eachShort(n, r, [&](Reason reason, const char* what) {
    all.push_back({reason, what, 0, 0});
    return true;
  });
  if (auto gpus = refuseCounted(n, r, self)) { all.push_back(*std::move(gpus)); }
  std::erase(all, first);
  return all;
}

std::optional<Misfit> refuseCounted(const NodeState& n, const PodRequest& r, const model::Uid& self) {
  const std::int64_t asked = r.resources.extended.empty() ? 0 : r.resources.get(model::kNvidiaGpu);
  // What a DRA driver prepares the kubelet does not count.
  if (asked <= 0 || n.dra_resource == model::kNvidiaGpu) { return std::nullopt; }
  const std::int64_t total = n.node.allocatable.get(model::kNvidiaGpu);
  std::int64_t free = total - n.used.get(model::kNvidiaGpu);
  if (!n.has_status) { free = std::min(free, unheldOf(n, self) - n.anonymous); }
  if (asked <= free) { return std::nullopt; }
  if (total <= 0) {
    // Devices, but nobody who offers them as a resource: that is the device plugin's absence, not a lack of
    // GPUs.
    return n.whole > 0 ? Misfit{Reason::InsufficientResource, model::kNvidiaGpu, 0, 0}
                       : Misfit{Reason::NoGpu, "", 0, 0};
  }
  if (asked > total) { return Misfit{Reason::TooFewGpus, "", asked, total}; }
  return Misfit{Reason::TooFewFree, "", asked, std::max<std::int64_t>(0, free)};
}

bool needsIds(const PodRequest& r) { return r.door != nullptr && r.door->by_id && r.devices; }

bool takesDevices(const NodeState& n, const PodRequest& r) {
  return r.devices && (n.has_status || (!r.devices->exact.empty() && !n.awaits_status));
}

bool namesDevices(const NodeState& n, const PodRequest& r) {
  return takesDevices(n, r) && (needsIds(r) || n.enforces);
}

bool awaitsLook(const NodeState& n, const PodRequest& r) { return n.awaits_look && namesDevices(n, r); }

namespace {

std::optional<Misfit> refuseOrdinary(const NodeState& n, const PodRequest& r, const model::Uid& self) {
  if (auto misfit = refuseFacts(n, r)) { return misfit; }
  if (auto misfit = refuseUse(n, r)) { return misfit; }
  if (needsIds(r) && !takesDevices(n, r)) {
    const Reason silent = n.awaits_status ? Reason::AwaitsStatus : Reason::NoGpuStatus;
    return firstOf(Misfit{silent, "", 0, 0}, refuseCounted(n, r, self));
  }
  return std::nullopt;
}

}  // namespace

Verdict<Placement> fitOn(const NodeState& n, const PodRequest& r, const model::Uid& self, Meter* meter) {
  if (auto misfit = refuseOrdinary(n, r, self)) { return tl::unexpected(*std::move(misfit)); }
  Verdict<Placement> placed =
      takesDevices(n, r) ? place(n, *r.devices, self, meter) : Verdict<Placement>{Placement{}};
  auto misfit = firstOf(refuseCounted(n, r, self), placed ? std::nullopt : std::optional{placed.error()});
  if (misfit) { return tl::unexpected(*std::move(misfit)); }
  if (awaitsLook(n, r)) { return tl::unexpected(Misfit{Reason::AwaitsLook, "", 0, 0}); }
  if (!namesDevices(n, r)) { return Placement{}; }
  return placed;
}

bool fitsOn(const NodeState& n, const PodRequest& r, const model::Uid& self, Meter* meter) {
  if (refuseOrdinary(n, r, self) || refuseCounted(n, r, self) || awaitsLook(n, r)) { return false; }
  return !takesDevices(n, r) || tryPlace(n, *r.devices, self, meter);
}

std::optional<Misfit> misfitOn(const NodeState& n, const PodRequest& r, const model::Uid& self,
                               const std::vector<int>* exact, Meter* meter) {
  if (exact == nullptr || !namesDevices(n, r)) {
    auto fit = fitOn(n, r, self, meter);
    return fit ? std::nullopt : std::optional{std::move(fit.error())};
  }
  if (auto misfit = refuseOrdinary(n, r, self)) { return misfit; }
  return firstOf(refuseCounted(n, r, self), refuseExact(n, *r.devices, *exact, self));
}

std::vector<Misfit> misfits(const Ledger& ledger, const PodRequest& request) {
  std::vector<Misfit> out;
  for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    if (!ledger.at(i).exists) { continue; }
    if (auto misfit = misfitOn(ledger.at(i), request)) { out.push_back(*std::move(misfit)); }
  }
  return out;
}

}  // namespace gs::sched
