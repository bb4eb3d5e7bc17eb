#include "kapi/node_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/dns_name.h"
#include "base/hash.h"
#include "kapi/fields.h"
#include "kapi/quantity.h"
#include "model/resources.h"

namespace gs::kapi {
namespace {

using json::Value;
using model::Device;
using model::Enforcement;
using model::enforcementName;

constexpr std::int64_t kMaxGpus = 1024;
constexpr std::int64_t kMaxMib = std::int64_t{1} << 40;
constexpr std::int64_t kMaxGbps = 1'000'000;
constexpr const char* kDefaultModel = "NVIDIA-L40S";
constexpr std::int64_t kDefaultMib = 46068;
constexpr std::int64_t kDefaultGbps = 64;  // PCIe 4.0 x16

const std::map<std::string, std::string>& defaultAllocatable() {
  static const std::map<std::string, std::string> kDefaults{
      {"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}, {"ephemeral-storage", "1Ti"}};
  return kDefaults;
}

std::string shownValue(const Value& v) { return json::print(v).substr(0, 100); }

/// Reads one node. The first mistake is kept, with its path; reading goes on harmlessly.
class NodeReader {
 public:
  explicit NodeReader(std::string where) : where_{std::move(where)} {}

  SimNode read(const Value& v) {
    SimNode node;
    only(v, "", {"name", "labels", "taints", "enforcement", "allocatable", "gpus"});
    node.name = model::NodeName{v["name"].str()};
    if (!isDnsSubdomain(node.name.text)) {
      wrong("name", v["name"], fmt::format("write a lower-case DNS name: {}", kDnsSubdomainRule));
    } else {
      where_ = "node " + node.name.text;
    }
    node.labels = readLabels(v["labels"]);
    readTaints(v["taints"], node);
    readEnforcement(v["enforcement"], node);
    readAllocatable(v["allocatable"], node);
    readGpus(v["gpus"], node);
    return node;
  }
  [[nodiscard]] const std::string& mistake() const { return mistake_; }

 private:
  void wrong(std::string_view field, const Value& seen, std::string_view rule) {
    if (mistake_.empty()) {
      mistake_ = fmt::format("node file: {}: {} is {}; {}", where_, field, shownValue(seen), rule);
    }
  }

  /// `v` must be absent or an object with no other members than these.
  void only(const Value& v, const std::string& field, std::initializer_list<std::string_view> names) {
    if (!v.isNull() && !v.isObject()) { wrong(field.empty() ? "it" : field, v, "write a map of fields"); }
    for (const auto& [name, value] : v.members()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) { continue; }
      wrong(field.empty() ? name : fmt::format("{}.{}", field, name), value,
            fmt::format("no such field; there are {}", fmt::join(names, ", ")));
    }
  }

  const json::Array& list(const Value& v, std::string_view field) {
    if (!v.isNull() && !v.isArray()) { wrong(field, v, "write a list"); }
    return v.items();
  }

  std::int64_t number(const Value& v, std::string_view field, std::int64_t most,
                      std::optional<std::int64_t> fallback) {
    if (v.isNull() && fallback) { return *fallback; }
    const std::int64_t n = bounded(v, most, -1);
    if (n < 0) { wrong(field, v, fmt::format("write a whole number from 0 to {}", most)); }
    return std::max<std::int64_t>(n, 0);
  }

  std::map<std::string, std::string> readLabels(const Value& v) {
    if (!v.isNull() && !v.isObject()) { wrong("labels", v, "write a map of texts"); }
    for (const auto& [key, value] : v.members()) {
      if (!value.isString()) { wrong("labels." + key, value, "write a text; quote numbers and true"); }
    }
    return stringMap(v);
  }

  void readTaints(const Value& v, SimNode& node) {
    for (const Value& t : list(v, "taints")) {
      only(t, "taints[]", {"key", "value", "effect"});
      const std::string_view effect = t["effect"].str();
      if (t["key"].str().empty()) { wrong("taints[].key", t["key"], "write a text"); }
      if (!t["value"].isNull() && !t["value"].isString()) {
        wrong("taints[].value", t["value"], "write a text; quote it");
      }
      if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
        wrong("taints[].effect", t["effect"], "write NoSchedule, PreferNoSchedule or NoExecute");
      }
      node.taints.push_back({text(t["key"]), text(t["value"]), std::string{effect}});
    }
  }

  void readAllocatable(const Value& v, SimNode& node) {
    if (!v.isNull() && !v.isObject()) { wrong("allocatable", v, "write a map of quantities"); }
    for (const auto& [name, quantity] : v.members()) {
      const auto amount = milliOf(quantity);
      if (name.empty() || !amount || *amount < 0) {
        wrong("allocatable." + name, quantity, "write a quantity such as \"64\" or 512Gi");
      }
      node.allocatable[name] = quantity.isString() ? text(quantity) : json::print(quantity);
    }
    for (const auto& [name, quantity] : defaultAllocatable()) {
      node.allocatable.try_emplace(name, quantity);
    }
  }

  void readEnforcement(const Value& v, SimNode& node) {
    if (v.isNull()) { return; }
    for (const auto one : {Enforcement::Off, Enforcement::Env, Enforcement::Devices, Enforcement::Dra}) {
      if (v.str() != enforcementName(one)) { continue; }
      node.enforcement = one;
      return;
    }
    wrong("enforcement", v, "write dra, devices, env or \"off\"; quote off, which is false in YAML");
  }

  void readGpus(const Value& v, SimNode& node) {
    only(v, "gpus", {"count", "model", "memoryMiB", "islands", "links", "health"});
    if (v.isNull()) { return; }
    const auto count = number(v["count"], "gpus.count", kMaxGpus, std::nullopt);
    const Value& gpu_model = v["model"];
    if (!gpu_model.isNull() && gpu_model.str().empty()) { wrong("gpus.model", gpu_model, "write a text"); }
    const auto memory = number(v["memoryMiB"], "gpus.memoryMiB", kMaxMib, kDefaultMib);
    for (int id = 0; id < count; ++id) {
      Device d;
      d.id = id;
      d.uuid = uuidOf(node.name, id);
      d.model = gpu_model.isNull() ? kDefaultModel : text(gpu_model);
      d.memory_mib = memory;
      d.health = model::Health::Healthy;
      node.devices.push_back(std::move(d));
    }
    readIslands(v["islands"], node);
    readLinks(v["links"], node);
    readHealth(v["health"], node);
  }

  Device* deviceAt(const Value& id, std::string_view field, SimNode& node) {
    const auto n = bounded(id, kMaxGpus, -1);
    if (n < 0 || n >= static_cast<std::int64_t>(node.devices.size())) {
      wrong(field, id, fmt::format("write an id from 0 to {}", static_cast<int>(node.devices.size()) - 1));
      return nullptr;
    }
    return &node.devices[static_cast<std::size_t>(n)];
  }

  void readIslands(const Value& v, SimNode& node) {
    if (v.isNull()) {
      for (Device& d : node.devices) {
        d.island = "0";
        d.bandwidth_gbps = kDefaultGbps;
      }
      return;
    }
    int island = 0;
    for (const Value& one : list(v, "gpus.islands")) {
      only(one, "gpus.islands[]", {"ids", "bandwidthGBps"});
      const auto gbps = number(one["bandwidthGBps"], "gpus.islands[].bandwidthGBps", kMaxGbps, kDefaultGbps);
      for (const Value& id : list(one["ids"], "gpus.islands[].ids")) {
        Device* d = deviceAt(id, "gpus.islands[].ids[]", node);
        if (d == nullptr) { continue; }
        if (!d->island.empty()) {
          wrong("gpus.islands[].ids[]", id, "this GPU is in another island already");
        }
        d->island = std::to_string(island);
        d->bandwidth_gbps = gbps;
      }
      ++island;
    }
    for (const Device& d : node.devices) {
      if (d.island.empty()) { wrong("gpus.islands", v, fmt::format("name GPU {} in one of them", d.id)); }
    }
  }

  void readLinks(const Value& v, SimNode& node) {
    std::set<std::pair<int, int>> seen;
    for (const Value& link : list(v, "gpus.links")) {
      only(link, "gpus.links[]", {"from", "to", "gbps", "type"});
      Device* from = deviceAt(link["from"], "gpus.links[].from", node);
      Device* to = deviceAt(link["to"], "gpus.links[].to", node);
      const auto gbps = number(link["gbps"], "gpus.links[].gbps", kMaxGbps, std::nullopt);
      if (!link["type"].isNull() && !link["type"].isString()) {
        wrong("gpus.links[].type", link["type"], "write a text");
      }
      if (from == nullptr || to == nullptr) { continue; }
      if (from == to || !seen.insert(std::minmax(from->id, to->id)).second) {
        wrong("gpus.links[]", link, "name each pair of two GPUs once; a link counts both ways");
        continue;
      }
      from->links.push_back({to->id, gbps});
      to->links.push_back({from->id, gbps});
    }
    for (Device& d : node.devices) { std::sort(d.links.begin(), d.links.end()); }
  }

  void readHealth(const Value& v, SimNode& node) {
    for (const Value& one : list(v, "gpus.health")) {
      only(one, "gpus.health[]", {"id", "health", "reason"});
      Device* d = deviceAt(one["id"], "gpus.health[].id", node);
      const std::string_view health = one["health"].str();
      if (health != "Healthy" && health != "Unhealthy" && health != "Unknown") {
        wrong("gpus.health[].health", one["health"], "write Healthy, Unhealthy or Unknown");
      }
      if (!one["reason"].isNull() && !one["reason"].isString()) {
        wrong("gpus.health[].reason", one["reason"], "write a text");
      }
      if (d == nullptr) { continue; }
      d->health = health == "Healthy"     ? model::Health::Healthy
                  : health == "Unhealthy" ? model::Health::Unhealthy
                                          : model::Health::Unknown;
      d->health_reason = text(one["reason"]);
    }
  }

  /// The form of an NVIDIA UUID; the same for the same node and id on every run.
  static std::string uuidOf(const model::NodeName& node, int id) {
    const std::string hex = sha256Hex(fmt::format("{}/{}", node.text, id));
    return fmt::format("GPU-{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                       hex.substr(16, 4), hex.substr(20, 12));
  }

  std::string where_;
  std::string mistake_;
};

constexpr const char* kDefaultFile = R"({"nodes": [
  {"name": "node-a", "labels": {"gpu-type": "l40s", "topology": "pcie"},
   "gpus": {"count": 4, "model": "NVIDIA-L40S", "memoryMiB": 46068,
            "islands": [{"ids": [0, 1, 2, 3], "bandwidthGBps": 64}]}},
  {"name": "node-b", "labels": {"gpu-type": "a100", "topology": "nvlink"},
   "gpus": {"count": 8, "model": "NVIDIA-A100-SXM4-80GB", "memoryMiB": 81920,
            "islands": [{"ids": [0, 1, 2, 3], "bandwidthGBps": 600},
                        {"ids": [4, 5, 6, 7], "bandwidthGBps": 600}]}}]})";

}  // namespace

Result<std::vector<SimNode>> readNodeFile(const Value& file) {
  if (!file["nodes"].isArray()) {
    return fail(Code::Invalid, "node file: nodes is missing; write a list of nodes");
  }
  for (const auto& [name, value] : file.members()) {
    if (name != "nodes") {
      return fail(Code::Invalid,
                  fmt::format("node file: {} is {}; no such field; there is nodes", name, shownValue(value)));
    }
  }
  std::vector<SimNode> out;
  std::set<model::NodeName> names;
  for (const Value& v : file["nodes"].items()) {
    NodeReader reader{fmt::format("nodes[{}]", out.size())};
    out.push_back(reader.read(v));
    if (!reader.mistake().empty()) { return fail(Code::Invalid, reader.mistake()); }
    if (!names.insert(out.back().name).second) {
      return fail(Code::Invalid, fmt::format("node file: node {} is there twice; give each its own name",
                                             out.back().name.text));
    }
  }
  return out;
}

std::vector<SimNode> defaultNodes() { return readNodeFile(json::parse(kDefaultFile).value()).value(); }

std::string hostnameLabel(std::string_view node) {
  constexpr std::size_t kMostOfALabel = 63;
  const auto cut = node.substr(0, kMostOfALabel);
  return std::string{cut.substr(0, cut.find_last_not_of("-.") + 1)};
}

Value encodeNode(const SimNode& node) {
  std::map<std::string, std::string> labels{{"kubernetes.io/hostname", hostnameLabel(node.name.text)},
                                            {"kubernetes.io/os", "linux"},
                                            {"kubernetes.io/arch", "amd64"}};
  for (const auto& [key, value] : node.labels) { labels[key] = value; }
  auto allocatable = node.allocatable;
  auto capacity = node.allocatable;
  // A DRA driver's GPUs nobody counts.
  if (!node.devices.empty() &&
      node.enforcement !=
          Enforcement::Dra) {  // as the kubelet counts with a device plugin: unhealthy ones cannot be given
    const auto healthy = std::count_if(node.devices.begin(), node.devices.end(),
                                       [](const Device& d) { return d.health == model::Health::Healthy; });
    allocatable.try_emplace(model::kNvidiaGpu, std::to_string(healthy));
    capacity.try_emplace(model::kNvidiaGpu, std::to_string(node.devices.size()));
  }
  Value out = json::Object{{"apiVersion", "v1"}, {"kind", "Node"}};
  out.set("metadata", json::Object{{"name", node.name.text}, {"labels", json::fromStrings(labels)}});
  Value& spec = out.child("spec");
  spec = json::Object{};
  for (const auto& t : node.taints) {
    Value taint = json::Object{{"key", t.key}, {"effect", t.effect}};
    if (!t.value.empty()) { taint.set("value", t.value); }
    spec.child("taints").array().push_back(std::move(taint));
  }
  Value& status = out.child("status");
  status.set("capacity", json::fromStrings(capacity));
  status.set("allocatable", json::fromStrings(allocatable));
  status.child("conditions")
      .array()
      .emplace_back(json::Object{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}});
  return out;
}

}  // namespace gs::kapi
