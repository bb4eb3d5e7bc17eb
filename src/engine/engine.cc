#include "engine/engine.h"

#include <array>
#include <utility>

#include "kapi/kinds.h"

namespace gs::engine {

void Engine::synced(Mono now) {
  if (std::exchange(synced_, true)) { return; }
  state_.awaited.allListed();
  state_.ends.allListed(now);
  state_.reclaim.setComplete(true, now);
  state_.unnamed.allListed(now);
  state_.ends.noteFreed();
}

void Engine::apply(const controller::Change& change, Mono now) {
  state_.cache.forgetOld(now);
  state_.claims.forgetOld(now);
  state_.taken.forgetOld(now);
  state_.ends.forgetOld(now);
  handle(change, now);
  state_.ends.noteFreed();
}

/// Kinds without a row are somebody else's.
void Engine::handle(const controller::Change& change, Mono now) {
  using Handler = void (*)(Engine&, const controller::Change&, Mono);
  static const std::array<std::pair<kapi::Kind, Handler>, 23> kHandlers{{
      {kapi::kPod, [](Engine& e, const auto& c, Mono at) { e.pods_.apply(c, at); }},
      {kapi::kLease, [](Engine& e, const auto& c, Mono at) { e.leases_.apply(c, at); }},
      {kapi::kNode, [](Engine& e, const auto& c, Mono at) { e.nodes_.applyNode(c, at); }},
      {kapi::kGpuNodeStatus, [](Engine& e, const auto& c, Mono at) { e.nodes_.applyStatus(c, at); }},
      {kapi::kResourceSlice, [](Engine& e, const auto& c, Mono at) { e.nodes_.applySlice(c, at); }},
      {kapi::kDeviceTaintRule, [](Engine& e, const auto& c, Mono at) { e.nodes_.applyTaintRule(c, at); }},
      {kapi::kResourceClaim, [](Engine& e, const auto& c, Mono at) { e.resource_claims_.apply(c, at); }},
      {kapi::kDeviceClass, [](Engine& e, const auto& c, Mono /*at*/) { e.resource_claims_.applyClass(c); }},
      {kapi::kGpuClaim, [](Engine& e, const auto& c, Mono /*at*/) { e.claims_.apply(c); }},
      {kapi::kPersistentVolume, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyVolume(c); }},
      {kapi::kPersistentVolumeClaim, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyClaim(c); }},
      {kapi::kStorageClass, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyClass(c); }},
      {kapi::kCsiNode, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyCsiNode(c); }},
      {kapi::kCsiDriver, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyDriver(c); }},
      {kapi::kCsiStorageCapacity, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyCapacity(c); }},
      {kapi::kVolumeAttachment, [](Engine& e, const auto& c, Mono /*at*/) { e.volumes_.applyAttachment(c); }},
      {kapi::kNamespace,
       [](Engine& e, const auto& c, Mono /*at*/) { e.state_.near_pods.namespaceChanged(c); }},
      {kapi::kDisruptionBudget,
       [](Engine& e, const auto& c, Mono /*at*/) {
         if (auto budget = c.object.template as<model::DisruptionBudget>()) {
           e.state_.budgets.put(std::move(budget));
         } else {
           e.state_.budgets.remove(c.key);
         }
       }},
      {kapi::kService,
       [](Engine& e, const auto& c, Mono /*at*/) { e.state_.default_spreads.serviceChanged(c); }},
      {kapi::kReplicationController,
       [](Engine& e, const auto& c, Mono /*at*/) { e.state_.default_spreads.controllerChanged(c); }},
      {kapi::kReplicaSet,
       [](Engine& e, const auto& c, Mono /*at*/) { e.state_.default_spreads.controllerChanged(c); }},
      {kapi::kStatefulSet,
       [](Engine& e, const auto& c, Mono /*at*/) { e.state_.default_spreads.controllerChanged(c); }},
      {kapi::kQuotaMap, [](Engine& e, const auto& c, Mono /*at*/) { e.quota_.apply(c); }},
  }};
  for (const auto& [kind, handler] : kHandlers) {
    if (kind == change.kind) { return handler(*this, change, now); }
  }
}

void Engine::mayList(kapi::Kind kind, bool may) {
  if (kind == kapi::kResourceClaim || kind == kapi::kDeviceClass) { resource_claims_.mayList(kind, may); }
  if (VolumeHandler::reads(kind)) { volumes_.mayList(kind, may); }
}

void Engine::learn(const model::Object& object, Mono now) {
  if (const auto pod = object.as<model::Pod>()) { pods_.put(pod, now); }
  if (const auto lease = object.as<model::Lease>()) { leases_.put(lease, now); }
  if (const auto claim = object.as<model::ResourceClaim>()) { resource_claims_.put(claim, now); }
  state_.ends.noteFreed();
}

std::optional<Mono> Engine::nextDue() const {
  std::optional<Mono> next;
  for (const auto& due :
       {state_.reclaim.nextDue(), state_.awaited.nextDue(), state_.unnamed.nextDue(), nodes_.nextDue()}) {
    if (due && (!next || *due < *next)) { next = due; }
  }
  return next;
}

void Engine::tick(Mono now) {
  nodes_.tick(now);
  state_.reclaim.tick(now);
  state_.awaited.tick(now);
  state_.unnamed.tick(now);
  state_.ends.noteFreed();
}

void Engine::forgetTouched() {
  state_.touched.forget();
  (void)state_.uuids.takeChanged();
}

void Engine::configureQuota(model::QuotaConfig config) {
  state_.ledger.setModelLabel(config.labels.model);
  quota_.configure(std::move(config));
}

std::optional<sched::QuotaBound> Engine::quotaBound(const std::string& ns, std::int64_t milli) const {
  const model::Quotas* quotas = quota_.quotas();
  return quotas != nullptr ? sched::quotaBound(*quotas, quota_.config().labels, state_.ledger, ns, milli)
                           : std::nullopt;
}

std::optional<sched::QuotaRoom> Engine::quotaRoom(const std::string& ns) const {
  const model::Quotas* quotas = quota_.quotas();
  return quotas != nullptr ? sched::quotaRoom(*quotas, quota_.config().labels, state_.ledger, ns)
                           : std::nullopt;
}

}  // namespace gs::engine
