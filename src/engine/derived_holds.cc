#include "engine/derived_holds.h"

#include <utility>
#include <vector>

#include "base/mutant.h"
#include "sched/ledger/shares.h"

namespace gs::engine {

using sched::Source;

namespace {

[[maybe_unused]] const std::vector<model::HostPort> kNoPorts;  // of a mutant

}  // namespace

void DerivedHolds::derive(const model::Uid& uid, const sched::Holdings* said) {
  ++derived_;
  PodDevices::Holds want = devices_.devices(uid, said);
  const auto it = holds_.find(uid);
  if (it != holds_.end()) {
    // From the last: the ledger keeps a node's devices in one list.
    const PodDevices::Holds& had = it->second;
    for (auto at = had.rbegin(); at != had.rend(); ++at) {
      const PodDevices::Hold& hold = at->first;
      if (!want.contains(hold)) { ledger_.release(hold.node, hold.id, uid, hold.source); }
    }
  }
  for (const auto& [hold, amount] : want) { ledger_.hold(hold.node, hold.id, uid, hold.source, amount); }
  if (want.empty()) {
    holds_.erase(uid);
  } else {
    holds_[uid] = std::move(want);
  }
}

void DerivedHolds::use(const model::Pod& pod, const sched::Holdings& said) {
  const auto whole = static_cast<std::int64_t>(devices_.chargedCount(pod, said));
  const std::int64_t counted = GS_MUTANT(ForgetsCounted) ? 0 : said.counted;
  const bool is_other = counts_until_36_ && !pod.requests_until_36.empty();
  ledger_.usePod(pod.node, pod.uid, Source::BoundPod,
                 is_other ? pod.requests_until_36->front() : pod.requests, counted,
                 {pod.key.ns, whole * sched::kWholeMilli + said.milli},
                 GS_MUTANT(ForgetsPorts) ? kNoPorts : *pod.host_ports);
  ledger_.setInFlight(pod.node, pod.uid, Source::BoundPod,
                      said.on_the_way ? said.shares : sched::SharePicks{});
}

void DerivedHolds::unuse(const model::NodeName& node, const model::Uid& uid) {
  ledger_.unusePod(node, uid, Source::BoundPod);
  ledger_.setInFlight(node, uid, Source::BoundPod, {});
}

std::vector<int> DerivedHolds::heldBy(const model::Pod& pod) const {
  std::vector<int> ids;
  const auto it = holds_.find(pod.uid);
  if (it == holds_.end()) { return ids; }
  for (const auto& [hold, amount] : it->second) {
    const bool known = !ids.empty() && ids.back() == hold.id;
    if (hold.node == pod.node && !known) { ids.push_back(hold.id); }
  }
  return ids;
}

}  // namespace gs::engine
