#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/dns_name.h"
#include "base/mutant.h"
#include "base/sort_unique.h"
#include "base/utf8.h"
#include "kapi/decode.h"
#include "kapi/decode_node_affinity.h"
#include "kapi/decode_pod_affinity.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/pod_requests.h"
#include "kapi/pod_volumes.h"
#include "kapi/quantity.h"
#include "kapi/time.h"
#include "model/annotations.h"
#include "model/cache_volume.h"
#include "model/disruption.h"
#include "model/gate.h"
#include "model/told.h"

namespace gs::kapi {
namespace {

using json::View;

// What one pod may cost those who decide; no pod that is meant well comes near.
constexpr std::size_t kMaxEntries = 256;     // of a list or map that each node is compared with
constexpr std::size_t kMaxPorts = 4096;      // of one that runs; its kubelet takes no pod beside the rest
constexpr std::size_t kMaxUnsupported = 16;  // that it is told
constexpr std::size_t kMaxNameShown = 63;    // of a container's name, and of what it is told

model::PodPhase phaseOf(std::string_view text) {
  if (text == "Running") { return model::PodPhase::Running; }
  if (text == "Succeeded") { return model::PodPhase::Succeeded; }
  if (text == "Failed") { return model::PodPhase::Failed; }
  if (text == "Unknown") { return model::PodPhase::Unknown; }
  return model::PodPhase::Pending;
}

/// A toleration with an operator that we do not know tolerates nothing. Lt and Gt count wherever they stand:
/// an API server that does not serve them (KEP-5471) takes no such pod.
std::vector<model::Toleration> tolerationsOf(const View& spec) {
  using Than = model::Toleration::Than;
  std::vector<model::Toleration> out;
  for (const View t : spec["tolerations"].items()) {
    const std::string_view op = t["operator"].str();
    const bool compares = op == "Lt" || op == "Gt";
    if (!op.empty() && op != "Equal" && op != "Exists" && !compares) { continue; }
    const Than than = op == "Lt" ? Than::Below : op == "Gt" ? Than::Above : Than::Equal;
    out.push_back({text(t["key"]), text(t["value"]), text(t["effect"]), op == "Exists", than});
  }
  return out;
}

/// A pod with so many entries is not placed at all: to look at a part of them only might place it wrongly.
void addTooMany(const model::Pod& pod, std::set<std::string>& out) {
  const auto look = [&](const char* field, std::size_t entries) {
    if (entries > kMaxEntries) {
      out.insert(fmt::format("{} with more than {} entries ({})", field, kMaxEntries, entries));
    }
  };
  look("spec.tolerations", pod.tolerations.size());
  look("spec.nodeSelector", pod.node_selector.size());
  look("spec.containers[].resources", pod.requests.extended.size());
  look("spec.resourceClaims", pod.claims.size());
  look("spec.containers[].ports[].hostPort", pod.host_ports.size());
}

/// Native pod groups, of Kubernetes 1.36 on and as 1.35 has them: whoever placed their pods one by one would
/// break what a group is for.
void addGroups(const View& spec, std::set<std::string>& out) {
  for (const char* field : {"schedulingGroup", "workloadRef"}) {
    if (spec[field].isObject()) { out.insert(fmt::format("spec.{}", field)); }
  }
}

/// Keeps a bounded number of kinds of resources, since every node is asked for each. No node offers more.
/// GPUs are always among those that are kept.
void boundKinds(model::Resources& r) {
  if (r.extended.size() <= kMaxEntries) { return; }
  std::map<std::string, std::int64_t> kept{r.extended.begin(), std::next(r.extended.begin(), kMaxEntries)};
  for (const char* name : model::kGpuResources) {
    if (const std::int64_t amount = r.get(name); amount != 0) { kept[name] = amount; }
  }
  r.extended = std::move(kept);
}

/// Of several entries of one name the last counts.
View entryOf(const View& container, std::string_view name) {
  View out;
  for (const View e : container["env"].items()) {
    if (e["name"].str() == name) { out = e; }
  }
  return out;
}

/// The entry that says which GPUs a container sees.
View toldBy(const View& container) { return entryOf(container, model::kToldVariable); }

/// It stands there itself. (A server leaves an empty value out.)
bool isLiteral(const View& entry) { return entry.isObject() && !entry["valueFrom"].isObject(); }

bool isTold(const View& container, bool by_value) {
  static const std::string kPath = model::toldPath();
  const View entry = toldBy(container);
  return entry["valueFrom"]["fieldRef"]["fieldPath"].str() == kPath || (by_value && isLiteral(entry));
}

std::string nameOf(const View& container) {
  return std::string{utf8Prefix(container["name"].str(), kMaxNameShown)};
}

template <class Visit>
void eachContainer(const View& spec, const Visit& visit) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const View container : spec[list].items()) { visit(container); }
  }
}

std::string untoldOf(const View& spec, bool by_value) {
  std::string first;
  std::size_t more = 0;
  eachContainer(spec, [&](const View& container) {
    if (isTold(container, by_value)) { return; }
    if (first.empty()) {
      first = nameOf(container);
    } else {
      ++more;
    }
  });
  return more == 0 ? first : fmt::format("{} and {} more", first, more);
}

std::string toldOtherwise(const View& spec, const model::Pod& pod) {
  std::string out;
  eachContainer(spec, [&](const View& container) {
    const View entry = toldBy(container);
    if (!out.empty() || !isLiteral(entry) || !model::saysOthers(pod, entry["value"].str())) { return; }
    out = fmt::format("container {} was told {}=\"{}\"", nameOf(container), model::kToldVariable,
                      utf8Prefix(entry["value"].str(), kMaxNameShown));
  });
  return out;
}

std::string countsOtherwise(const View& spec, bool by_value) {
  std::string out;
  eachContainer(spec, [&](const View& container) {
    const View order = entryOf(container, model::kOrderVariable);
    const bool is_other = isLiteral(order) && order["value"].str() != model::kOrderOfIds;
    if (!out.empty() || !is_other || !isTold(container, by_value)) { return; }
    out = fmt::format("container {} sets {}=\"{}\"", nameOf(container), model::kOrderVariable,
                      utf8Prefix(order["value"].str(), kMaxNameShown));
  });
  return out;
}

/// Of a pod whose name and node are read. What all pods of a set have may be large.
void readAnnotations(const View& annotations, const View& spec, model::Pod& pod) {
  for (const auto [key, value] : annotations.members()) {
    if (!model::isReadAnnotation(key) || !value.isString()) { continue; }
    pod.annotations.try_emplace(std::string{key}, model::keptOf(pod, key, value.str()));
  }
  if (pod.annotations.empty()) { return; }
  const bool by_value = model::isToldByValue(pod);
  pod.untold = untoldOf(spec, by_value);
  pod.counts_otherwise = countsOtherwise(spec, by_value);
  if (by_value && !pod.bound()) { pod.told_otherwise = toldOtherwise(spec, pod); }
}

/// Limits only: what kubelets and their device plugins look at.
model::ShareAmounts sharesOf(const View& container) {
  const View limits = container["resources"]["limits"];
  model::ShareAmounts amounts{};
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    amounts[i] = unitsOf(limits[model::kShareResources[i]]).value_or(0);
  }
  return amounts;
}

std::vector<model::ShareAmounts> shareLimits(const View& spec) {
  std::vector<model::ShareAmounts> out;
  for (const View container : spec["containers"].items()) { out.push_back(sharesOf(container)); }
  return out;
}

std::vector<model::InitShares> initShareLimits(const View& spec) {
  std::vector<model::InitShares> out;
  for (const View container : spec["initContainers"].items()) {
    out.push_back({sharesOf(container), container["restartPolicy"].str() == "Always"});
  }
  const bool any = std::any_of(out.begin(), out.end(), [](const model::InitShares& init) {
    return init.amounts != model::ShareAmounts{} && !GS_MUTANT(ForgetsInitShares);
  });
  return any ? std::move(out) : std::vector<model::InitShares>{};
}

/// Of a pod that asks for such GPUs.
std::vector<model::GpuLimit> gpuLimits(const View& spec) {
  using Of = model::GpuLimit::Of;
  std::vector<model::GpuLimit> out;
  const auto add = [&](const View& container, Of of) {
    const auto count = unitsOf(container["resources"]["limits"][model::kNvidiaGpu]).value_or(0);
    if (count > 0) { out.push_back({text(container["name"]), count, of}); }
  };
  for (const View container : spec["initContainers"].items()) {
    add(container, container["restartPolicy"].str() == "Always" ? Of::Sidecar : Of::Init);
  }
  for (const View container : spec["containers"].items()) { add(container, Of::Container); }
  return out;
}

model::MappedLimits mappedLimits(const View& v) {
  model::MappedLimits out;
  out.claim = text(v["resourceClaimName"]);
  for (const View m : v["requestMappings"].items()) {
    out.mappings.push_back({text(m["containerName"]), text(m["resourceName"]), text(m["requestName"])});
  }
  sortUnique(out.mappings);
  return out;
}

/// Those that it needs, each once, whatever names it has there: of a template that needs none, status names
/// an entry without a claim.
std::vector<model::PodClaim> podClaims(const View& spec, const View& status) {
  std::vector<model::PodClaim> out;
  std::set<std::string> seen;
  std::map<std::string, std::string> made;  // claims of templates, by the pod's names of them
  for (const View one : status["resourceClaimStatuses"].items()) {
    made.emplace(text(one["name"]), text(one["resourceClaimName"]));
  }
  for (const View entry : spec["resourceClaims"].items()) {
    model::PodClaim one{text(entry["name"]), text(entry["resourceClaimName"]), false};
    one.is_its = one.claim.empty();
    bool is_needed = true;
    const auto named = one.is_its ? made.find(one.name) : made.end();
    if (named != made.end()) {
      one.claim = named->second;
      is_needed = !one.claim.empty();
    }
    const bool is_known = !one.claim.empty() && !seen.insert(one.claim).second;
    if (is_needed && !is_known) { out.push_back(std::move(one)); }
  }
  return out;
}

/// A negative amount asks too: it is refused (sched/doors/vcuda.cc).
bool asksForShares(const model::Resources& requests) {
  return std::any_of(model::kShareResources.begin(), model::kShareResources.end(),
                     [&](const char* name) { return requests.get(name) != 0; });
}

/// How a pod names its group: for Volcano, in two forms, and for the coscheduling plugin of kube-scheduler.
std::string gangOf(const View& meta) {
  for (const char* key : {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
    if (const View name = meta["annotations"][key]; !name.str().empty()) { return text(name); }
  }
  return text(meta["labels"]["scheduling.x-k8s.io/pod-group"]);
}

/// A name that no cache can have is none: it would come among those of others (kcache/kinds/first.h). Where
/// the attribute names another namespace the driver refuses the volume, so no node is better for it.
std::vector<model::ObjectKey> kernelCaches(const View& spec, const std::string& own_ns) {
  std::vector<model::ObjectKey> out;
  for (const View volume : spec["volumes"].items()) {
    const View csi = volume["csi"];
    if (csi["driver"].str() != model::kCacheDriver) { continue; }
    const std::string_view name = csi["volumeAttributes"][model::kCacheAttribute].str();
    const View ns = csi["volumeAttributes"][model::kCacheNamespaceAttribute];
    const bool is_its_own = ns.isNull() || ns.str() == own_ns;
    if (!isDnsSubdomain(name) || !is_its_own) { continue; }
    out.push_back({ns.isNull() ? std::string{} : own_ns, std::string{name}});
  }
  sortUnique(out);
  if (out.size() > model::kMostKernelCaches) { out.resize(model::kMostKernelCaches); }
  return out;
}

/// It has a volume that only the agent of its node serves.
bool hasGate(const View& spec) {
  const auto volumes = spec["volumes"].items();
  return std::any_of(volumes.begin(), volumes.end(),
                     [](const View& volume) { return volume["csi"]["driver"].str() == model::kGateDriver; });
}

bool hasTrueCondition(const View& status, std::initializer_list<std::string_view> types) {
  for (const View c : status["conditions"].items()) {
    if (c["status"].str() == "True" &&
        std::find(types.begin(), types.end(), c["type"].str()) != types.end()) {
      return true;
    }
  }
  return false;
}

bool isTerminated(const View& container) { return container["state"]["terminated"].isObject(); }

/// Every container of every kind was reported, and as terminated. One that waits may have been started since,
/// by a kubelet that is silent now.
bool allReportedTerminated(const View& spec, const View& status) {
  static constexpr std::array<std::pair<const char*, const char*>, 3> kLists{
      {{"containers", "containerStatuses"},
       {"initContainers", "initContainerStatuses"},
       {"ephemeralContainers", "ephemeralContainerStatuses"}}};
  return std::all_of(kLists.begin(), kLists.end() - (GS_MUTANT(IgnoresSidecars) ? 2 : 0),
                     [&](const auto& list) {
                       const auto& reported = status[list.second].items();
                       return reported.size() >= spec[list.first].items().size() &&
                              std::all_of(reported.begin(), reported.end(), isTerminated);
                     });
}

/// No container was ever reported, because the kubelet did not take the pod. The pod garbage collector and
/// the node's controller fail pods too, of nodes that went or are silent: they know nothing of containers.
bool isRefused(const View& status, model::PodPhase phase) {
  const std::string_view reason = status["reason"].str();
  return phase == model::PodPhase::Failed && !reason.empty() && reason != "NodeLost" &&
         !hasTrueCondition(status, {"DisruptionTarget"});
}

bool containersTerminated(const View& spec, const View& status, model::PodPhase phase) {
  for (const char* list : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    if (!status[list].items().empty()) { return allReportedTerminated(spec, status); }
  }
  // A pod that got past its init containers had some all the same.
  const bool had_some = hasTrueCondition(status, {"Initialized", "ContainersReady", "Ready"});
  return !had_some && (phase == model::PodPhase::Succeeded || isRefused(status, phase));
}

void readStatus(const View& spec, const View& status, model::Pod& pod) {
  pod.phase = phaseOf(status["phase"].str());
  pod.containers_terminated = containersTerminated(spec, status, pod.phase);
  pod.containers_reported_terminated =
      spec["restartPolicy"].str() == "Never" && allReportedTerminated(spec, status);
  pod.ready = hasTrueCondition(status, {"Ready"});
  pod.awaits_devices =
      pod.bound() && pod.phase == model::PodPhase::Pending &&
      (status["extendedResourceClaimStatus"].isObject() || !spec["resourceClaims"].items().empty()) &&
      !status["startTime"].isNull() && !hasTrueCondition(status, {"PodReadyToStartContainers"});
  pod.started = parseTime(status["startTime"].str()).value_or(Wall{});
  if (!pod.bound()) { pod.nominated = model::NodeName{status["nominatedNodeName"].str()}; }
  for (const View c : status["conditions"].items()) {
    if (c["type"].str() == "DisruptionTarget") {
      pod.preempted = c["status"].str() == "True" && c["reason"].str() == model::kPreemptionReason;
    }
    if (c["type"].str() != "PodScheduled") { continue; }
    if (c["status"].str() == "True") {
      pod.bound_at = parseTime(c["lastTransitionTime"].str()).value_or(Wall{});
    }
    if (pod.bound()) { continue; }
    pod.scheduled = model::ScheduledCondition{text(c["status"]), text(c["reason"]), text(c["message"])};
  }
}

constexpr KindInfo kPodInfo{"", "v1", "pods", "Pod", true, decodedBy<decodePod>};

}  // namespace

constinit const Kind kPod{kPodInfo};

model::Pod decodePod(const View& v) {
  const View meta = v["metadata"];
  const View spec = v["spec"];
  model::Pod pod;
  pod.key = objectKey(v);
  pod.uid = uidField(v);
  pod.revision = objectRevision(v);
  pod.created = parseTime(meta["creationTimestamp"].str()).value_or(Wall{});
  pod.deleting = !meta["deletionTimestamp"].isNull();
  const std::string_view generated_from = meta["generateName"].str();
  if (pod.key.name.starts_with(generated_from) && generated_from.size() <= UINT8_MAX) {
    pod.generated = static_cast<std::uint8_t>(generated_from.size());
  }
  pod.is_agent = meta["labels"]["app"].str() == "gpu-scheduler-agent";
  pod.scheduler_name = text(spec["schedulerName"]);
  if (pod.scheduler_name.empty()) { pod.scheduler_name = "default-scheduler"; }
  pod.node = model::NodeName{spec["nodeName"].str()};
  readAnnotations(meta["annotations"], spec, pod);
  const std::int64_t priority = spec["priority"].intOr(0);
  pod.priority = static_cast<std::int32_t>(std::clamp<std::int64_t>(priority, INT32_MIN, INT32_MAX));
  pod.preempts = spec["preemptionPolicy"].str() != "Never";
  std::set<std::string> unsupported;
  PodRequests requests = podRequests(v, unsupported);
  pod.requests = std::move(requests.now);
  pod.requests_until_36 = std::move(requests.until_36);
  readPodVolumes(spec, pod, unsupported);
  if (asksForShares(pod.requests)) {
    pod.share_limits = shareLimits(spec);
    pod.init_share_limits = initShareLimits(spec);
    pod.taken_by_kubelet = !v["status"]["startTime"].str().empty();
    pod.gang = gangOf(meta);  // also where nodeName is what Volcano means to do
  }
  pod.host_ports = hostPortsOf(spec);
  pod.labels = podLabels(meta["labels"]);
  pod.claims = podClaims(spec, v["status"]);
  if (pod.bound()) {
    readAffinityOfBound(spec, pod);
    if (pod.host_ports.size() > kMaxPorts) { pod.host_ports.change().resize(kMaxPorts); }
  } else {
    readPodAffinity(spec, pod, unsupported);
    if (pod.spread.empty()) { pod.controller = controllerOf(meta); }
    pod.node_selector = stringMap(spec["nodeSelector"]);
    pod.node_affinity = nodeAffinityOf(spec, unsupported);
    pod.node_features = nodeFeaturesOf(spec);
    pod.tolerations = tolerationsOf(spec);
    pod.kernel_caches = kernelCaches(spec, pod.key.ns);
    pod.has_gate = hasGate(spec);
    if (pod.requests.get(model::kNvidiaGpu) > 0) { pod.gpu_limits = gpuLimits(spec); }
    pod.mapped = mappedLimits(v["status"]["extendedResourceClaimStatus"]);
    for (const View gate : spec["schedulingGates"].items()) {
      pod.scheduling_gates.push_back(text(gate["name"]));
    }
    addTooMany(pod, unsupported);
    addGroups(spec, unsupported);
    std::vector<std::string> some{unsupported.begin(), unsupported.end()};
    if (some.size() > kMaxUnsupported) { some.resize(kMaxUnsupported); }
    pod.unsupported = std::move(some);
  }
  boundKinds(pod.requests);
  readStatus(spec, v["status"], pod);
  return pod;
}

}  // namespace gs::kapi
