#include "sched/request/request.h"

#include <functional>

#include "base/mix.h"
#include "sched/request/mix_nodes.h"

namespace gs::sched {
namespace {

std::size_t hashWith(std::size_t h, const DeviceRequest& r) {
  h = mix(mix(h, static_cast<std::size_t>(r.count)), static_cast<std::size_t>(r.policy));
  for (const int id : r.prefer_ids) { h = mix(h, static_cast<std::size_t>(id)); }
  h = mix(h, r.exact.size());
  for (const int id : r.exact) { h = mix(h, static_cast<std::size_t>(id)); }
  h = mix(mix(h, r.shared ? 1 : 0), r.max_sharers);
  h = mix(h, r.topology ? 1 + static_cast<std::size_t>(*r.topology) : 0);
  h = mix(h, static_cast<std::size_t>(r.min_bandwidth_gbps));
  return mix(h, std::hash<std::shared_ptr<const DeviceSelection>>{}(r.selection));
}

std::size_t hashWith(std::size_t h, const model::NodeAffinity& affinity) {
  if (affinity == model::NodeAffinity{}) { return h; }
  for (const auto& term : affinity.required) { h = mixTerm(h, term); }
  for (const auto& [weight, term] : affinity.preferred) {
    h = mixTerm(mix(h, static_cast<std::size_t>(weight)), term);
  }
  return mix(h, affinity.is_required ? 1 : 0);
}

}  // namespace

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

std::size_t hashOf(const PodRequest& r) {
  std::size_t h = mix(std::hash<const Door*>{}(r.door), static_cast<std::size_t>(r.resources.cpu_milli));
  h = mix(h, static_cast<std::size_t>(r.resources.memory));
  h = mix(h, static_cast<std::size_t>(r.resources.ephemeral));
  for (const auto& [name, amount] : r.resources.extended) {
    h = mix(mix(h, name), static_cast<std::size_t>(amount));
  }
  for (const auto& [key, value] : r.node_selector) { h = mix(mix(h, key), value); }
  for (const auto& [key, value] : r.match_labels) { h = mix(mix(h, key), value); }
  h = mixTolerations(h, r.tolerations);
  h = hashWith(h, r.node_affinity);
  for (const auto& p : r.host_ports) {
    h = mix(mix(mix(h, static_cast<std::size_t>(p.port)), p.protocol), p.ip);
  }
  for (const auto& feature : r.node_features) { h = mix(h, feature); }
  if (r.quota) { h = mix(mix(h, r.quota->ns), static_cast<std::size_t>(r.quota->milli)); }
  h = mix(mix(mix(h, r.gang), r.on_node), r.only_certain ? 1 : 0);
  h = mix(h, (r.theirs ? 2U : 0U) + (r.mapped ? 1U : 0U));
  h = mix(h, static_cast<std::size_t>(r.too_many_results));
  for (const auto& s : r.shares) {
    h = mix(mix(mix(h, static_cast<std::size_t>(s.whole)), static_cast<std::size_t>(s.milli)),
            static_cast<std::size_t>(s.mib));
  }
  for (const auto& t : r.kept_away_by) { h = mix(h, static_cast<std::size_t>(t)); }
  h = mix(h, std::hash<std::shared_ptr<const VolumeSelection>>{}(r.volumes));
  if (r.near) { h = mix(h, hashOf(*r.near.rules)); }
  for (const auto& node : r.not_on) { h = mix(h, node.text); }
  h = mix(h, r.kept_off.size());
  for (const auto& node : r.kept_off) { h = mix(h, node.text); }
  for (const auto& key : r.better_with) { h = mix(mix(h, key.ns), key.name); }
  return r.devices ? hashWith(h, *r.devices) : h;
}

}  // namespace gs::sched
