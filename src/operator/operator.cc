#include "operator/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kcache/kinds/kinds.h"
#include "operator/kinds.h"
#include "operator/metrics.h"
#include "operator/volume_kinds.h"

namespace gs::gkm {
namespace {

bool isNodeObject(kapi::Kind kind) { return kind == kcache::kCacheNode || kind == kcache::kClusterCacheNode; }

/// Of volumes and their claims only those that the operator made.
std::vector<controller::Reflector::Config> kinds() {
  std::vector<controller::Reflector::Config> out;
  for (const kapi::Kind kind : {kcache::kCache, kcache::kClusterCache, kcache::kCacheNode,
                                kcache::kClusterCacheNode, kNodePresence, kVolumeClaim, kVolume}) {
    controller::Reflector::Config& config = out.emplace_back();
    config.kind = kind;
    config.optional = kind == kVolumeClaim || kind == kVolume;
    if (config.optional) { config.selectors.labels = fmt::format("{}=true", kManagedLabel); }
  }
  return out;
}

}  // namespace

Operator::Operator(const Config& config, Rng rng, controller::Owners owners)
    : rng_{rng},
      parts_{std::move(owners)},
      watches_{parts_, kinds(), rng_,
               [this](const auto& reflector, const auto& output, Now, kapi::Effects&) {
                 take(reflector, output);
               }},
      recorder_{"gkm-operator", config.instance, rng_.split()},
      events_{recorder_, parts_},
      caches_{parts_},
      volumes_{parts_},
      lost_nodes_{parts_},
      csi_driver_{parts_} {}

kapi::Effects Operator::start(Now now) {
  kapi::Effects out;
  watches_.start(now, out);
  go(now, out);
  return out;
}

kapi::Effects Operator::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
    led(*leadership, out);
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    watches_.tick(now, out);
  } else {
    parts_.handle(event, now, out);
  }
  go(now, out);
  return out;
}

void Operator::take(const controller::Reflector& reflector, const controller::Reflector::Output& output) {
  for (const auto& change : output.changes) { apply(change); }
  if (isNodeObject(reflector.kind())) { caches_.nodesKnown(reflector.kind(), reflector.progress()); }
}

void Operator::apply(const controller::Change& change) {
  if (change.kind == kNodePresence) {
    change.object.empty() ? lost_nodes_.nodeLost(change.key.name) : lost_nodes_.nodeSeen(change.key.name);
  } else if (isNodeObject(change.kind)) {
    applyNodeObject(change);
  } else if (change.kind == kVolumeClaim) {
    const auto claim = change.object.as<VolumeClaim>();
    claim ? volumes_.claimChanged(claim) : volumes_.claimGone(change.key, change.last_uid);
  } else if (change.kind == kVolume) {
    const auto volume = change.object.as<Volume>();
    volume ? volumes_.volumeChanged(volume) : volumes_.volumeGone(change.key.name, change.last_uid);
  } else if (const auto cache = change.object.as<kcache::Cache>()) {
    caches_.changed(cache);
    volumes_.changed(cache);
  } else {
    caches_.gone(change.key, change.last_uid);
    volumes_.gone(change.key);
  }
}

void Operator::applyNodeObject(const controller::Change& change) {
  if (const auto node = change.object.as<kcache::CacheNode>()) {
    caches_.nodeChanged(node);
    lost_nodes_.changed(node);
  } else {
    caches_.nodeGone(change.key);
    lost_nodes_.gone(change.key);
  }
}

// ---- leading

void Operator::led(const kapi::Leadership& leadership, kapi::Effects& out) {
  if (leadership.went_back) { watches_.historyWentBack("the leader lease"); }
  const bool is_new_term = leadership.leading && is_leader_ && leadership.term != term_;
  if ((!leadership.leading || is_new_term) && is_leader_) {
    out.emplace_back(kapi::Log{kapi::Level::Warn, "no longer leading; what was under way is dropped", {}});
    standBy();
  }
  is_leader_ = leadership.leading;
  term_ = leadership.term;
}

void Operator::standBy() {
  is_leader_ = is_working_ = has_volumes_ = false;
  parts_.reset();
}

bool Operator::isComplete() const {
  const auto& all = watches_.all();
  return std::all_of(all.begin(), all.begin() + kNeeded, controller::isListed);
}

bool Operator::knowsVolumes() const {
  const auto& all = watches_.all();
  return std::all_of(all.begin() + kNeeded, all.end(), controller::isListed);
}

void Operator::stopTaking() { is_taking_ = false; }

bool Operator::underWay() const {
  return is_working_ &&
         (caches_.underWay() || volumes_.underWay() || lost_nodes_.underWay() || csi_driver_.underWay());
}

void Operator::go(Now now, kapi::Effects& out) {
  if (is_leader_ && !is_working_ && isComplete() && failure().empty() && is_taking_) {
    out.emplace_back(kapi::Log{kapi::Level::Info, "leading", {}});
    is_working_ = true;
    caches_.lead();
    lost_nodes_.lead();
    csi_driver_.lead(now);
  }
  if (is_working_ && is_taking_ && failure().empty() && isComplete()) {
    lost_nodes_.go(now, out);
    goVolumes(now, out);
    caches_.go(now, volumes_, out);
    catchUp(now, out);
    csi_driver_.go(now, out);
    for (const auto& note : caches_.takeNotes()) { events_.send(note, now, out); }
    events_.tick(now, out);
    if (const auto due = parts_.nextDue()) { out.emplace_back(kapi::Wake{std::max(*due, now.mono)}); }
  }
  gauge(out);
}

void Operator::goVolumes(Now now, kapi::Effects& out) {
  if (!has_volumes_ && knowsVolumes()) {
    has_volumes_ = true;
    volumes_.lead();
  }
  if (has_volumes_ && knowsVolumes()) {
    volumes_.go(
        now, [this](const model::ObjectKey& cache) { return caches_.sizeOf(cache); }, out);
  }
  for (const auto& cache : volumes_.takeNews()) { caches_.claimsChanged(cache); }
}

/// Caches that may go once more is known of their nodes.
void Operator::catchUp(Now now, kapi::Effects& out) {
  for (const kapi::Kind kind : {kcache::kCacheNode, kcache::kClusterCacheNode}) {
    if (const auto wanted = caches_.takeNodesWanted(kind)) { watches_.catchUp(kind, *wanted, now, out); }
  }
}

// ---- what is told of it

void Operator::gauge(kapi::Effects& out) {
  const auto tell = [&](const char* name, std::size_t count) {
    gauges_.tell(name, static_cast<double>(count), out);
  };
  tell(kDeletingCaches, caches_.deleting());
  tell(kNodeObjects, caches_.nodeObjects());
  tell(kLostNodeObjects, lost_nodes_.suspects());
  for (const auto& [state, count] : caches_.states()) {
    gauges_.tell(kCaches, {{"state", state}}, static_cast<double>(count), out);
  }
}

namespace {

const char* absenceOf(kapi::Kind kind) {
  return kind == kVolume || kind == kVolumeClaim ? "may not be listed: pods find no cache by a "
                                                   "PersistentVolumeClaim; apply this version's ClusterRole"
                                                 : "not served; apply charts/gkm/crds/crds.yaml";
}

}  // namespace

Readiness Operator::readiness() const {
  Readiness out;
  for (const auto& one : watches_.all()) {
    out.note(one.kind()->plural, controller::stateOf(one, absenceOf(one.kind())));
  }
  out.note("csidriver", csi_driver_.trouble());
  out.note("role", is_working_ ? "leader" : is_leader_ ? "leader, not all is known yet" : "standby");
  out.ready = isComplete();
  return out;
}

}  // namespace gs::gkm
