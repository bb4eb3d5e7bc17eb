// What pods use of a node besides its devices: amounts of resources, ports, GPUs by their number.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sched/ledger/derive.h"
#include "sched/ledger/ledger.h"

namespace gs::sched {
namespace {

/// Sums stay exact, so that taking away what was added restores them: no node has more than this of anything.
constexpr std::int64_t kMostOfAnything = std::int64_t{1} << 50;

std::int64_t countable(std::int64_t amount) { return std::clamp<std::int64_t>(amount, 0, kMostOfAnything); }

model::Resources countable(model::Resources r) {
  r.cpu_milli = countable(r.cpu_milli);
  r.memory = countable(r.memory);
  r.ephemeral = countable(r.ephemeral);
  for (auto& [name, amount] : r.extended) { amount = countable(amount); }
  std::erase_if(r.extended, [](const auto& entry) { return entry.second == 0; });
  return r;
}

}  // namespace

void Ledger::count(NodeState& n, const Use& use, int sign) {
  if (sign > 0) {
    n.used += use.resources;
  } else {
    n.used -= use.resources;
  }
  n.used_pods += sign;
  countPorts(n, use.ports, sign);
  charge(modelOf(n), use.charge, sign);
}

void Ledger::usePod(const model::NodeName& node, const model::Uid& uid, Source source,
                    const model::Resources& r, std::int64_t counted, const GpuCharge& charge,
                    const std::vector<model::HostPort>& ports) {
  GS_CHECK(source == Source::BoundPod || source == Source::Reservation, "source {}",
           static_cast<unsigned>(source));
  const NodeIndex i = indexFor(node);
  Uses& uses = uses_[i];
  Use next{countable(r), countable(counted), {charge.ns, countable(charge.milli)}, ports};
  const auto bound = uses.find(UseKeyRef{uid, Source::BoundPod});
  const auto mine = source == Source::BoundPod ? bound : uses.find(UseKeyRef{uid, source});
  if (mine != uses.end() && mine->second == next) { return; }
  const bool is_new = mine == uses.end();
  const bool counts = source == Source::BoundPod || bound == uses.end();
  const auto other = counts && source == Source::BoundPod && mine == uses.end()
                         ? uses.find(UseKeyRef{uid, Source::Reservation})
                         : mine;
  const Use* before = counts && other != uses.end() ? &other->second : nullptr;
  const bool matters = counts && (before == nullptr || *before != next);
  if (matters) {
    if (before != nullptr) { count(*nodes_[i], *before, -1); }
    count(*nodes_[i], next, +1);
  }
  const bool recounts = counts && (next.counted > 0 || !nodes_[i]->counted.empty());
  uses.insert_or_assign(UseKey{uid, source}, std::move(next));
  if (recounts) { recount(i, uid); }
  if (matters) { changed(i); }
  if (is_new) { tellReserved(node, uid, source, true); }
}

void Ledger::unusePod(const model::NodeName& node, const model::Uid& uid, Source source) {
  NodeIndex i = 0;
  NodeState* n = known(node, i);
  if (n == nullptr) { return; }
  Uses& uses = uses_[i];
  const auto mine = uses.find(UseKeyRef{uid, source});
  if (mine == uses.end()) { return; }
  const auto other =
      uses.find(UseKeyRef{uid, source == Source::BoundPod ? Source::Reservation : Source::BoundPod});
  const bool counted = source == Source::BoundPod || other == uses.end();
  const bool takes_over = counted && other != uses.end();
  const bool matters = counted && !(takes_over && other->second == mine->second);
  if (matters) {
    count(*n, mine->second, -1);
    if (takes_over) { count(*n, other->second, +1); }
  }
  uses.erase(mine);
  if (counted) { recount(i, uid); }
  if (matters) { changed(i); }
  tellReserved(node, uid, source, false);
  forgetIfNothing(i);
}

void Ledger::reclaimCounted(const model::NodeName& node, const model::Uid& uid, std::int64_t devices) {
  NodeIndex i = 0;
  if (known(node, i) == nullptr && devices <= 0) { return; }
  i = indexFor(node);
  auto& draining = draining_[i];
  const auto it = draining.find(uid);
  const std::int64_t before = it == draining.end() ? 0 : it->second;
  const std::int64_t now = countable(devices);
  if (now == before) { return; }
  if (now == 0) {
    draining.erase(it);
  } else {
    draining.insert_or_assign(uid, now);
  }
  recount(i, uid);
  changed(i);
  forgetIfNothing(i);
}

}  // namespace gs::sched
