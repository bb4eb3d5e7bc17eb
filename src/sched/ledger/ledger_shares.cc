// The ledger of shares: pods on their way, what they set aside, and GPUs counted by namespace and model.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/shares.h"

namespace gs::sched {
namespace {

constexpr std::size_t kMostUseChanges = 4096;

}  // namespace

// ---- GPUs by namespace and model

const std::string& Ledger::modelOf(const NodeState& n) const {
  static const std::string kNone;
  const auto it = model_label_.empty() ? n.node.labels.end() : n.node.labels.find(model_label_);
  return it == n.node.labels.end() ? kNone : it->second;
}

void Ledger::charge(const std::string& model, const GpuCharge& charge, int sign) {
  if (charge.milli == 0) { return; }
  gpu_use_changes_.append(charge.ns, kMostUseChanges);
  const auto ns = gpu_use_.try_emplace(charge.ns).first;
  const auto used = ns->second.try_emplace(model).first;
  used->second += sign * charge.milli;
  if (used->second == 0) { ns->second.erase(used); }
  if (ns->second.empty()) { gpu_use_.erase(ns); }
}

/// Visits what each pod there counts for quotas. A pod may be there by two sources:
/// then BoundPod is believed.
template <class Visit>
void Ledger::eachCharge(NodeIndex i, const Visit& visit) const {
  const Uses& uses = uses_[i];
  for (auto it = uses.begin(); it != uses.end(); ++it) {
    const auto next = std::next(it);
    const bool overruled = next != uses.end() && next->first.uid == it->first.uid;  // BoundPod comes second
    if (!overruled) { visit(it->first.uid, it->second.charge); }
  }
}

void Ledger::chargeAll(NodeIndex i, const std::string& model, int sign) {
  eachCharge(i, [&](const model::Uid&, const GpuCharge& c) { charge(model, c, sign); });
}

std::int64_t Ledger::gpuUseOf(NodeIndex i, const std::string& ns, const std::set<model::Uid>& pods) const {
  std::int64_t milli = 0;
  eachCharge(i, [&](const model::Uid& uid, const GpuCharge& c) {
    if (c.ns == ns && pods.contains(uid)) { milli += c.milli; }
  });
  return milli;
}

std::map<model::Uid, std::int64_t> Ledger::gpuUsesOf(NodeIndex i, const std::string& ns) const {
  std::map<model::Uid, std::int64_t> out;
  eachCharge(i, [&](const model::Uid& uid, const GpuCharge& c) {
    if (c.ns == ns && c.milli != 0) { out[uid] = c.milli; }
  });
  return out;
}

void Ledger::setModelLabel(std::string label) {
  if (label == model_label_) { return; }
  model_label_ = std::move(label);
  gpu_use_.clear();
  for (NodeIndex i = 0; i < nodes_.size(); ++i) { chargeAll(i, modelOf(*nodes_[i]), +1); }
}

std::int64_t Ledger::gpuUse(const std::string& ns, const std::string& model) const {
  const auto models = gpu_use_.find(ns);
  if (models == gpu_use_.end()) { return 0; }
  const auto used = models->second.find(model);
  return used == models->second.end() ? 0 : used->second;
}

// ---- Pods on their way

void Ledger::setInFlight(const model::NodeName& node, const model::Uid& uid, Source source,
                         const SharePicks& picks, const std::string& gang) {
  NodeIndex i = 0;
  if (known(node, i) == nullptr && picks.empty()) { return; }
  i = indexFor(node);
  auto& flights = nodes_[i]->in_flight;
  const auto before = [](const InFlight& a, const InFlight& b) {
    return std::tie(a.uid, a.source) < std::tie(b.uid, b.source);
  };
  InFlight flight{uid, source, picks, gang};
  const auto at = std::lower_bound(flights.begin(), flights.end(), flight, before);
  const bool there = at != flights.end() && at->uid == uid && at->source == source;
  if (there ? *at == flight : picks.empty()) { return; }
  if (picks.empty()) {
    flights.erase(at);
  } else if (there) {
    *at = std::move(flight);
  } else {
    flights.insert(at, std::move(flight));
  }
  changed(i);
  forgetIfNothing(i);
}

// ---- Reservations

bool Ledger::isReserved(const model::NodeName& node, const model::Uid& uid) const {
  const auto at = index_.find(node);
  return at != index_.end() && uses_[at->second].contains(UseKeyRef{uid, Source::Reservation});
}

Reservation Ledger::reserveShares(const model::NodeName& node, const model::Uid& uid, const SharePicks& picks,
                                  const GpuCharge& charge, const std::string& gang) {
  GS_CHECK(!uses_[indexFor(node)].contains(UseKeyRef{uid, Source::Reservation}),
           "{}: {} is reserved there already", node.text, uid.text);
  Reservation r;
  r.ledger_ = this;
  r.node_ = node;
  r.uid_ = uid;
  for (const auto& [id, amount] : amountsOf(picks)) {
    hold(node, id, uid, Source::Reservation, amount);
    r.ids_.push_back(id);
  }
  usePod(node, uid, Source::Reservation, {}, 0, charge);
  setInFlight(node, uid, Source::Reservation, picks, gang);
  return r;
}

}  // namespace gs::sched
