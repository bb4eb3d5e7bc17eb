#include "test/filters/draw_case.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "test/filters/draw_pod.h"
#include "test/filters/draw_volumes.h"
#include "test/filters/words.h"

namespace gs::filters {
namespace {

/// How often in a hundred cases; the late filters are reached only where no early one refuses.
constexpr unsigned shareOf(Field field) {
  return field == Field::Near || field == Field::Spread ? 30 : field == Field::Volumes ? 20 : 12;
}

/// What this case is about: each for itself in some cases, together with others in some.
Fields about(Rng& rng, Fields fields) {
  const bool much = rng.chance(12);
  std::vector<Fields> all;
  Fields out = 0;
  for (unsigned n = 0; n < 16; ++n) {
    const auto bit = static_cast<Fields>(1U << n);
    const bool chosen = rng.chance(much ? 60 : shareOf(static_cast<Field>(bit)));
    if ((fields & bit) == 0) { continue; }
    all.push_back(bit);
    if (chosen) { out |= bit; }
  }
  const std::uint64_t one = rng.below(all.size());
  return out == 0 && !all.empty() ? all[one] : out;
}

json::Object nodeLabels(Rng& rng, const std::string& name, std::uint64_t nodes) {
  json::Object out{{"kubernetes.io/os", "linux"}};
  if (rng.chance(95)) {  // what the kubelet writes, and now and then somebody else
    out.set(kHostname, rng.chance(95) ? name : fmt::format("node-{}", rng.below(nodes)));
  }
  if (rng.chance(88)) { out.set(kZone, zoneValue(rng)); }
  if (rng.chance(88)) { out.set("rack", oneOf(rng, kRacks)); }
  if (rng.chance(65)) { out.set("disk", oneOf(rng, kDisks)); }
  if (rng.chance(65)) { out.set("size", oneOf(rng, kSizes)); }
  return out;
}

json::Object taintSpec(Rng& rng, bool compares) {
  json::Object spec;
  json::Array taints;
  std::set<std::pair<std::string, std::string>> taken;
  for (std::uint64_t n = rng.below(3); n > 0; --n) {
    const std::string key = oneOf(rng, kTaintKeys);
    const std::string effect = oneOf(rng, kEffects);
    const std::string value = compares ? oneOf(rng, kTaintNumbers) : oneOf(rng, kTaintValues);
    if (!taken.emplace(key, effect).second) { continue; }
    json::Object one{{"key", key}, {"effect", effect}};
    if (!value.empty()) { one.set("value", value); }
    taints.push_back(std::move(one));
  }
  if (rng.chance(15)) {
    spec.set("unschedulable", true);
    if (rng.chance(70)) {  // its controller comes a moment later
      taints.push_back(json::Object{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}});
    }
  }
  if (!taints.empty()) { spec.set("taints", std::move(taints)); }
  return spec;
}

json::Object allocatable(Rng& rng, bool tight) {
  if (!tight) {
    return json::Object{{"cpu", "64"}, {"memory", "256Gi"}, {"ephemeral-storage", "100Gi"}, {"pods", "110"}};
  }
  constexpr std::array kCpus{"2", "3500m", "4", "8"};
  constexpr std::array kMemories{"2Gi", "3000Mi", "4Gi", "8Gi"};
  constexpr std::array kPods{"1", "3", "5", "8", "110"};
  json::Object out{
      {"cpu", oneOf(rng, kCpus)}, {"memory", oneOf(rng, kMemories)}, {"pods", oneOf(rng, kPods)}};
  if (rng.chance(85)) { out.set("ephemeral-storage", rng.chance(50) ? "1Gi" : "2Gi"); }
  if (rng.chance(65)) { out.set("example.com/fpga", std::to_string(1 + rng.below(4))); }
  if (rng.chance(65)) { out.set("nvidia.com/gpu", std::to_string(rng.below(4))); }
  if (rng.chance(60)) { out.set("hugepages-2Mi", rng.chance(50) ? "4Mi" : "8Mi"); }
  return out;
}

json::Object drawNode(Rng& rng, const Scene& scene, std::uint64_t number) {
  const std::string name = fmt::format("node-{}", number);
  const bool compares = has(scene.fields, Field::Comparisons);
  const bool tight = has(scene.fields, Field::Resources) || has(scene.fields, Field::PodLevel) ||
                     has(scene.fields, Field::Resize);
  Rng of_labels = rng.split();
  Rng of_taints = rng.split();
  Rng of_amounts = rng.split();
  json::Object meta = metaOf("", name);
  meta.set("labels", nodeLabels(of_labels, name, scene.nodes));
  json::Object spec;
  if (compares || has(scene.fields, Field::Taints)) { spec = taintSpec(of_taints, compares); }
  json::Object amounts = allocatable(of_amounts, tight);
  json::Object status{{"capacity", amounts},
                      {"allocatable", amounts},
                      {"conditions", json::Array{json::Object{{"type", "Ready"}, {"status", "True"}}}}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", std::move(meta)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

json::Array drawNamespaces(Rng& rng) {
  json::Array out;
  for (const char* name : kNamespaces) {
    json::Object meta = metaOf("", name);
    json::Object labels{{"kubernetes.io/metadata.name", name}};
    if (rng.chance(65)) { labels.set("team", oneOf(rng, kTeams)); }
    meta.set("labels", std::move(labels));
    out.push_back(json::Object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", std::move(meta)}});
  }
  return out;
}

}  // namespace

json::Value drawCase(std::uint64_t seed, std::uint64_t number, Fields fields, Release release,
                     bool together) {
  Rng rng{seed * 1'000'003 + number};
  const Scene scene{together ? fields : about(rng, fields), release, 1 + rng.below(8)};
  Rng of_nodes = rng.split();
  Rng of_namespaces = rng.split();
  Rng of_pods = rng.split();
  Rng of_pod = rng.split();
  Rng of_volumes = rng.split();

  json::Array nodes;
  for (std::uint64_t n = 0; n < scene.nodes; ++n) { nodes.push_back(drawNode(of_nodes, scene, n)); }
  json::Array pods;
  for (std::uint64_t n = 0, all = of_pods.below(2 * scene.nodes + 3); n < all; ++n) {
    const std::string node = fmt::format("node-{}", of_pods.below(scene.nodes));
    Rng of_this = of_pods.split();
    pods.push_back(drawPod(of_this, scene, fmt::format("bound-{}", n), node));
  }
  json::Object out{{"seed", seed},
                   {"number", number},
                   {"release", release == Release::Newest ? "newest" : "oldest"},
                   {"fields", namesOf(scene.fields)},
                   {"nodes", std::move(nodes)},
                   {"namespaces", drawNamespaces(of_namespaces)},
                   {"pods", std::move(pods)},
                   {"pod", drawPod(of_pod, scene, "asked", "")}};
  addVolumes(of_volumes, scene, out);
  return out;
}

}  // namespace gs::filters
