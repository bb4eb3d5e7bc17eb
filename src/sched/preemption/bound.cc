#include "sched/preemption/bound.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "sched/placement/ended.h"

namespace gs::sched {
namespace {

// Positions in Amounts.
constexpr std::size_t kDevices = 0;
constexpr std::size_t kCounted = 1;
constexpr std::size_t kCpu = 2;
constexpr std::size_t kMemory = 3;
constexpr std::size_t kPods = 4;

/// Of what the node does not count, so that it never lacks.
constexpr std::int64_t kPlenty = std::numeric_limits<std::int64_t>::max() / 4;

Amounts freeAmounts(const NodeState& n) {
  const bool counts_gpus = n.dra_resource != model::kNvidiaGpu;
  const model::Resources& all = n.node.allocatable;
  Amounts out{};
  out[kDevices] = n.has_status ? n.untouched - n.anonymous : kPlenty;
  out[kCounted] = counts_gpus ? all.get(model::kNvidiaGpu) - n.used.get(model::kNvidiaGpu) : kPlenty;
  out[kCpu] = all.cpu_milli - n.used.cpu_milli;
  out[kMemory] = all.memory - n.used.memory;
  out[kPods] = n.node.allocatable_pods - n.used_pods;
  return out;
}

Amounts amountsGiven(const model::Pod& pod) {
  return {0, pod.requests.get(model::kNvidiaGpu), pod.requests.cpu_milli, pod.requests.memory, 1};
}

void addAmounts(Amounts& to, const Amounts& more) {
  for (std::size_t i = 0; i < to.size(); ++i) { to[i] += more[i]; }
}

/// What is lacked yet when that is given.
void takeOff(Amounts& lacks, const Amounts& given) {
  for (std::size_t i = 0; i < lacks.size(); ++i) {
    lacks[i] = std::max<std::int64_t>(0, lacks[i] - given[i]);
  }
}

bool isNothing(const Amounts& a) {
  return std::all_of(a.begin(), a.end(), [](std::int64_t n) { return n == 0; });
}

/// That so much takes at least, one at least.
std::int64_t fewestFor(const Amounts& lacks, const Amounts& largest) {
  std::int64_t out = 1;
  for (std::size_t i = 0; i < lacks.size(); ++i) {
    if (lacks[i] > 0 && largest[i] > 0) { out = std::max(out, (lacks[i] - 1) / largest[i] + 1); }
  }
  return out;
}

/// How many devices each of them holds there. Some may be held by several, and some freed by another's going
/// (NodeState::counted): no pod's going ever frees more than so many.
template <class Visit>
std::unordered_map<model::Uid, std::int64_t> devicesHeld(const NodeState& n, const Visit& visit) {
  std::unordered_map<model::Uid, std::int64_t> out;
  for (const DeviceState& d : n.devices) {
    for (const Holder& h : d.holders) {
      ++out[h.uid];
      visit(h.uid, hasEnded(h.sources));
    }
  }
  for (const Counted& c : n.counted) {
    out[c.uid] += c.anonymous();
    visit(c.uid, true);
  }
  return out;
}

}  // namespace

bool isLeftOver(const Ledger& ledger, const model::NodeName& node, const model::Uid& uid,
                bool only_draining) {
  return only_draining && !ledger.isReserved(node, uid);
}

NodeProfile profileOf(const Ledger& ledger, Ledger::NodeIndex node, const Residents::Pods& residents) {
  const NodeState& n = ledger.at(node);
  NodeProfile out;
  out.exists = n.exists;
  if (!n.exists) { return out; }
  out.free = freeAmounts(n);
  std::set<model::Uid> leftovers;
  const auto devices = devicesHeld(n, [&](const model::Uid& uid, bool only_draining) {
    if (!residents.contains(uid) && isLeftOver(ledger, n.node.name, uid, only_draining)) {
      leftovers.insert(uid);
    }
  });
  const auto devices_of = [&](const model::Uid& uid) {
    const auto it = devices.find(uid);
    return it == devices.end() ? std::int64_t{0} : it->second;
  };
  for (const auto& uid : leftovers) { out.leaving[kDevices] += devices_of(uid); }
  out.any_leaves = !leftovers.empty();
  for (const auto& pod : residents) {
    Amounts gives = amountsGiven(*pod);
    gives[kDevices] = devices_of(pod->uid);
    if (pod->deleting) {
      out.any_leaves = true;
      addAmounts(out.leaving, gives);
      continue;
    }
    for (std::size_t i = 0; i < gives.size(); ++i) { out.largest[i] = std::max(out.largest[i], gives[i]); }
    out.pods.push_back({pod->priority, ageOf(startOf(*pod)), gives});
  }
  std::sort(out.pods.begin(), out.pods.end(), [](const NodeProfile::Pod& a, const NodeProfile::Pod& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.age < b.age;
  });
  return out;
}

Amounts needsOf(const PodRequest& r) {
  const bool whole =
      r.devices && !r.devices->shared && r.devices->exact.empty() && r.devices->selection == nullptr;
  Amounts out{};
  out[kDevices] = whole ? r.devices->count : 0;
  out[kCounted] = r.resources.get(model::kNvidiaGpu);
  out[kCpu] = r.resources.cpu_milli;
  out[kMemory] = r.resources.memory;
  out[kPods] = 1;
  return out;
}

std::optional<PreemptionCost> leastCost(const NodeProfile& node, const Amounts& needs,
                                        std::int32_t priority) {
  if (!node.exists) { return std::nullopt; }
  Amounts lacks{};
  for (std::size_t i = 0; i < lacks.size(); ++i) {
    const std::int64_t has = node.free[i] + node.leaving[i];
    lacks[i] = needs[i] > 0 ? std::max<std::int64_t>(0, needs[i] - has) : 0;
  }
  if (node.any_leaves && isNothing(lacks)) { return PreemptionCost{}; }
  Amounts left = lacks;
  Amounts before = lacks;  // lacked when those of lower priority than the last one are gone
  std::size_t first = 0;   // of the priority of the last one
  for (std::size_t at = 0;; ++at) {
    if (at == node.pods.size() || node.pods[at].priority >= priority) { return std::nullopt; }
    if (node.pods[at].priority != node.pods[first].priority) {
      first = at;
      before = left;
    }
    takeOff(left, node.pods[at].gives);
    if (isNothing(left)) { break; }
  }
  const std::int64_t of_it = fewestFor(before, node.largest);
  PreemptionCost out;
  out.highest = node.pods[first].priority;
  out.victims = std::max(of_it, fewestFor(lacks, node.largest));
  out.sum = of_it * (out.highest + PreemptionCost::kRaise) +
            (out.victims - of_it) * (node.pods.front().priority + PreemptionCost::kRaise);
  out.age = node.pods[first + static_cast<std::size_t>(of_it) - 1].age;
  return out;
}

}  // namespace gs::sched
