#include "apiserver/admission/plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Said = std::optional<AdmissionResponse>;

Said allowed() { return AdmissionResponse{}; }

Said refusedWith(Refused refused) {
  AdmissionResponse response;
  response.refused = std::move(refused.value());
  return response;
}

/// A pod as such is created or updated.
bool writesPod(const AdmissionRequest& request) {
  return request.operation != Operation::Delete && request.resource.is("/pods") &&
         request.subresource.empty();
}

void setWhereNull(Value& object, const char* key, Value value) {
  if (object[key].isNull()) { object.set(key, std::move(value)); }
}

/// By the name that it has so far.
Said forbidPod(const AdmissionRequest& request, const Value& pod, const std::string& why) {
  const Value& meta = pod["metadata"];
  const auto name = meta["name"].str();
  const auto generate = meta["generateName"].str();
  return refusedWith(forbidden(request.resource.subject(),
                               !name.empty()       ? name
                               : !generate.empty() ? generate
                                                   : "Unknown",
                               why));
}

class NamespaceLifecycle final : public AdmissionPlugin {
 public:
  explicit NamespaceLifecycle(const Store& store) : store_{store} {}

  Said mutate(const AdmissionRequest& request, Value&) override {
    if (request.resource.is("/namespaces")) { return ofNamespace(request); }
    if (request.operation != Operation::Create || !request.resource.namespaced) { return allowed(); }
    const std::string ns{request.ns};
    const auto* space = store_.find({"/namespaces", "", ns});
    if (space == nullptr) { return refusedWith(notFound({"", "namespaces", "Namespace"}, ns)); }
    if ((*space->object)["metadata"]["deletionTimestamp"].isNull()) { return allowed(); }
    return beingTerminated(request, ns);
  }

 private:
  static Said ofNamespace(const AdmissionRequest& request) {
    const bool of_the_system = request.name == "default" || request.name.starts_with("kube-");
    if (request.operation != Operation::Delete || !of_the_system) { return allowed(); }
    return refusedWith(
        forbidden(request.resource.subject(), request.name, "this namespace may not be deleted"));
  }

  static Said beingTerminated(const AdmissionRequest& request, const std::string& ns) {
    auto refused = forbidden(
        request.resource.subject(), request.name,
        fmt::format("unable to create new content in namespace {} because it is being terminated", ns));
    refused.value().details.set(
        "causes",
        json::Array{Value{json::Object{{"reason", "NamespaceTerminating"},
                                       {"message", fmt::format("namespace {} is being terminated", ns)},
                                       {"field", "metadata.namespace"}}}});
    return refusedWith(std::move(refused));
  }

  const Store& store_;
};

class ServiceAccount final : public AdmissionPlugin {
 public:
  Said mutate(const AdmissionRequest& request, Value& pod) override {
    if (!writesPod(request) || request.operation != Operation::Create) { return allowed(); }
    Value& spec = pod.child("spec");
    if (spec["serviceAccountName"].str().empty()) { spec.set("serviceAccountName", "default"); }
    setWhereNull(spec, "serviceAccount", spec["serviceAccountName"]);
    const auto name = spec["serviceAccountName"].str();
    if (dnsSubdomainErrors(name).empty()) { return allowed(); }
    return forbidPod(request, pod,
                     fmt::format("error looking up service account {}/{}: serviceaccount {} not found",
                                 request.ns, name, goQuote(name)));
  }
};

class Priority final : public AdmissionPlugin {
 public:
  explicit Priority(const Store& store) : store_{store} {}

  Said mutate(const AdmissionRequest& request, Value& pod) override {
    if (!writesPod(request)) { return allowed(); }
    return request.operation == Operation::Create ? give(request, pod) : keep(request.old, pod);
  }

  /// One class at most is for pods without one.
  Said validate(const AdmissionRequest& request, const Value& made) override {
    const bool is_class = request.resource.is(kClasses) && request.operation != Operation::Delete;
    if (!is_class || !made["globalDefault"].boolOr(false)) { return allowed(); }
    const StoredObject* there = defaultClass();
    if (there == nullptr) { return allowed(); }
    const Value& name = (*there->object)["metadata"]["name"];
    if (request.operation == Operation::Update && name == made["metadata"]["name"]) { return allowed(); }
    return refusedWith(
        forbidden(request.resource.subject(), request.name,
                  fmt::format("PriorityClass {} is already marked as default. Only one default can exist",
                              name.str())));
  }

 private:
  static constexpr const char* kClasses = "scheduling.k8s.io/priorityclasses";

  /// Of those that are for pods without one, the lowest; nullptr: there is none.
  [[nodiscard]] const StoredObject* defaultClass() const {
    const StoredObject* out = nullptr;
    const auto value = [](const StoredObject& one) { return (*one.object)["value"].intOr(0); };
    const auto [begin, end] = store_.range(kClasses);
    for (auto it = begin; it != end; ++it) {
      const bool is_default = (*it->second.object)["globalDefault"].boolOr(false);
      if (is_default && (out == nullptr || value(*out) > value(it->second))) { out = &it->second; }
    }
    return out;
  }

  Said give(const AdmissionRequest& request, Value& pod) const {
    const std::string wanted{pod["spec"]["priorityClassName"].str()};
    const StoredObject* stored = wanted.empty() ? defaultClass() : store_.find({kClasses, "", wanted});
    if (wanted.empty() && stored != nullptr) {
      pod.child("spec").set("priorityClassName", (*stored->object)["metadata"]["name"]);
    }
    std::int64_t priority = 0;
    if (wanted == "system-node-critical") {
      priority = 2'000'001'000;
    } else if (wanted == "system-cluster-critical") {
      priority = 2'000'000'000;
    } else if (stored != nullptr) {
      priority = (*stored->object)["value"].intOr(0);
    } else if (!wanted.empty()) {
      return forbidPod(request, pod, fmt::format("no PriorityClass with name {} was found", wanted));
    }
    const Value& given = pod["spec"]["priority"];
    if (given.isInt() && given.intOr(0) != priority) {
      return forbidPod(
          request, pod,
          fmt::format("the integer value of priority ({}) must not be provided in pod spec; "
                      "priority admission controller computed {} from the given PriorityClass name",
                      given.intOr(0), priority));
    }
    const Value of_class = stored == nullptr ? Value{} : (*stored->object)["preemptionPolicy"];
    const Value policy = of_class.isString() ? of_class : Value{"PreemptLowerPriority"};
    const Value& asked = pod["spec"]["preemptionPolicy"];
    if (!asked.isNull() && asked != policy) {
      return forbidPod(
          request, pod,
          fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; "
                      "priority admission controller computed {} from the given PriorityClass name",
                      asked.str(), policy.str()));
    }
    Value& spec = pod.child("spec");
    spec.set("priority", priority);
    spec.set("preemptionPolicy", policy);
    return allowed();
  }

  /// They were given once.
  static Said keep(const Value& old, Value& pod) {
    for (const char* field : {"priority", "preemptionPolicy"}) {
      const Value* had = old["spec"].find(field);
      if (had != nullptr && pod["spec"][field].isNull()) { pod.child("spec").set(field, *had); }
    }
    return allowed();
  }

  const Store& store_;
};

class DefaultTolerationSeconds final : public AdmissionPlugin {
 public:
  Said mutate(const AdmissionRequest& request, Value& pod) override {
    if (!writesPod(request)) { return allowed(); }
    for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
      if (tolerates(pod["spec"]["tolerations"], key)) { continue; }
      pod.child("spec")
          .child("tolerations")
          .array()
          .emplace_back(json::Object{
              {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
    }
    return allowed();
  }

 private:
  static bool tolerates(const Value& tolerations, std::string_view key) {
    return std::any_of(tolerations.items().begin(), tolerations.items().end(), [&](const Value& t) {
      const auto effect = t["effect"].str();
      return (t["key"].str() == key || t["key"].str().empty()) && (effect.empty() || effect == "NoExecute");
    });
  }
};

class RuntimeClass final : public AdmissionPlugin {
 public:
  Said mutate(const AdmissionRequest& request, Value& pod) override {
    if (!writesPod(request) || request.operation != Operation::Create) { return allowed(); }
    const Value& name = pod["spec"]["runtimeClassName"];
    if (!name.isString() || dnsSubdomainErrors(name.str()).empty()) { return allowed(); }
    return forbidPod(request, pod,
                     fmt::format("pod rejected: RuntimeClass {} not found", goQuote(name.str())));
  }
};

/// It is no plugin in a real server, whose registry asks for the namespace.
class AdminAccess final : public AdmissionPlugin {
 public:
  explicit AdminAccess(const Store& store) : store_{store} {}

  Said validate(const AdmissionRequest& request, const Value& object) override {
    if (!request.resource.isDevices() || !request.resource.namespaced) { return allowed(); }
    const std::string field = request.operation == Operation::Create ? askedBy(request.resource, object)
                              : request.subresource == "status"      ? given(object, request.old)
                                                                     : "";
    if (field.empty() || mayHaveIt(request.ns)) { return allowed(); }
    return refusedWith(invalidKind(
        request.resource.kind, request.resource.group, object["metadata"]["name"].str(),
        {fieldForbidden(field,
                        "admin access to devices requires the `resource.kubernetes.io/admin-access: true` "
                        "label on the containing namespace")}));
  }

 private:
  /// The field that asks for it, as the real server names it; "": none.
  static std::string askedBy(const Resource& resource, const Value& object) {
    const bool of_template = resource.kind == "ResourceClaimTemplate";
    const Value& spec = of_template ? object["spec"]["spec"] : object["spec"];
    const auto& requests = spec["devices"]["requests"].items();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i]["exactly"]["adminAccess"].boolOr(false)) { continue; }
      return fmt::format("spec.devices.requests[{}].adminAccess", i);
    }
    return {};
  }
  static std::string resultWithIt(const Value& claim) {
    const auto& results = claim["status"]["allocation"]["devices"]["results"].items();
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i]["adminAccess"].boolOr(false)) { continue; }
      return fmt::format("status.allocation.devices.results[{}].adminAccess", i);
    }
    return {};
  }
  static std::string given(const Value& claim, const Value& old) {
    return resultWithIt(old).empty() ? resultWithIt(claim) : "";
  }
  [[nodiscard]] bool mayHaveIt(std::string_view ns) const {
    const auto* space = store_.find({"/namespaces", "", std::string{ns}});
    return space != nullptr &&
           (*space->object)["metadata"]["labels"]["resource.kubernetes.io/admin-access"].str() == "true";
  }

  const Store& store_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> namespaceLifecycle(const Store& store) {
  return std::make_unique<NamespaceLifecycle>(store);
}
std::unique_ptr<AdmissionPlugin> serviceAccount() { return std::make_unique<ServiceAccount>(); }
std::unique_ptr<AdmissionPlugin> priority(const Store& store) { return std::make_unique<Priority>(store); }
std::unique_ptr<AdmissionPlugin> defaultTolerationSeconds() {
  return std::make_unique<DefaultTolerationSeconds>();
}
std::unique_ptr<AdmissionPlugin> runtimeClass() { return std::make_unique<RuntimeClass>(); }
std::unique_ptr<AdmissionPlugin> adminAccess(const Store& store) {
  return std::make_unique<AdminAccess>(store);
}

void addBuiltins(Admission& admission, const Store& store) {
  admission.add(namespaceLifecycle(store));
  admission.add(serviceAccount());
  admission.add(priority(store));
  admission.add(defaultTolerationSeconds());
  admission.add(defaultStorageClass(store));
  admission.add(runtimeClass());
  admission.add(claimResize(store));
  admission.add(adminAccess(store));
}

}  // namespace gs::apiserver
