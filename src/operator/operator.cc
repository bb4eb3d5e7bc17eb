#include "operator/operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kcache/kinds/kinds.h"
#include "operator/kinds.h"
#include "operator/metrics.h"
#include "operator/volume_kinds.h"

namespace gs::gkm {
namespace {

constexpr std::uint8_t kFirst = controller::kOperatorOwners.first;
constexpr std::uint8_t kCachesOwner = kFirst + 7;  // behind the reflectors
constexpr std::uint8_t kLostNodesOwner = kFirst + 8;
constexpr std::uint8_t kCsiDriverOwner = kFirst + 9;
constexpr std::uint8_t kVolumesOwner = kFirst + 10;
constexpr controller::OwnerRange kPartsOwners{kFirst + 11, 4};
static_assert(kPartsOwners.first + kPartsOwners.count <= kFirst + controller::kOperatorOwners.count);

bool isNodeObject(kapi::Kind kind) { return kind == kcache::kCacheNode || kind == kcache::kClusterCacheNode; }

controller::Reflector watchOf(kapi::Kind kind, std::uint8_t place, Rng& rng) {
  return {{.kind = kind, .owner = static_cast<std::uint8_t>(kFirst + place), .ns = {}}, rng.split()};
}

bool isKnown(const controller::Reflector& one) { return one.synced() && !one.absent(); }

/// Only those that the operator made.
controller::Reflector watchOfOurs(kapi::Kind kind, std::uint8_t place, Rng& rng) {
  return {{.kind = kind,
           .owner = static_cast<std::uint8_t>(kFirst + place),
           .ns = {},
           .selectors = {.labels = fmt::format("{}=true", kManagedLabel), .fields = {}},
           .optional = true},
          rng.split()};
}

}  // namespace

Operator::Operator(const Config& config, Rng rng)
    : rng_{rng},
      reflectors_{watchOf(kcache::kCache, 0, rng_),     watchOf(kcache::kClusterCache, 1, rng_),
                  watchOf(kcache::kCacheNode, 2, rng_), watchOf(kcache::kClusterCacheNode, 3, rng_),
                  watchOf(kNodePresence, 4, rng_),      watchOfOurs(kVolumeClaim, 5, rng_),
                  watchOfOurs(kVolume, 6, rng_)},
      recorder_{"gkm-operator", config.instance, rng_.split()},
      parts_{kPartsOwners},
      events_{recorder_, parts_},
      caches_{kCachesOwner},
      volumes_{kVolumesOwner},
      lost_nodes_{kLostNodesOwner},
      csi_driver_{kCsiDriverOwner} {}

kapi::Effects Operator::start(Now now) {
  kapi::Effects out;
  for (auto& reflector : reflectors_) { take(reflector, reflector.start(now), out); }
  go(now, out);
  return out;
}

kapi::Effects Operator::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    answered(*outcome, now, out);
  } else if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
    led(*leadership, out);
  } else {
    for (auto& reflector : reflectors_) {
      if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
        take(reflector, reflector.handle(*came, now), out);
      } else if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
        take(reflector, reflector.handle(*ended, now), out);
      } else {
        take(reflector, reflector.tick(now), out);
      }
    }
  }
  go(now, out);
  return out;
}

void Operator::answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const std::size_t place = std::size_t{kapi::tokenOwner(outcome.token)} - kFirst;
  if (place < reflectors_.size()) {
    return take(reflectors_.at(place), reflectors_.at(place).handle(outcome, now), out);
  }
  if (caches_.handle(outcome, now, out) || lost_nodes_.handle(outcome, now, out)) { return; }
  if (volumes_.handle(outcome, now, out)) { return; }
  if (!csi_driver_.handle(outcome, now, out)) { parts_.handle(outcome, now, out); }
}

void Operator::take(controller::Reflector& reflector, controller::Reflector::Output output,
                    kapi::Effects& out) {
  for (const auto& change : output.changes) { apply(change); }
  if (output.went_back) {
    failure_ = fmt::format("the API server's history of {} went back (restored from a backup?)",
                           reflector.kind()->plural);
  }
  if (isNodeObject(reflector.kind())) { caches_.nodesKnown(reflector.kind(), reflector.progress()); }
  std::move(output.effects.begin(), output.effects.end(), std::back_inserter(out));
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
  if (leadership.went_back && failure_.empty()) {
    failure_ = "the leader lease went back (restored from a backup?)";
  }
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
  caches_.standBy();
  volumes_.standBy();
  lost_nodes_.standBy();
  csi_driver_.standBy();
  events_.reset();
}

bool Operator::isComplete() const {
  return std::all_of(reflectors_.begin(), reflectors_.begin() + kNeeded, isKnown);
}

bool Operator::knowsVolumes() const {
  return std::all_of(reflectors_.begin() + kNeeded, reflectors_.end(), isKnown);
}

void Operator::stopTaking() { is_taking_ = false; }

bool Operator::underWay() const {
  return is_working_ &&
         (caches_.underWay() || volumes_.underWay() || lost_nodes_.underWay() || csi_driver_.underWay());
}

void Operator::go(Now now, kapi::Effects& out) {
  if (is_leader_ && !is_working_ && isComplete() && failure_.empty() && is_taking_) {
    out.emplace_back(kapi::Log{kapi::Level::Info, "leading", {}});
    is_working_ = true;
    caches_.lead();
    lost_nodes_.lead();
    csi_driver_.lead(now);
  }
  if (is_working_ && is_taking_ && failure_.empty() && isComplete()) {
    lost_nodes_.go(now, out);
    goVolumes(now, out);
    caches_.go(now, volumes_, out);
    catchUp(now, out);
    csi_driver_.go(now, out);
    for (const auto& note : caches_.takeNotes()) { events_.send(note, now, out); }
    events_.tick(now, out);
    std::optional<Mono> due;
    for (const auto at : {caches_.nextDue(), volumes_.nextDue(), lost_nodes_.nextDue(), csi_driver_.nextDue(),
                          events_.nextDue()}) {
      if (at) { due = due ? std::min(*due, *at) : *at; }
    }
    if (due) { out.emplace_back(kapi::Wake{std::max(*due, now.mono)}); }
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
  for (auto& reflector : reflectors_) {
    if (!isNodeObject(reflector.kind())) { continue; }
    const auto wanted = caches_.takeNodesWanted(reflector.kind());
    if (wanted) { take(reflector, reflector.catchUp(*wanted, now), out); }
  }
}

// ---- what is told of it

void Operator::gauge(kapi::Effects& out) {
  std::map<std::string, double> now{{kDeletingCaches, static_cast<double>(caches_.deleting())},
                                    {kNodeObjects, static_cast<double>(caches_.nodeObjects())},
                                    {kLostNodeObjects, static_cast<double>(lost_nodes_.suspects())}};
  for (const auto& [state, count] : caches_.states()) { now[state] = static_cast<double>(count); }
  for (const auto& [what, value] : now) {
    const auto known = gauges_.find(what);
    if (known != gauges_.end() && known->second == value) { continue; }
    kapi::Metric metric{kapi::MetricOp::Set, kCaches, {{"state", what}}, value};
    for (const char* plain : {kDeletingCaches, kNodeObjects, kLostNodeObjects}) {
      if (what == plain) { metric = {kapi::MetricOp::Set, plain, {}, value}; }
    }
    out.emplace_back(std::move(metric));
  }
  gauges_ = std::move(now);
}

namespace {

const char* absenceOf(kapi::Kind kind) {
  return kind == kVolume || kind == kVolumeClaim ? "may not be listed: pods find no cache by a "
                                                   "PersistentVolumeClaim; apply this version's ClusterRole"
                                                 : "not served; apply charts/gkm/crds/crds.yaml";
}

std::string stateOf(const controller::Reflector& one) {
  if (one.absent()) { return absenceOf(one.kind()); }
  return !one.synced() && one.trouble().empty() ? "not listed yet" : one.trouble();
}

}  // namespace

Readiness Operator::readiness() const {
  Readiness out;
  for (const auto& one : reflectors_) { out.note(one.kind()->plural, stateOf(one)); }
  out.note("csidriver", csi_driver_.trouble());
  out.note("role", is_working_ ? "leader" : is_leader_ ? "leader, not all is known yet" : "standby");
  out.ready = isComplete();
  return out;
}

}  // namespace gs::gkm
