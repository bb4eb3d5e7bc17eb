// Volumes, claims and pods for the tests of this folder, in one line each. Included by tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/in_tree_volumes.h"
#include "sched/volumes/volumes.h"
#include "testing/builders.h"

namespace gs::sched {

template <class T>
[[nodiscard]] std::shared_ptr<const T> kept(T value) {
  return std::make_shared<const T>(std::move(value));
}

/// Reached from nodes whose label has one of these values.
[[nodiscard]] inline model::VolumeAffinity onlyWith(const std::string& key, std::vector<std::string> values) {
  return {true, {{{{key, model::NodeRequirement::Op::In, std::move(values)}}, {}}}};
}

/// Free, of class "local", ReadWriteOnce.
[[nodiscard]] inline model::PersistentVolume makeVolume(const std::string& name, std::int64_t size = 10) {
  model::PersistentVolume v;
  v.key = {"", name};
  v.uid = model::Uid{"uid-" + name};
  v.revision = 1;
  v.is_available = true;
  v.modes = static_cast<model::AccessModes>(model::AccessMode::ReadWriteOnce);
  v.storage_class = "local";
  v.capacity = {size, 0};
  return v;
}

/// Of class "local", ReadWriteOnce, without a volume.
[[nodiscard]] inline model::PersistentVolumeClaim makeVolumeClaim(const std::string& name,
                                                                  std::int64_t size = 10) {
  model::PersistentVolumeClaim c;
  c.key = {"default", name};
  c.uid = model::Uid{"claim-" + name};
  c.revision = 1;
  c.modes = static_cast<model::AccessModes>(model::AccessMode::ReadWriteOnce);
  c.storage_class = "local";
  c.size = model::Quantity{size, 0};
  return c;
}

[[nodiscard]] inline model::PersistentVolumeClaim boundTo(model::PersistentVolumeClaim claim,
                                                          const std::string& volume) {
  claim.volume = volume;
  claim.bind_completed = true;
  return claim;
}

/// Its volumes are chosen or made once a pod has a node.
[[nodiscard]] inline model::StorageClass makeClass(const std::string& name,
                                                   const std::string& provisioner = model::kNoProvisioner) {
  model::StorageClass c;
  c.key = {"", name};
  c.revision = 1;
  c.provisioner = provisioner;
  c.waits = true;
  return c;
}

[[nodiscard]] inline model::Pod mounting(const std::string& name, const std::vector<std::string>& claims) {
  model::Pod pod = testing::PodBuilder{name}.value();
  for (const auto& claim : claims) { pod.volume_claims.push_back({claim, false}); }
  return pod;
}

/// Volumes over a ledger with nodes a, b and c, which are in zones 1, 1 and 2.
struct VolumesWithNodes {
  Ledger ledger;
  Volumes volumes{ledger};

  VolumesWithNodes() {
    for (const auto& [name, zone] : {std::pair{"a", "1"}, {"b", "1"}, {"c", "2"}}) {
      model::Node node = testing::makeNode(name);
      node.labels = {{"host", name}, {"zone", zone}};
      comes(node);
    }
  }
  void comes(const model::Node& node) {
    ledger.upsertNode(node);
    volumes.nodeChanged(node.name);
  }
  Volumes::Pods has(const model::PersistentVolume& v) { return volumes.putVolume(v.key.name, kept(v)); }
  Volumes::Pods has(const model::PersistentVolumeClaim& c) { return volumes.putClaim(c.key, kept(c)); }
  Volumes::Pods has(const model::StorageClass& c) { return volumes.putClass(c.key.name, kept(c)); }
  void has(const model::CsiNode& n) { volumes.putCsiNode(model::NodeName{n.key.name}, kept(n)); }
  void has(const model::CsiDriver& d) { volumes.putDriver(d.key.name, kept(d)); }
  void has(const model::CsiStorageCapacity& c) { volumes.putCapacity(c.key, kept(c)); }
  void has(const model::VolumeAttachment& a) { volumes.putAttachment(a.key.name, kept(a)); }
  Volumes::Pods runs(model::Pod pod, const char* node) {
    pod.node = model::NodeName{node};
    return volumes.podChanged(pod, false, true);
  }
  [[nodiscard]] const model::Node& node(const char* name) const {
    return ledger.find(model::NodeName{name})->node;
  }
  /// Why it cannot be placed at all; "": it can.
  [[nodiscard]] std::string blocked(const model::Pod& pod) const {
    const auto answer = volumes.ask(pod);
    const auto* why = std::get_if<Blocked>(&answer);
    return why == nullptr ? "" : why->text;
  }
  /// The first reason of that node; nullopt: it takes the pod.
  [[nodiscard]] std::optional<Reason> refused(const model::Pod& pod, const char* name) const {
    const auto answer = volumes.ask(pod);
    const auto* ask = std::get_if<VolumeAsk>(&answer);
    if (ask == nullptr) { return Reason::OtherName; }
    using Filter = VolumeSelection::Filter;
    for (const auto filter : {Filter::Restrictions, Filter::Limits, Filter::Binding, Filter::Zone}) {
      if (const auto misfit = volumes.refuse(filter, *ask, node(name))) { return misfit->reason; }
    }
    return std::nullopt;
  }
  /// The nodes that take it: "ac".
  [[nodiscard]] std::string takers(const model::Pod& pod) const {
    std::string out;
    for (const char* name : {"a", "b", "c"}) { out += refused(pod, name) ? "" : name; }
    return out;
  }
};

}  // namespace gs::sched
