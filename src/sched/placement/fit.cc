#include "sched/placement/fit.h"

#include <algorithm>

#include "sched/doors/door.h"
#include "sched/filters/filter.h"
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

/// The one whose reason comes first; where both have the same reason, the one with less room.
std::optional<Misfit> firstOf(std::optional<Misfit> a, std::optional<Misfit> b) {
  if (!a || !b) { return a ? a : b; }
  if (a->reason != b->reason) { return a->reason < b->reason ? a : b; }
  return a->have <= b->have ? a : b;
}

bool isOfResources(Reason reason) {
  return reason == Reason::TooManyPods || reason == Reason::InsufficientResource;
}

}  // namespace

std::optional<Misfit> refuseFacts(const NodeState& n, const PodRequest& r, Filter::Needs parts) {
  return refusalOf(n, r, Filter::Kept::Facts, parts);
}

std::optional<Misfit> refuseUse(const NodeState& n, const PodRequest& r, Filter::Needs parts) {
  return refusalOf(n, r, Filter::Kept::Use, parts);
}

std::vector<Misfit> alsoShort(const NodeState& n, const PodRequest& r, const Misfit& first,
                              const model::Uid& self) {
  if (!isOfResources(first.reason)) { return {}; }
  std::vector<Misfit> all = shortOf(n, r);
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
  if (auto misfit = refusalOf(n, r)) {
    // To kube-scheduler an amount as any other: it counts these before it looks at volumes and other pods.
    if (misfit->reason <= Reason::InsufficientResource) { return misfit; }
    auto counted = refuseCounted(n, r, self);
    return counted ? counted : misfit;
  }
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
