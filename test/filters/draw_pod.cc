#include "test/filters/draw_pod.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "test/filters/draw_near.h"
#include "test/filters/words.h"

namespace gs::filters {
namespace {

constexpr std::array kCpu{"0", "100m", "500m", "0.5", "1", "1000m", "1500m", "2"};
constexpr std::array kMemory{"0", "64Mi", "256Mi", "1Gi", "1024Mi", "500M", "128974848", "2Gi"};

/// One way of many to ask for amounts; what may not be more than its limit has the limit.
json::Object drawResources(Rng& rng, bool bound) {
  json::Object requests;
  json::Object limits;
  const auto both = [&](const char* name, std::string amount) {
    limits.set(name, amount);
    requests.set(name, std::move(amount));
  };
  if (rng.chance(65)) { requests.set("cpu", oneOf(rng, kCpu)); }
  if (rng.chance(55)) { requests.set("memory", oneOf(rng, kMemory)); }
  if (rng.chance(12)) { both("cpu", oneOf(rng, kCpu)); }
  if (rng.chance(15)) { requests.set("ephemeral-storage", rng.chance(50) ? "512Mi" : "1Gi"); }
  if (rng.chance(15)) { both("example.com/fpga", std::to_string(rng.below(3))); }
  if (!bound && rng.chance(6)) { both("nvidia.com/gpu", rng.chance(70) ? "1" : "2"); }
  const bool has_one = requests.find("cpu") != nullptr || requests.find("memory") != nullptr;
  if (has_one && rng.chance(8)) { both("hugepages-2Mi", rng.chance(50) ? "4Mi" : "6Mi"); }
  json::Object out;
  if (!limits.empty()) { out.set("limits", std::move(limits)); }
  if (!requests.empty()) { out.set("requests", std::move(requests)); }
  return out;
}

/// Where spec.resources says more, so that its amounts are not below those of containers.
json::Object drawSmallResources(Rng& rng) {
  json::Object requests;
  if (rng.chance(60)) { requests.set("cpu", rng.chance(50) ? "100m" : "250m"); }
  if (rng.chance(60)) { requests.set("memory", rng.chance(50) ? "64Mi" : "128Mi"); }
  json::Object out;
  if (!requests.empty()) { out.set("requests", std::move(requests)); }
  return out;
}

/// Volumes that two pods of a node may share only where both read, or not at all.
json::Array drawDisks(Rng& rng) {
  json::Array out;
  for (std::uint64_t n = rng.below(3); n > 0; --n) {
    const std::string which = rng.chance(50) ? "a" : "b";
    json::Object source;
    const char* kind = "gcePersistentDisk";
    switch (rng.below(4)) {
      case 0: source.set("pdName", which); break;
      case 1:
        kind = "awsElasticBlockStore";
        source.set("volumeID", which);
        break;
      case 2:
        kind = "iscsi";
        source.set("targetPortal", "10.0.0.9:3260");
        source.set("iqn", "iqn.2026-01.com.example:" + which);
        source.set("lun", rng.below(2));
        break;
      default:
        kind = "rbd";
        source.set("monitors", json::Array{"10.0.0.7:6789", "10.0.0." + std::to_string(rng.below(2))});
        source.set("image", which);
        source.set("pool", rng.chance(70) ? "rbd" : "other");
    }
    if (rng.chance(35)) { source.set("readOnly", true); }
    out.push_back(json::Object{{"name", fmt::format("disk-{}", n)}, {kind, std::move(source)}});
  }
  return out;
}

using TakenPorts = std::set<std::tuple<std::int64_t, std::string, std::string>>;

json::Array drawPorts(Rng& rng, bool host_network, TakenPorts& taken) {
  json::Array out;
  for (std::uint64_t n = rng.below(3); n > 0; --n) {
    const std::int64_t inside = oneOf(rng, kPorts);
    const std::int64_t outside = host_network ? inside : rng.chance(75) ? oneOf(rng, kPorts) : 0;
    const std::string protocol = rng.chance(60) ? "TCP" : oneOf(rng, kProtocols);
    const std::string ip = outside != 0 && rng.chance(50) ? oneOf(rng, kAddresses) : "";
    if (!taken.emplace(outside != 0 ? outside : -inside, protocol, ip).second) { continue; }
    json::Object one{{"containerPort", inside}};
    if (outside != 0) { one.set("hostPort", outside); }
    if (!ip.empty()) { one.set("hostIP", ip); }
    one.set("protocol", protocol);
    out.push_back(std::move(one));
  }
  return out;
}

class PodDrawing {
 public:
  PodDrawing(Rng& rng, const Scene& scene, bool bound)
      : rng_{rng},
        scene_{scene},
        bound_{bound},
        pod_level_{has(scene.fields, Field::PodLevel) && rng.chance(60)},
        host_network_{has(scene.fields, Field::Ports) && rng.chance(8)} {}

  json::Value draw(const std::string& name, const std::string& node) {
    const std::string ns = rng_.chance(40) ? kNamespaces[0] : oneOf(rng_, kNamespaces);
    json::Object meta = metaOf(ns, name);
    json::Object labels = drawLabels();
    json::Object spec = drawSpec(labels);
    json::Object status{{"phase", "Pending"}};
    if (bound_) {
      spec.set("nodeName", node);
      status = boundStatus(spec);
      if (rng_.chance(6)) {
        meta.set("deletionTimestamp", "2026-01-02T00:00:00Z");
        meta.set("deletionGracePeriodSeconds", 30);
      }
    }
    if (!labels.empty()) { meta.set("labels", std::move(labels)); }
    return json::Object{{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", std::move(meta)},
                        {"spec", std::move(spec)},
                        {"status", std::move(status)}};
  }

 private:
  json::Object drawLabels() {
    json::Object out;
    for (const char* key : kPodKeys) {
      if (rng_.chance(65)) { out.set(key, podValue(rng_)); }
    }
    return out;
  }

  json::Object container(const char* kind, std::size_t number) {
    json::Object out{{"name", fmt::format("{}-{}", kind, number)}, {"image", "i"}};
    if (has(scene_.fields, Field::Ports)) {
      TakenPorts own;  // init containers may take what containers take
      json::Array ports = drawPorts(rng_, host_network_, *kind == 'c' ? taken_ : own);
      if (!ports.empty()) { out.set("ports", std::move(ports)); }
    }
    json::Object resources;
    if (pod_level_) {
      resources = drawSmallResources(rng_);
    } else if (has(scene_.fields, Field::Resources) || has(scene_.fields, Field::Resize)) {
      resources = drawResources(rng_, bound_);
    }
    out.set("resources", std::move(resources));
    return out;
  }

  void addContainers(json::Object& spec) {
    json::Array containers;
    for (std::size_t n = rng_.chance(70) ? 1 : 2; containers.size() < n;) {
      containers.push_back(container("c", containers.size()));
    }
    spec.set("containers", std::move(containers));
    const bool with_init = has(scene_.fields, Field::Resources) || has(scene_.fields, Field::Ports) ||
                           has(scene_.fields, Field::PodLevel);
    if (!with_init || !rng_.chance(40)) { return; }
    json::Array init;
    for (std::size_t n = 1 + rng_.below(3); init.size() < n;) {
      json::Object one = container("init", init.size());
      if (rng_.chance(50)) { one.set("restartPolicy", "Always"); }
      init.push_back(std::move(one));
    }
    spec.set("initContainers", std::move(init));
  }

  void addPodLevel(json::Object& spec) {
    json::Object requests;
    json::Object limits;
    const bool cpu = rng_.chance(70);
    if (cpu) { requests.set("cpu", rng_.chance(50) ? "1500m" : "2"); }
    if (!cpu || rng_.chance(60)) { requests.set("memory", rng_.chance(50) ? "1Gi" : "2Gi"); }
    if (cpu && rng_.chance(30)) { limits.set("cpu", "2"); }
    json::Object out{{"requests", std::move(requests)}};
    if (!limits.empty()) { out.set("limits", std::move(limits)); }
    spec.set("resources", std::move(out));
  }

  json::Object drawSpec(const json::Object& labels) {
    json::Object spec{{"schedulerName", "gpu-scheduler"}, {"restartPolicy", "Always"}};
    if (host_network_) { spec.set("hostNetwork", true); }
    addContainers(spec);
    if (pod_level_) { addPodLevel(spec); }
    if (has(scene_.fields, Field::Resources) && rng_.chance(10)) {
      spec.set("runtimeClassName", "heavy");
      spec.set("overhead", json::Object{{"cpu", "250m"}, {"memory", "64Mi"}});
    }
    json::Object affinity;
    if (has(scene_.fields, Field::Near)) { affinity = drawPodAffinity(rng_, labels, bound_); }
    if (!bound_) { addWishes(spec, affinity, labels); }
    if (!affinity.empty()) { spec.set("affinity", std::move(affinity)); }
    if (has(scene_.fields, Field::Disks)) {
      json::Array disks = drawDisks(rng_);
      if (!disks.empty()) { spec.set("volumes", std::move(disks)); }
    }
    if (!bound_) { spec.set("tolerations", drawTolerations(rng_, scene_.fields)); }
    return spec;
  }

  /// What decides only until the pod is bound.
  void addWishes(json::Object& spec, json::Object& affinity, const json::Object& labels) {
    if (has(scene_.fields, Field::Affinity)) {
      if (rng_.chance(35)) { spec.set("nodeSelector", drawNodeSelector()); }
      json::Object nodes = rng_.chance(75) ? drawNodeAffinity(rng_, scene_.nodes) : json::Object{};
      if (!nodes.empty()) { affinity.set("nodeAffinity", std::move(nodes)); }
    }
    if (has(scene_.fields, Field::Spread)) {
      json::Array spread = drawSpread(rng_, labels, scene_.release);
      if (!spread.empty()) { spec.set("topologySpreadConstraints", std::move(spread)); }
    }
  }

  json::Object drawNodeSelector() {
    json::Object out;
    if (rng_.chance(50)) { out.set("disk", oneOf(rng_, kDisks)); }
    if (rng_.chance(30)) { out.set(kZone, zoneValue(rng_)); }
    if (out.empty() || rng_.chance(20)) { out.set("rack", oneOf(rng_, kRacks)); }
    return out;
  }

  /// Mostly it runs. During a resize its containers have more or less than the spec asks for.
  json::Object boundStatus(const json::Object& spec) {
    const unsigned ended = 4;
    json::Object out{{"phase", rng_.chance(ended)   ? "Succeeded"
                               : rng_.chance(ended) ? "Failed"
                               : rng_.chance(85)    ? "Running"
                                                    : "Pending"}};
    json::Array conditions{json::Object{{"type", "PodScheduled"}, {"status", "True"}}};
    if (has(scene_.fields, Field::Resize)) {
      if (rng_.chance(25)) {
        conditions.push_back(json::Object{{"type", "PodResizePending"},
                                          {"status", "True"},
                                          {"reason", rng_.chance(60) ? "Infeasible" : "Deferred"}});
      }
      for (const char* list : {"containers", "initContainers"}) { addStatuses(out, spec, list); }
    }
    out.set("conditions", std::move(conditions));
    return out;
  }

  void addStatuses(json::Object& status, const json::Object& spec, std::string_view list) {
    const json::Value* containers = spec.find(list);
    if (containers == nullptr) { return; }
    json::Array out;
    for (const json::Value& one : containers->items()) {
      if (rng_.chance(20)) { continue; }
      json::Object said{
          {"name", one["name"]}, {"image", "image"}, {"imageID", ""}, {"ready", true}, {"restartCount", 0}};
      if (rng_.chance(70)) {
        said.set("resources", json::Object{{"requests", json::Object{{"cpu", oneOf(rng_, kCpu)},
                                                                     {"memory", oneOf(rng_, kMemory)}}}});
      }
      if (rng_.chance(50)) {
        said.set("allocatedResources",
                 json::Object{{"cpu", oneOf(rng_, kCpu)}, {"memory", oneOf(rng_, kMemory)}});
      }
      out.push_back(std::move(said));
    }
    status.set(list == "containers" ? "containerStatuses" : "initContainerStatuses", std::move(out));
  }

  Rng& rng_;
  const Scene& scene_;
  bool bound_;
  bool pod_level_;
  bool host_network_;
  TakenPorts taken_;
};

}  // namespace

json::Value drawPod(Rng& rng, const Scene& scene, const std::string& name, const std::string& node) {
  return PodDrawing{rng, scene, !node.empty()}.draw(name, node);
}

}  // namespace gs::filters
