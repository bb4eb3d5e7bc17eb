#include "sched/request.h"

namespace gs::sched {

const char* enforcerName(Enforcer e) {
  switch (e) {
    case Enforcer::Agent: return "agent";
    case Enforcer::Kubelet: return "kubelet";
    case Enforcer::GpuManager: return "gpu-manager";
    case Enforcer::Hami: return "hami";
    case Enforcer::Gpushare: return "gpushare";
  }
  return "?";
}

}  // namespace gs::sched
