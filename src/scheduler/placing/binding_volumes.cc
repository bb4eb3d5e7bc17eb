// A binding cycle of a pod whose claims of volumes are not all bound: they are bound, by the volume desk and
// by those who make volumes, after its leases are held and before its ResourceClaims are allocated and its
// Binding leaves (docs/inside/decisions/0013-volumes.md). The rest of the binder is in binder.cc.
#include <string>

#include "base/mutant.h"
#include "scheduler/core/metrics.h"
#include "scheduler/placing/binder.h"

namespace gs::scheduler {

/// Of a pod that a kube-scheduler places, that one sees to them.
bool Binder::chooseVolumes(const model::Pod& pod, const model::NodeName& node) {
  return c_.asksUs(pod) || volumes_.choose(pod, node);
}

/// Starts the wait for its volumes, in place of any wait before it.
void Binder::bindVolumes(BindingCycle& cycle) {
  // They may have been bound, and be so no more before its Binding left. Who waits for them is not disturbed.
  if (cycle.stage == Stage::Volumes) { return volumes_.bind(cycle.uid, c_.now.mono); }
  cycle.stage = Stage::Volumes;
  cycle.binding_since = Mono{};
  if (cycle.volumes_since == Mono{}) {
    cycle.volumes_since = c_.now.mono;
    c_.reconciles.addAt(c_.now.mono + kReservedAfter,
                        cycle.uid);  // its claim of GPUs may have to say Reserved
  }
  volumes_.bind(cycle.uid, c_.now.mono);
  if (volumes_.isWaiting(cycle.uid)) { slots_.park(cycle.uid); }
}

/// Its leases are its own for as long as it waits, whoever deletes one.
void Binder::advanceVolumes(BindingCycle& cycle, const model::Pod& pod) {
  if (!gaveUpFor(cycle, pod) && !gaveUpRenumbered(cycle)) { bindOrTakeAgain(cycle); }
}

bool Binder::noticed(const VolumeNotice& notice) {
  using What = VolumeNotice::What;
  BindingCycle* cycle = find(notice.uid);
  if (cycle == nullptr) { return false; }
  switch (notice.what) {
    case What::Waits:
      if (cycle->stage != Stage::Volumes) { break; }
      slots_.park(cycle->uid);
      c_.log(kapi::Level::Info, "waits for its volumes",
             {{"pod", cycle->pod.text()}, {"node", cycle->node.text}});
      break;
    case What::Bound:
      c_.out.emplace_back(kapi::Metric{
          kapi::MetricOp::Observe, kVolumesWait, {}, std::chrono::duration<double>(notice.took).count()});
      break;
    case What::Refused:
    case What::Lost:
      // Its leases may be taken again just now.
      if (cycle->stage != Stage::Volumes && cycle->stage != Stage::Leasing) { break; }
      if (GS_MUTANT(KeepsInVain)) { break; }
      if (notice.what == What::Refused) { slots_.failed(cycle->pod.ns); }
      cycle->in_vain = cycle->in_vain || notice.what == What::Refused || notice.elsewhere;
      cycle->refused = true;
      cycle->told_as = notice.what == What::Refused ? "WriteRefused" : "VolumesNotBound";
      giveUp(*cycle, notice.why);
      break;
  }
  return true;
}

}  // namespace gs::scheduler
