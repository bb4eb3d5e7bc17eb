// What the steps of features are, in words.
#include <fmt/format.h>

#include "test/sim/cluster.h"
#include "test/sim/plan.h"

namespace gs::sim {
namespace {

std::string slotOf(int slot) { return fmt::format("{}/{}", kNamespaces[slot % 2], podName(slot)); }

}  // namespace

std::string featureText(const Step& s) {
  constexpr const char* kRules[] = {"Bindings and statuses of namespace b",
                                    "Bindings of namespace b",
                                    "statuses of namespace b",
                                    "writes to pod b/p1",
                                    "lease creations for node 1",
                                    "lease creations",
                                    "lease writes"};
  switch (s.op) {
    case Op::Renumber: return fmt::format("the GPUs of node {} change, how {}, GPU {}", s.x, s.y, s.z);
    case Op::ComesBound:
      return fmt::format("pod {} of another scheduler comes on node {} with {} GPUs", slotOf(s.x), s.y, s.z);
    case Op::Forge:
      return fmt::format("pod {} comes on node {} with annotations of its own, how {}", slotOf(s.x), s.y,
                         s.z);
    case Op::EditLease: return fmt::format("lease {} is edited by hand, how {}", s.x, s.y);
    case Op::EditPod:
      return fmt::format("the annotations of pod {} are edited by hand, how {}", slotOf(s.x), s.y);
    case Op::OwnLease:
      return fmt::format("somebody's lease gpu-n-{}-{} {}", s.x, s.y, s.z != 0 ? "goes" : "comes");
    case Op::Stick: return fmt::format("{} fail for {} s, how {}", kRules[s.x], s.y, s.z);
    case Op::Another: return fmt::format("another installation {}", s.y != 0 ? "starts" : "ends");
    case Op::Save: return "the state of the API server is saved";
    case Op::Restore: return "the API server has the state that was saved";
    case Op::WallJumps: return fmt::format("the wall clock jumps by {} min", s.y);
    case Op::Enforce: return fmt::format("node {} has enforcer label {}", s.x, s.y);
    case Op::Taint: return fmt::format("node {} is {}", s.x, s.y != 0 ? "tainted" : "not tainted");
    case Op::PatchesLate: return fmt::format("for {} s annotations of shares land {} s late", s.y, s.z);
    case Op::Limit:
      return fmt::format("namespace {} may have {} GPUs of the small model and {} of the big one", s.x, s.y,
                         s.z);
    case Op::FailUnstarted:
      return fmt::format(
          "pod {} is failed as it is bound, its containers waiting, how {}, and goes {} s later", slotOf(s.x),
          s.y, s.z);
    case Op::AgentFaults: return fmt::format("{} permille of agents' calls fail for {} s", s.z, s.y);
    case Op::AgentSlow: return fmt::format("watches of agents are up to {} ms late for {} s", s.z, s.y);
    case Op::AgentDies: return fmt::format("the agent of node {} dies", s.x);
    case Op::Plug: return fmt::format("node {} has {} GPUs, which its agent sees", s.x, s.y);
    case Op::DriverFails: return fmt::format("the driver of node {} hangs for {} s", s.x, s.y);
    case Op::Lose: return fmt::format("GPU {} of node {} is lost, how {}", s.y, s.x, s.z);
    case Op::RuntimeSilent: return fmt::format("the runtime of node {} is silent for {} s", s.x, s.y);
    case Op::KubeRestart: return "kube-scheduler restarts";
    case Op::KubeHangs:
      return fmt::format("kube-scheduler binds no pod of namespace {} for {} s", kNamespaces[s.x], s.y);
    case Op::KubeCalms: return "kube-scheduler does what it should";
    case Op::GangComes: return fmt::format("gang {} comes, {} pods of flavour {}", s.x, s.z, s.y);
    case Op::GangGoes:
      return fmt::format("{} of gang {} {} deleted{}", s.z > 0 ? fmt::format("pod {}", s.z - 1) : "all", s.x,
                         s.z > 0 ? "is" : "are", s.y != 0 ? " by force" : "");
    case Op::GangEnds: return fmt::format("gang {} ends", s.x);
    case Op::OddShareComes: return fmt::format("share pod {} comes, which nobody serves, how {}", s.x, s.y);
    case Op::MapPod:
      return fmt::format("pod {} comes with map {}", slotOf(s.x), json::print(mapText(s.x, s.y, s.z)));
    case Op::NameNode: return fmt::format("node {} has the name {}", s.x, s.y);
    default: return cacheText(s);
  }
}

}  // namespace gs::sim
