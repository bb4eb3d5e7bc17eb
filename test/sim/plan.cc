#include "test/sim/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/random.h"
#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using std::chrono::milliseconds;

constexpr int kMostSteps = 56;
constexpr milliseconds kBusy{40'000};  // steps come in this time
constexpr milliseconds kHot{2'500};    // most of them close together: faults show where they meet
constexpr int kMostHot = 3;

/// How often each kind of step is drawn.
struct Weight {
  Op op;
  unsigned weight;
};
constexpr std::array kWeights{
    Weight{Op::AddPod, 48},   Weight{Op::EndPod, 12},   Weight{Op::DeletePod, 6},  Weight{Op::KillPod, 6},
    Weight{Op::MakeClaim, 2}, Weight{Op::DropClaim, 2}, Weight{Op::AlterClaim, 5}, Weight{Op::GpuHealth, 6},
    Weight{Op::Resize, 2},    Weight{Op::NodeReady, 2}, Weight{Op::NodeGone, 1},   Weight{Op::NodeBack, 2},
    Weight{Op::AgentDown, 2}, Weight{Op::Crash, 4},     Weight{Op::Start, 6},      Weight{Op::Stop, 2},
    Weight{Op::Freeze, 4},    Weight{Op::Stall, 4},     Weight{Op::ApiAway, 2},    Weight{Op::Forget, 2},
    Weight{Op::DropLease, 3}, Weight{Op::Foreign, 3},   Weight{Op::Faults, 7},     Weight{Op::Slow, 6},
    Weight{Op::Break, 3},     Weight{Op::LastWord, 8},  Weight{Op::Unlucky, 6},
};

/// Of a seed's extender part, which comes beside the rest. No clock of an extender stands still: with two
/// that lead, each would write its own pods' annotations, and unlike GPU leases nothing of the API stands
/// between two pods.
constexpr std::array kShareWeights{
    Weight{Op::ShareComes, 60}, Weight{Op::ShareEnds, 16},     Weight{Op::ShareGoes, 10},
    Weight{Op::ShareAsked, 14}, Weight{Op::ShareElsewhere, 4}, Weight{Op::ShareDropped, 6},
    Weight{Op::Crash, 4},       Weight{Op::Start, 5},          Weight{Op::Stop, 2},
    Weight{Op::Freeze, 4},      Weight{Op::Break, 3},          Weight{Op::LastWord, 6},
    Weight{Op::Faults, 4},      Weight{Op::Slow, 3},
};
constexpr unsigned kSharePercent = 25;  // of the seeds
constexpr int kFewestShareSteps = 20;
constexpr int kMostShareSteps = 70;
/// So chosen that the seeds that docs/reference/promises.md names are played as they were before there were
/// extenders.
constexpr std::uint64_t kShareSeed = 0x5a5ab;

int below(Rng& rng, int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); }

template <std::size_t N>
Op drawOp(Rng& rng, const std::array<Weight, N>& weights) {
  unsigned total = 0;
  for (const Weight& w : weights) { total += w.weight; }
  auto at = static_cast<unsigned>(rng.below(total));
  for (const Weight& w : weights) {
    if (at < w.weight) { return w.op; }
    at -= w.weight;
  }
  return Op::AddPod;
}

int any(Rng& rng, milliseconds below_this) { return below(rng, static_cast<int>(below_this.count())); }

milliseconds drawTime(Rng& rng, const std::vector<milliseconds>& hot) {
  return hot.empty() || rng.chance(30) ? milliseconds{any(rng, kBusy)}
                                       : hot[rng.below(hot.size())] + milliseconds{any(rng, kHot)};
}

Step draw(Rng& rng, const std::vector<milliseconds>& hot) {
  Step s;
  s.at = drawTime(rng, hot);
  s.op = drawOp(rng, kWeights);
  switch (s.op) {
    case Op::AddPod:
      s.x = below(rng, kSlots);
      s.y = below(rng, 11);
      break;
    case Op::EndPod:
    case Op::DeletePod:
    case Op::KillPod: s.x = below(rng, kSlots); break;
    case Op::MakeClaim:
    case Op::DropClaim:
      s.x = below(rng, 5);
      s.y = below(rng, 2);
      break;
    case Op::AlterClaim:
      s.x = below(rng, 3);
      s.y = below(rng, 2);
      s.z = 1 + below(rng, 2);
      break;
    case Op::GpuHealth:
      s.x = below(rng, kNodes);
      s.y = below(rng, 4);
      s.z = below(rng, 3);
      break;
    case Op::Resize:
      s.x = below(rng, kNodes);
      s.y = below(rng, 5);
      break;
    case Op::NodeReady:
    case Op::AgentDown:
      s.x = below(rng, kNodes);
      s.y = below(rng, 2);
      break;
    case Op::NodeGone:
    case Op::NodeBack: s.x = below(rng, kNodes); break;
    case Op::Crash:
    case Op::Start:
    case Op::Stop: s.x = below(rng, kReplicas); break;
    case Op::Freeze:
    case Op::Stall:
      s.x = below(rng, kReplicas);
      s.y = 1 + below(rng, 9);
      break;
    case Op::ApiAway: s.y = 1 + below(rng, 8); break;
    case Op::Forget: break;
    case Op::DropLease: s.x = below(rng, 10); break;
    case Op::Foreign:
      s.x = below(rng, kSlots);
      s.y = below(rng, kNodes);
      break;
    case Op::Faults:
      s.y = 1 + below(rng, 10);
      s.z = 20 + below(rng, 400);
      break;
    case Op::Slow:
      s.y = 1 + below(rng, 10);
      s.z = 50 + below(rng, 3000);
      break;
    case Op::Break:
      s.x = below(rng, kReplicas);
      s.y = below(rng, 3);
      break;
    case Op::Unlucky:
      s.x = below(rng, kSlots);
      s.y = 1 + below(rng, 3);
      s.z = 1 + below(rng, 8);
      break;
    case Op::LastWord:
      s.x = below(rng, kReplicas);
      s.y = below(rng, 10);
      s.z = 1 + below(rng, 12);
      break;
    default: break;  // drawn by drawShares()
  }
  return s;
}

void drawMore(Rng& rng, Step& s) {
  switch (s.op) {
    case Op::ShareComes: s.y = below(rng, 8); break;
    case Op::ShareGoes:
    case Op::ShareElsewhere:
    case Op::ShareDropped: s.y = below(rng, 2); break;
    case Op::ShareAsked:
      s.y = 1 + below(rng, 3);
      s.z = below(rng, 2);
      break;
    case Op::Freeze:
    case Op::Stall: s.y = 1 + below(rng, 9); break;
    case Op::Break: s.y = below(rng, 3); break;
    case Op::Faults:
      s.y = 1 + below(rng, 10);
      s.z = 20 + below(rng, 400);
      break;
    case Op::Slow:
      s.y = 1 + below(rng, 10);
      s.z = 50 + below(rng, 3000);
      break;
    case Op::LastWord:
      s.y = rng.chance(50) ? 4 : 9;  // a PATCH of a pod's status
      s.z = 1 + below(rng, 12);
      break;
    default: break;
  }
}

Step drawShares(Rng& rng, const std::vector<milliseconds>& hot, int extenders) {
  Step s;
  s.at = drawTime(rng, hot);
  s.op = drawOp(rng, kShareWeights);
  const bool is_share = s.op >= Op::ShareComes && s.op <= Op::ShareDropped;
  s.x = is_share ? below(rng, kShareSlots) : kReplicas + below(rng, extenders);
  drawMore(rng, s);
  return s;
}

/// From a generator of its own: a seed's other steps are those that it would have without.
void addShares(Plan& plan, const std::vector<milliseconds>& hot) {
  Rng rng{plan.seed ^ kShareSeed};
  if (!rng.chance(kSharePercent)) { return; }
  plan.extenders = 1 + below(rng, 2);
  addShareSteps(plan, rng, hot, plan.extenders);
}

std::string slotText(int slot) { return fmt::format("{}/{}", kNamespaces[slot % 2], podName(slot)); }

std::string whatOf(const Step& s) {
  switch (s.op) {
    case Op::AddPod: return fmt::format("pod {} comes, flavour {}", slotText(s.x), s.y);
    case Op::EndPod: return fmt::format("pod {} ends", slotText(s.x));
    case Op::DeletePod: return fmt::format("pod {} is deleted", slotText(s.x));
    case Op::KillPod: return fmt::format("pod {} is deleted by force", slotText(s.x));
    case Op::MakeClaim: return fmt::format("claim {} comes in namespace {}", s.x, s.y);
    case Op::DropClaim: return fmt::format("claim {} goes from namespace {}", s.x, s.y);
    case Op::AlterClaim: return fmt::format("claim {} in namespace {} asks for {}", s.x, s.y, s.z);
    case Op::GpuHealth: return fmt::format("GPU {} of node {} has health {}", s.y, s.x, s.z);
    case Op::Resize: return fmt::format("node {} has {} GPUs", s.x, s.y);
    case Op::NodeReady: return fmt::format("node {} is {}", s.x, s.y != 0 ? "Ready" : "not Ready");
    case Op::NodeGone: return fmt::format("node {} goes", s.x);
    case Op::NodeBack: return fmt::format("node {} comes back", s.x);
    case Op::AgentDown: return fmt::format("the agent of node {} is {}", s.x, s.y != 0 ? "down" : "up");
    case Op::Crash: return fmt::format("replica {} crashes", s.x);
    case Op::Start: return fmt::format("replica {} starts", s.x);
    case Op::Stop: return fmt::format("replica {} is told to stop", s.x);
    case Op::Freeze: return fmt::format("replica {} is frozen for {} s", s.x, s.y);
    case Op::Stall: return fmt::format("the clock of replica {} stands still for {} s", s.x, s.y);
    case Op::ApiAway: return fmt::format("the API server is away for {} s", s.y);
    case Op::Forget: return "the API server forgets its history";
    case Op::DropLease: return fmt::format("lease {} is deleted by hand", s.x);
    case Op::Foreign: return fmt::format("another scheduler binds pod {} to node {}", slotText(s.x), s.y);
    case Op::Faults: return fmt::format("{} permille of calls fail for {} s", s.z, s.y);
    case Op::Slow: return fmt::format("watches are up to {} ms late for {} s", s.z, s.y);
    case Op::Break: return fmt::format("the watches of replica {} end, kind {}", s.x, s.y);
    case Op::Unlucky:
      return fmt::format("the next {} Bindings of pod {} get no answer and land {} writes later", s.y,
                         slotText(s.x), s.z);
    case Op::ShareComes: return fmt::format("share pod {} comes, flavour {}", s.x, s.y);
    case Op::ShareEnds: return fmt::format("share pod {} ends", s.x);
    case Op::ShareGoes: return fmt::format("share pod {} is deleted{}", s.x, s.y != 0 ? " by force" : "");
    case Op::ShareAsked:
      return fmt::format("share pod {} is asked for {} times{}", s.x, s.y,
                         s.z != 0 ? ", and nobody waits" : "");
    case Op::ShareElsewhere:
      return fmt::format("share pod {} is bound to m-{} whatever was answered", s.x, s.y);
    case Op::ShareDropped:
      return fmt::format("share pod {} is forgotten by its scheduler{}", s.x,
                         s.y != 0 ? ", which says so" : "");
    case Op::LastWord: {
      constexpr const char* kWhat[] = {"Binding", "new lease", "lease written over", "lease deleted",
                                       "fence"};
      return fmt::format("replica {} {} after its next {}, which lands {} writes later", s.x,
                         s.y >= 5 ? "is frozen" : "crashes", kWhat[s.y % 5], s.z);
    }
    default: return featureText(s);
  }
}

}  // namespace

void addShareSteps(Plan& plan, Rng& rng, const std::vector<milliseconds>& hot, int extenders) {
  const int steps = kFewestShareSteps + below(rng, kMostShareSteps - kFewestShareSteps);
  for (int i = 0; i < steps; ++i) { plan.steps.push_back(drawShares(rng, hot, extenders)); }
}

Plan makePlan(std::uint64_t seed, const Features& allowed, const Features& forced) {
  Rng rng{seed};
  Plan plan;
  plan.seed = seed;
  plan.agents = !rng.chance(20);
  std::vector<milliseconds> hot(rng.below(kMostHot + 1));
  for (auto& moment : hot) { moment = milliseconds{any(rng, kBusy - kHot)}; }
  const int steps = 8 + below(rng, kMostSteps - 8);
  for (int i = 0; i < steps; ++i) { plan.steps.push_back(draw(rng, hot)); }
  addShares(plan, hot);
  addFeatures(plan, allowed, forced);
  std::stable_sort(plan.steps.begin(), plan.steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  return plan;
}

std::string text(const Step& step) {
  return fmt::format("{:9.3f}s {}", std::chrono::duration<double>(step.at).count(), whatOf(step));
}

}  // namespace gs::sim
