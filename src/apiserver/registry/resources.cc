#include "apiserver/registry/resources.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "apiserver/meta/event_form.h"
#include "apiserver/schema/builtin_types.h"
#include "apiserver/schema/crd_schema.h"
#include "base/ascii.h"
#include "base/percent.h"

namespace gs::apiserver {
namespace {

// group version plural Kind flags [short,names [categories]]; "-" stands for nothing; a line that begins with
// a space goes on with the one before.
// Flags: c cluster-scoped, s status subresource, r scale subresource, u upsert, p POST only. The type is
// called as the Kind in builtin_types.cc, unless another name follows it.
constexpr const char* kBuiltins = R"(
- v1 namespaces Namespace cs ns
- v1 pods Pod s po all
- v1 nodes Node cs no
- v1 configmaps ConfigMap - cm
- v1 serviceaccounts ServiceAccount - sa
- v1 secrets Secret -
- v1 services Service s svc all
- v1 persistentvolumes PersistentVolume cs pv
- v1 persistentvolumeclaims PersistentVolumeClaim s pvc
coordination.k8s.io v1 leases Lease u
- v1 bindings Binding p
- v1 events Event=CoreEvent u ev
events.k8s.io v1 events Event u ev
apiextensions.k8s.io v1 customresourcedefinitions CustomResourceDefinition=Crd cs crd,crds api-extensions
scheduling.k8s.io v1 priorityclasses PriorityClass c pc
policy v1 poddisruptionbudgets PodDisruptionBudget s pdb
discovery.k8s.io v1 endpointslices EndpointSlice -
admissionregistration.k8s.io v1 mutatingwebhookconfigurations MutatingWebhookConfiguration c - api-extensions
admissionregistration.k8s.io v1 validatingwebhookconfigurations ValidatingWebhookConfiguration c -
  api-extensions
admissionregistration.k8s.io v1 validatingadmissionpolicies ValidatingAdmissionPolicy cs - api-extensions
admissionregistration.k8s.io v1 validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding c -
  api-extensions
networking.k8s.io v1 networkpolicies NetworkPolicy - netpol
apps v1 daemonsets DaemonSet s ds all
apps v1 controllerrevisions ControllerRevision -
apps v1 deployments Deployment sr deploy all
apps v1 replicasets ReplicaSet sr rs all
apps v1 statefulsets StatefulSet sr sts all
batch v1 jobs Job s - all
rbac.authorization.k8s.io v1 clusterroles ClusterRole c
rbac.authorization.k8s.io v1 clusterrolebindings ClusterRoleBinding c
rbac.authorization.k8s.io v1 roles Role -
rbac.authorization.k8s.io v1 rolebindings RoleBinding -
storage.k8s.io v1 storageclasses StorageClass c sc
storage.k8s.io v1 csinodes CSINode c
storage.k8s.io v1 csidrivers CSIDriver c
storage.k8s.io v1 csistoragecapacities CSIStorageCapacity -
storage.k8s.io v1 volumeattachments VolumeAttachment cs
resource.k8s.io v1 resourceclaims ResourceClaim s
resource.k8s.io v1 resourceclaimtemplates ResourceClaimTemplate -
resource.k8s.io v1 deviceclasses DeviceClass c
resource.k8s.io v1 resourceslices ResourceSlice c
resource.k8s.io v1 devicetaintrules DeviceTaintRule cs
authorization.k8s.io v1 selfsubjectaccessreviews SelfSubjectAccessReview cp
authorization.k8s.io v1 selfsubjectrulesreviews SelfSubjectRulesReview cp
authentication.k8s.io v1 selfsubjectreviews SelfSubjectReview cp
)";

Resource builtinOf(const std::string& line) {
  std::istringstream words{line};
  std::string group;
  std::string flags;
  std::string shorts;
  std::string categories;
  Resource r;
  words >> group >> r.version >> r.plural >> r.kind >> flags >> shorts >> categories;
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  r.group = group == "-" ? "" : group;
  r.namespaced = !has('c');
  r.has_status = has('s');
  r.scales = has('r');
  r.upsert = has('u');
  r.create_only = has('p');
  const auto other = r.kind.find('=');
  r.schema = builtinType(other == std::string::npos ? r.kind : r.kind.substr(other + 1));
  r.kind = r.kind.substr(0, other);
  r.singular = inLowerCase(r.kind);
  r.list_kind = r.kind + "List";
  r.short_names = commaList(shorts == "-" ? "" : shorts);
  r.categories = commaList(categories);
  return r;
}

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  for (const auto& item : list.items()) { out.emplace_back(item.str()); }
  return out;
}

}  // namespace

const Resource& scaleType() {
  static const Resource kType = builtinOf("autoscaling v1 scales Scale -");
  return kType;
}

Query readQuery(std::string_view target) {
  const auto mark = target.find('?');
  std::string_view text = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
  Query out;
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto part = text.substr(0, end);
    const auto eq = part.find('=');
    if (!part.empty()) {
      out[percentDecode(part.substr(0, eq), true)] =
          eq == std::string_view::npos ? "" : percentDecode(part.substr(eq + 1), true);
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out;
}

bool isTrue(const Query& query, const std::string& flag) {
  const auto it = query.find(flag);
  return it != query.end() && it->second != "0" && inLowerCase(it->second) != "false";
}

std::string valueOf(const Query& query, const std::string& key) {
  const auto it = query.find(key);
  return it == query.end() ? std::string{} : it->second;
}

bool isWatch(const Route& route) {
  return isTrue(route.query, "watch") && route.name.empty() && !route.resource->create_only;
}

Resources::Resources() {
  for (const auto& line : foldedLines(kBuiltins)) {
    Resource r = builtinOf(line);
    std::pair key{r.group, r.plural};
    all_.emplace(std::move(key), std::move(r));
  }
}

const Resource* Resources::find(std::string_view group, std::string_view plural) const {
  const auto it = all_.find(std::pair{std::string{group}, std::string{plural}});
  return it == all_.end() ? nullptr : &it->second;
}

const Resource* Resources::stored(std::string_view id) const {
  const auto slash = std::min(id.find('/'), id.size());
  return find(id.substr(0, slash), id.substr(std::min(slash + 1, id.size())));
}

const Resource* Resources::ofKind(std::string_view api_version, std::string_view kind) const {
  for (const auto& [key, r] : all_) {
    if (r.apiVersion() == api_version && r.kind == kind) { return &r; }
  }
  return nullptr;
}

void Resources::serve(const json::Value& crd) {
  const auto& spec = crd["spec"];
  const auto& names = spec["names"];
  if (const auto* there = find(spec["group"].str(), names["plural"].str()); there && !there->custom) {
    return;
  }
  for (const auto& version : spec["versions"].items()) {
    if (!version["served"].boolOr(false)) { continue; }
    Resource r;
    r.group = spec["group"].str();
    r.version = version["name"].str();
    r.plural = names["plural"].str();
    r.kind = names["kind"].str();
    r.namespaced = spec["scope"].str() == "Namespaced";
    r.custom = true;
    r.has_status = version["subresources"].find("status") != nullptr;
    r.scales = version["subresources"].find("scale") != nullptr;
    const auto* before = find(r.group, r.plural);
    const auto& schema = version["schema"]["openAPIV3Schema"];
    r.schema = before != nullptr && before->openapi == schema ? before->schema : compileCrdSchema(schema);
    r.columns = version["additionalPrinterColumns"];
    r.openapi = version["schema"]["openAPIV3Schema"];
    r.singular = names["singular"].str();
    r.list_kind = names["listKind"].str();
    r.short_names = texts(names["shortNames"]);
    r.categories = texts(names["categories"]);
    ++changes_;
    all_[{r.group, r.plural}] = std::move(r);
    return;
  }
}

void Resources::forget(const json::Value& crd) {
  const auto it = all_.find(
      std::pair{std::string{crd["spec"]["group"].str()}, std::string{crd["spec"]["names"]["plural"].str()}});
  if (it == all_.end() || !it->second.custom) { return; }
  ++changes_;
  forgotten_.push_back(all_.extract(it));
}

bool Resources::servesBuiltins(std::string_view group, std::string_view version) const {
  return std::any_of(all_.begin(), all_.end(), [&](const auto& entry) {
    const Resource& r = entry.second;
    return r.group == group && r.version == version && !r.custom;
  });
}

Answer<Route> Resources::route(std::string_view target) const {
  const auto mark = target.find('?');
  Route out;
  out.query = readQuery(target);
  std::vector<std::string> steps;
  for (std::string_view path = target.substr(0, mark); !path.empty();) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) { steps.push_back(percentDecode(path.substr(0, end))); }
    path.remove_prefix(end);
  }
  std::size_t at = 0;
  std::string group;
  if (steps.size() > 2 && steps[0] == "api" && steps[1] == "v1") {
    at = 2;
  } else if (steps.size() > 3 && steps[0] == "apis") {
    group = steps[1];
    at = 3;
  } else {
    return noSuchPage();
  }
  const bool scoped =
      steps[at] == "namespaces" && steps.size() > at + 2 && !(group.empty() && steps[at + 2] == "status");
  if (scoped) {
    out.ns = steps[at + 1];
    at += 2;
  }
  out.resource = find(group, steps[at]);
  const std::string version = steps[at - (scoped ? 2 : 0) - 1];
  if (out.resource == nullptr || out.resource->version != version || (scoped && !out.resource->namespaced)) {
    return servesBuiltins(group, version) ? Answer<Route>{noSuchResource()} : noSuchPage();
  }
  if (steps.size() > at + 1) { out.name = steps[at + 1]; }
  if (steps.size() > at + 2) { out.subresource = steps[at + 2]; }
  if (steps.size() > at + 3 || (!out.name.empty() && out.resource->namespaced && out.ns.empty())) {
    return noSuchResource();
  }
  return out;
}

json::Value shown(const Resource& r, const json::Value& object) {
  return r.coreEvents() ? toCoreEvent(object) : object;
}

}  // namespace gs::apiserver
