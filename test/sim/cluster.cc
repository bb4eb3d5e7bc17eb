#include "test/sim/cluster.h"

#include <fmt/format.h>

#include "test/world/objects.h"

namespace gs::sim {

using json::Object;
using json::Value;

Value claimObject(int which, const std::string& ns) {
  switch (which) {
    case 0: return test::claim("one", 1, {}, ns);
    case 1: return test::claim("two", 2, {}, ns);
    case 2: return test::claim("shared", 1, {{"exclusivity", "Shared"}}, ns);
    case 3: {
      Value near = test::claim("near", 2, {}, ns);
      near.child("spec").set("topology", Object{{"mode", "Required"}, {"minBandwidthGBps", 100}});
      return near;
    }
    default: return test::claim("late", 1, {}, ns);
  }
}
namespace {

/// Its container asks for so much of that, too.
Value asking(Value pod, const char* resource, const char* amount) {
  Value& container = pod.child("spec").child("containers").array().at(0);
  container.child("resources").set("requests", Object{{resource, amount}});
  return pod;
}
Value withSidecar(Value pod) {
  pod.child("spec").set(
      "initContainers",
      json::Array{Value{Object{{"name", "side"}, {"image", "cuda"}, {"restartPolicy", "Always"}}}});
  return pod;
}
Value tolerating(Value pod) {
  pod.child("spec").set("tolerations", json::Array{Value{Object{{"key", "sim"}, {"operator", "Exists"}}}});
  return pod;
}

}  // namespace

Value podObject(int slot, int flavour) {
  const std::string name = podName(slot);
  const std::string ns = kNamespaces[slot % 2];
  switch (flavour) {
    case 0:
    case 1: return test::pod(name, "one", 0, ns);
    case 2:
    case 3: return test::pod(name, "two", 0, ns);
    case 4: return test::pod(name, "shared", 0, ns);
    case 5: return test::pod(name, "near", 0, ns);
    case 6: return test::pod(name, "late", 0, ns);
    case 7: return test::pod(name, "", 1, ns);
    case 8: return test::pod(name, "", 2, ns);
    case 11: return withSidecar(test::pod(name, "one", 0, ns));
    case 12: return asking(test::pod(name, "one", 0, ns), "cpu", "24");
    case 13: return asking(test::pod(name, "", 0, ns), "cpu", "40");
    case 15: return asking(test::pod(name, "one", 0, ns), "memory", "200Gi");
    case 16: return asking(test::pod(name, "", 0, ns), "memory", "320Gi");
    case 14: return tolerating(test::pod(name, "one", 0, ns));
    case 9: {  // another scheduler's, which counts GPUs and names none
      Value theirs = test::pod(name, "", 1, ns);
      theirs.child("spec").set("schedulerName", "default-scheduler");
      return theirs;
    }
    default: return test::pod(name, "", 0, ns);
  }
}

Value withOwnVariables(Value pod, int which) {
  if (!pod["metadata"]["annotations"].find("gpu.scheduling/claim")) { return pod; }
  const Value refers = Object{{"name", kRefers}, {"value", "$(CUDA_VISIBLE_DEVICES)"}};
  const Value fastest = Object{{"name", "CUDA_DEVICE_ORDER"}, {"value", "FASTEST_FIRST"}};
  const Value from_name = Object{{"name", "CUDA_DEVICE_ORDER"},
                                 {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", "metadata.name"}}}}}};
  const Value others = Object{{"name", "CUDA_VISIBLE_DEVICES"}, {"value", "9"}};
  const json::Array kinds[] = {
      {}, {refers}, {fastest, refers}, {refers, others, from_name}, {others, refers}};
  const json::Array& env = kinds[which % 5];
  if (env.empty()) { return pod; }
  for (const char* list : {"initContainers", "containers"}) {
    if (!pod["spec"][list].isArray()) { continue; }
    for (Value& container : pod.child("spec").child(list).array()) { container.set("env", env); }
  }
  return pod;
}

std::vector<model::Device> gpus(int node, int count) {
  std::vector<model::Device> out;
  for (int i = 0; i < count; ++i) {
    model::Device d;
    d.id = i;
    d.uuid = fmt::format("GPU-{}-{}", node, i);
    d.health = model::Health::Healthy;
    d.island = "0";
    d.bandwidth_gbps = node == 0 ? 0 : 300;
    out.push_back(d);
  }
  return out;
}

std::string nodeName(int node) { return fmt::format("n-{}", node); }
std::string podName(int slot) {
  return slot >= kFirstMapped && slot < kFirstMapped + kMappedSlots
             ? fmt::format("m-{}", (slot - kFirstMapped) / 2)
             : fmt::format("p{}", slot / 2);
}

std::string logicalName(int which) {
  return which < kNodes ? nodeName(which) : which < 5 ? fmt::format("gpus{}", which) : "nowhere";
}

namespace {

constexpr const char* kMappedGpus[] = {"0",   "1",   "0,1", "2,1", "0", "2",    "",  // well
                                       "0,9", "0,x", "1,1", "3/0", "",  "0,1 ", "-1"};
constexpr int kWellMapped = 7;

/// With lines that are passed over, or that end the reading.
std::string oddMap(int ordinal, const std::string& node, int which) {
  switch (which) {
    case 14: return fmt::format("{}=n-1:3\n +{} = {} : 1, 0 \n", ordinal, ordinal, node);  // the last counts
    case 15:
      return fmt::format("{}={}:0\nno mark\nx=n-0:0\n{}=n-2:3\n", ordinal, node, ordinal);  // the first
    case 16: return fmt::format("99999999999999999999=n-1:0\n{}=n-2\n0_0{}={}:2\n", ordinal, ordinal, node);
    default: return fmt::format("=n-1:0\n{}={}:0\n", ordinal, node);  // none does
  }
}

}  // namespace

std::string mapText(int slot, int name, int which) {
  const int ordinal = (slot - kFirstMapped) / 2;
  if (which == 11) { return fmt::format("{}=n-0:0\n", ordinal + 1); }
  if (which >= 14) { return oddMap(ordinal, logicalName(name), which); }
  return fmt::format("{}=n-1:0\n{}={}:{}\n{}=n-2:0,1\n", ordinal + 1, ordinal, logicalName(name),
                     kMappedGpus[which], ordinal + 2);
}

Value mappedPodObject(int slot, int name, int which) {
  Value pod = test::mappedPod(podName(slot), mapText(slot, name, which), kNamespaces[slot % 2]);
  if (slot % 4 < 2 && which < kWellMapped) {  // as the webhook tells it
    const Object told{{"name", "CUDA_VISIBLE_DEVICES"}, {"value", kMappedGpus[which]}};
    for (Value& container : pod.child("spec").child("containers").array()) {
      container.set("env", json::Array{told});
    }
  }
  return pod;
}
std::string podPath(int slot) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", kNamespaces[slot % 2], podName(slot));
}

std::string modelOf(const std::string& node) { return node == "n-0" ? kModels[0] : kModels[1]; }

kapi::SimNode simNode(int node, bool enforced) {
  kapi::SimNode n;
  if (!enforced && node % 2 == 1) { n.enforcement = model::Enforcement::Env; }
  n.labels["gaia.tencent.com/gpu-model"] = modelOf(nodeName(node));
  n.name = model::NodeName{nodeName(node)};
  n.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  n.devices = gpus(node, node == 0 ? 2 : node < kNodes ? 4 : 8);
  return n;
}

sandbox::World::Options optionsOf(const Plan& plan) {
  sandbox::World::Options options;
  options.seed = plan.seed;
  options.agents = plan.agents;
  options.told_uuids = plan.has(Feature::Uuids);
  options.webhook = plan.has(Feature::Webhook);
  options.own_pods = plan.has(Feature::Ends);
  options.nodes.clear();
  const int nodes = plan.has(Feature::Large) ? kNodes + kLargeNodes : kNodes;
  for (int i = 0; i < nodes; ++i) { options.nodes.push_back(simNode(i, !plan.has(Feature::Unenforced))); }
  return options;
}

}  // namespace gs::sim
