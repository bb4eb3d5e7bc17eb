#include "serve/combined/metric_specs.h"

#include "scheduler/core/metrics.h"
#include "serve/extender/metric_specs.h"

namespace gs::serve {

using Kind = k8s::MetricKind;

std::vector<k8s::MetricSpec> schedulerMetrics() {
  std::vector<k8s::MetricSpec> out = extenderMetrics();
  out.push_back({scheduler::kScheduleAttempts, Kind::Counter, "Attempts to place a pod, by result.", {}});
  out.push_back({scheduler::kSchedulingSli,
                 Kind::Histogram,
                 "Seconds from first seeing a pod to its Binding.",
                 {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
                  163.84, 327.68}});  // kube-scheduler's
  out.push_back({scheduler::kPreemptionAttempts,
                 Kind::Counter,
                 "Searches for a node on which pods of lower priority go for one that fits nowhere.",
                 {}});
  out.push_back({scheduler::kPreemptionVictims,
                 Kind::Histogram,
                 "Pods that had to go for one of higher priority.",
                 {1, 2, 4, 8, 16, 32, 64}});  // kube-scheduler's
  out.push_back({scheduler::kFences, Kind::Counter, "Fences written to pods, by why.", {}});
  out.push_back({scheduler::kExtenderBinds,
                 Kind::Counter,
                 "Binds that kube-schedulers asked for: bound, failed, raced (others got the GPUs), or busy "
                 "(told to ask again).",
                 {}});
  out.push_back({scheduler::kNudges,
                 Kind::Counter,
                 "Writes by which kubelets try again to have a pod's devices prepared by a DRA driver.",
                 {}});
  out.push_back(
      {scheduler::kDevicesWait,
       Kind::Histogram,
       "Seconds for which pods that are bound waited until a DRA driver had prepared their devices.",
       {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320}});
  out.push_back({scheduler::kVolumesWait,
                 Kind::Histogram,
                 "Seconds from when a pod's claims of volumes began to be bound until all of them were.",
                 {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640}});
  out.push_back({scheduler::kAdoptions, Kind::Counter, "Lease sets of an earlier leader taken over.", {}});
  return out;
}

}  // namespace gs::serve
