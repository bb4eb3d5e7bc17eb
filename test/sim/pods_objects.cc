#include "test/sim/pods_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "test/world/objects.h"

namespace gs::sim {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kRequiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr int kGpusOfNode = 4;

std::string pick(Rng& rng, std::initializer_list<const char*> of) {
  return *(of.begin() + rng.below(of.size()));
}
unsigned pickPercent(Rng& rng, std::initializer_list<unsigned> of) {
  return *(of.begin() + rng.below(of.size()));
}
int upTo(Rng& rng, int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); }

std::string drawApp(Rng& rng) { return pick(rng, {"a", "b", "c"}); }

Value requirement(const char* key, const char* op, Array values) {
  Object out{{"key", key}, {"operator", op}};
  if (!values.empty()) { out["values"] = std::move(values); }
  return out;
}

/// `app` "": any of them.
Value drawSelector(Rng& rng, const std::string& app) {
  const std::string meant = app.empty() ? drawApp(rng) : app;
  switch (rng.below(6)) {
    case 0: return Object{{"matchExpressions", Array{requirement("app", "In", {meant, drawApp(rng)})}}};
    case 1:
      return Object{{"matchLabels", Object{{"app", meant}}},
                    {"matchExpressions", Array{requirement("tier", "NotIn", {"2"})}}};
    case 2:
      return Object{{"matchExpressions",
                     Array{requirement("app", "In", {meant}), requirement("tier", "DoesNotExist", {})}}};
    default: return Object{{"matchLabels", Object{{"app", meant}}}};
  }
}

Value drawTerm(Rng& rng, const std::string& app) {
  Object term{{"topologyKey", rng.chance(50) ? "kubernetes.io/hostname" : kZoneLabel},
              {"labelSelector", drawSelector(rng, app)}};
  switch (rng.below(8)) {
    case 0: term["namespaces"] = Array{"default", kOtherNamespace}; break;
    case 1: term["namespaceSelector"] = Object{{"matchLabels", Object{{"team", "t"}}}}; break;
    case 2: term["namespaceSelector"] = Object{}; break;
    default: break;
  }
  return term;
}

/// With itself among those that it means, mostly: then the first of its kind may go anywhere.
void addAffinity(Rng& rng, const PodHabits& habits, const std::string& app, Value& spec) {
  if (rng.chance(habits.apart)) {
    spec.child("affinity").child("podAntiAffinity") =
        Object{{kRequiredTerms, Array{drawTerm(rng, rng.chance(60) ? app : "")}}};
  }
  if (rng.chance(habits.near)) {
    spec.child("affinity").child("podAffinity") =
        Object{{kRequiredTerms, Array{drawTerm(rng, rng.chance(75) ? app : "")}}};
  }
}

void addSpread(Rng& rng, const PodHabits& habits, const std::string& app, Value& spec) {
  if (!rng.chance(habits.spread)) { return; }
  Array list;
  const int constraints = rng.chance(20) ? 2 : 1;
  for (int i = 0; i < constraints; ++i) {
    const bool by_zone = (i == 0) == rng.chance(65);
    Object one{{"topologyKey", by_zone ? kZoneLabel : "kubernetes.io/hostname"},
               {"maxSkew", 1 + upTo(rng, 2)},
               {"whenUnsatisfiable", "DoNotSchedule"},
               {"labelSelector", drawSelector(rng, app)}};
    if (rng.chance(20)) { one["minDomains"] = 2 + upTo(rng, 2); }
    if (rng.chance(30)) { one["nodeAffinityPolicy"] = "Ignore"; }
    if (rng.chance(30)) { one["nodeTaintsPolicy"] = "Honor"; }
    // No two of one topology key: the API server refuses these.
    const bool is_there = std::any_of(list.begin(), list.end(), [&](const Value& c) {
      return c["topologyKey"].str() == one["topologyKey"].str();
    });
    if (!is_there) { list.emplace_back(std::move(one)); }
  }
  spec.set("topologySpreadConstraints", std::move(list));
}

void addNodes(Rng& rng, const PodHabits& habits, Value& spec) {
  if (rng.chance(habits.tolerates)) {
    Object toleration{{"key", "dedicated"}, {"operator", "Exists"}};
    if (rng.chance(50)) { toleration = {{"key", "dedicated"}, {"operator", "Equal"}, {"value", "x"}}; }
    if (rng.chance(50)) { toleration["effect"] = "NoSchedule"; }
    spec.set("tolerations", Array{std::move(toleration)});
  }
  if (!rng.chance(habits.selects)) { return; }
  if (rng.chance(30)) {
    spec.set("nodeSelector", Object{{"disk", "ssd"}});
    return;
  }
  Array terms;
  switch (rng.below(4)) {
    case 0:
      terms.emplace_back(Object{{"matchExpressions", Array{requirement("disk", "In", {"ssd"})}}});
      break;
    case 1:
      terms.emplace_back(
          Object{{"matchExpressions", Array{requirement(kZoneLabel, "NotIn", {drawZone(rng)})}}});
      break;
    case 2:
      terms.emplace_back(Object{{"matchExpressions", Array{requirement("rack", "Gt", {"1"})}}});
      terms.emplace_back(Object{{"matchFields", Array{requirement("metadata.name", "In", {"n0"})}}});
      break;
    default:
      terms.emplace_back(Object{{"matchExpressions", Array{requirement("disk", "DoesNotExist", {})}}});
      break;
  }
  spec.child("affinity").child("nodeAffinity") =
      Object{{kRequiredTerms, Object{{"nodeSelectorTerms", std::move(terms)}}}};
}

void addPorts(Rng& rng, const PodHabits& habits, Value& container) {
  if (!rng.chance(habits.ports)) { return; }
  const int port = 8080 + upTo(rng, 2);
  Object one{{"containerPort", port}, {"hostPort", port}};
  if (rng.chance(25)) { one["protocol"] = "UDP"; }
  if (rng.chance(25)) { one["hostIP"] = pick(rng, {"10.0.0.1", "0.0.0.0"}); }
  container.set("ports", Array{std::move(one)});
}

Value drawAny(Rng& rng, const PodHabits& habits, const std::string& origin) {
  const std::string app = drawApp(rng);
  Object labels{{"app", app}, {"sim/origin", origin}};
  if (rng.chance(40)) { labels["tier"] = pick(rng, {"1", "2"}); }
  Value container = Object{{"name", "main"}, {"image", "cuda"}};
  if (rng.chance(habits.cpus)) {
    container.child("resources").child("requests") = Object{{"cpu", std::to_string(1 + upTo(rng, 8))}};
  }
  addPorts(rng, habits, container);
  Value spec = Object{{"schedulerName", "gpu-scheduler"}, {"restartPolicy", "Never"}};
  addAffinity(rng, habits, app, spec);
  addSpread(rng, habits, app, spec);
  addNodes(rng, habits, spec);
  if (rng.chance(habits.priority)) {
    spec.set("priorityClassName", pick(rng, {"low", "low", "mid", "high", "polite"}));
  }
  spec.set("containers", Array{std::move(container)});
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", Object{{"namespace", drawNamespace(rng)}, {"labels", std::move(labels)}}},
                {"spec", std::move(spec)}};
}

Value priorityClass(const char* name, int value, const char* policy) {
  return Object{{"apiVersion", "scheduling.k8s.io/v1"},
                {"kind", "PriorityClass"},
                {"metadata", Object{{"name", name}}},
                {"value", value},
                {"preemptionPolicy", policy}};
}

Value budget(const std::string& ns) {
  return Object{
      {"apiVersion", "policy/v1"},
      {"kind", "PodDisruptionBudget"},
      {"metadata", Object{{"name", "budget"}, {"namespace", ns}}},
      {"spec", Object{{"minAvailable", 1}, {"selector", Object{{"matchLabels", Object{{"app", "a"}}}}}}}};
}

}  // namespace

PodHabits drawHabits(Rng& rng) {
  PodHabits h;
  h.gpus = pickPercent(rng, {20, 40, 60});
  h.claims = pickPercent(rng, {0, 30});
  h.cpus = pickPercent(rng, {30, 60, 90});
  h.selects = pickPercent(rng, {0, 15, 30});
  h.tolerates = pickPercent(rng, {20, 50});
  h.apart = pickPercent(rng, {0, 20, 50});
  h.near = pickPercent(rng, {0, 10, 25});
  h.spread = pickPercent(rng, {0, 20, 50});
  h.ports = pickPercent(rng, {0, 15, 40});
  h.priority = pickPercent(rng, {0, 60, 90});
  return h;
}

std::string drawZone(Rng& rng) { return pick(rng, {"z1", "z2", "z3"}); }
std::string drawNamespace(Rng& rng) { return rng.chance(80) ? "default" : kOtherNamespace; }

std::vector<kapi::SimNode> drawNodes(Rng& rng) {
  std::vector<kapi::SimNode> out;
  const int nodes = 3 + upTo(rng, 6);
  const int zones = 2 + upTo(rng, 2);
  for (int i = 0; i < nodes; ++i) {
    kapi::SimNode n;
    n.name = model::NodeName{fmt::format("n{}", i)};
    n.allocatable = {{"cpu", "16"}, {"memory", "512Gi"}, {"pods", "110"}};
    n.labels = {{kZoneLabel, fmt::format("z{}", 1 + i % zones)}, {"rack", std::to_string(1 + i % 3)}};
    if (rng.chance(50)) { n.labels["disk"] = pick(rng, {"ssd", "hdd"}); }
    if (rng.chance(20)) { n.taints.push_back({"dedicated", "x", "NoSchedule"}); }
    const bool has_gpus = i == 0 || rng.chance(70);
    for (int gpu = 0; has_gpus && gpu < kGpusOfNode; ++gpu) {
      model::Device d;
      d.id = gpu;
      d.uuid = fmt::format("GPU-n{}-{}", i, gpu);
      d.model = "T";
      d.pci_bus_id = fmt::format("00000000:{:02x}:00.0", gpu + 1);
      d.memory_mib = 1024;
      d.island = "0";
      d.health = model::Health::Healthy;
      n.devices.push_back(std::move(d));
    }
    out.push_back(std::move(n));
  }
  return out;
}

std::vector<Value> clusterObjects() {
  std::vector<Value> out;
  out.emplace_back(
      Object{{"apiVersion", "v1"},
             {"kind", "Namespace"},
             {"metadata", Object{{"name", kOtherNamespace}, {"labels", Object{{"team", "t"}}}}}});
  out.push_back(priorityClass("low", 10, "PreemptLowerPriority"));
  out.push_back(priorityClass("mid", 100, "PreemptLowerPriority"));
  out.push_back(priorityClass("high", 1000, "PreemptLowerPriority"));
  out.push_back(priorityClass("polite", 500, "Never"));
  for (const std::string ns : {"default", kOtherNamespace}) {
    for (const int count : {1, 2}) {
      out.push_back(test::claim(fmt::format("gpus-{}", count), count, {}, ns));
    }
    out.push_back(budget(ns));
  }
  return out;
}

std::string budgetPath(const std::string& ns) {
  return fmt::format("/apis/policy/v1/namespaces/{}/poddisruptionbudgets/budget", ns);
}

Value drawPod(Rng& rng, const PodHabits& habits, const std::string& origin) {
  Value pod = drawAny(rng, habits, origin);
  if (!rng.chance(habits.gpus)) { return pod; }
  if (rng.chance(habits.claims)) {
    pod.child("metadata")
        .set("annotations", Object{{"gpu.scheduling/claim", fmt::format("gpus-{}", 1 + upTo(rng, 2))}});
    return pod;
  }
  Array containers = pod["spec"]["containers"].items();
  const int gpus = rng.chance(60) ? 1 : 1 + upTo(rng, kGpusOfNode);
  containers.front().child("resources").child("limits") = Object{{"nvidia.com/gpu", std::to_string(gpus)}};
  pod.child("spec").set("containers", std::move(containers));
  return pod;
}

Value drawTheirPod(Rng& rng, const PodHabits& habits, const std::string& origin) {
  Value pod = drawAny(rng, habits, origin);
  pod.child("spec").set("schedulerName", kTheirScheduler);
  return pod;
}

Value named(Value pod, const std::string& name) {
  pod.child("metadata").set("name", name);
  return pod;
}

}  // namespace gs::sim
