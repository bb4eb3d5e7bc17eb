#include "test/conformance/draw.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "apiserver/schema/builtin_types.h"
#include "apiserver/schema/schema.h"
#include "base/check.h"
#include "base/random.h"
#include "test/conformance/vocabulary.h"

namespace gs::conformance {
namespace {

using apiserver::Schema;
using json::Array;
using json::Object;
using json::Value;
using Type = Schema::Type;

constexpr int kDeepest = 6;

/// Draws one object.
class Draw {
 public:
  explicit Draw(Rng rng) : rng_{rng} {}

  /// Changes a few places of it, wherever they are.
  void edit(const Schema& type, Value& object, std::uint64_t most) {
    const std::uint64_t times = 1 + rng_.below(most);
    for (std::uint64_t i = 0; i < times; ++i) { change(type, "", object, 0); }
  }
  Rng& rng() { return rng_; }

 private:
  /// One place in it.
  void change(const Schema& type, const std::string& field, Value& at, int depth) {
    const bool inner = type.type == Type::Object || type.type == Type::List || type.type == Type::Map;
    const bool fits = type.type == Type::List ? at.isArray() : at.isObject();
    if (!inner || (!at.isNull() && !fits)) {
      at = leaf(type, field);
    } else if (type.type == Type::Object) {
      changeObject(type, at, depth);
    } else if (type.type == Type::List) {
      changeList(type, field, at, depth);
    } else {
      at.set(pick(keysOf(field)), of(*type.element, field, depth + 1));
    }
  }

  void changeObject(const Schema& type, Value& at, int depth) {
    const auto* field = anyField(type);
    if (field == nullptr) { return; }
    const Value* there = at.find(field->name);
    if (there == nullptr || there->isNull()) {
      if (rng_.chance(3)) { return; }
      at.set(field->name, of(*field->schema, nameOf(type, field->name), depth + 1));
    } else if (rng_.chance(8)) {
      at.erase(field->name);
    } else {
      change(*field->schema, nameOf(type, field->name), at.child(field->name), depth + 1);
    }
  }

  void changeList(const Schema& type, const std::string& field, Value& at, int depth) {
    Array& items = at.array();
    const auto how = rng_.below(10);
    if (items.empty() || (how < 4 && items.size() < 4)) {
      items.push_back(of(*type.element, field, depth + 1));
    } else if (how == 4) {
      Value again = items[rng_.below(items.size())];
      items.push_back(std::move(again));
    } else if (how == 5) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(rng_.below(items.size())));
    } else {
      change(*type.element, field, items[rng_.below(items.size())], depth + 1);
    }
  }

  /// A new value of this type.
  Value of(const Schema& type, const std::string& field, int depth) {
    switch (type.type) {
      case Type::Object: return newObject(type, depth);
      case Type::List: {
        Array out;
        for (std::uint64_t i = rng_.chance(5) ? 0 : 1 + rng_.below(2); i > 0; --i) {
          out.push_back(of(*type.element, field, depth + 1));
        }
        return out;
      }
      case Type::Map: {
        Value out = Object{};
        for (std::uint64_t i = 1 + rng_.below(2); i > 0; --i) {
          out.set(pick(keysOf(field)), of(*type.element, field, depth + 1));
        }
        return out;
      }
      default: return leaf(type, field);
    }
  }

  /// What always has to be there mostly is, and some of the rest.
  Value newObject(const Schema& type, int depth) {
    Value out = Object{};
    const bool chooses = isChoice(type.go_name);
    const auto* chosen = chooses ? anyField(type) : nullptr;
    for (const auto& field : type.fields) {
      const std::string name = nameOf(type, field.name);
      if (isLeftOut(name)) { continue; }
      const bool asked = field.always || (type.go_name == "v1.Volume" && field.name == "name");
      const unsigned percent = &field == chosen ? 100 : asked ? 95 : chooses ? 3 : depth >= kDeepest ? 0 : 30;
      if (rng_.chance(percent)) { out.set(field.name, of(*field.schema, name, depth + 1)); }
    }
    return out;
  }

  const apiserver::Field* anyField(const Schema& type) {
    for (int tries = 0; tries < 20 && !type.fields.empty(); ++tries) {
      const auto& field = type.fields[rng_.below(type.fields.size())];
      if (!isLeftOut(nameOf(type, field.name))) { return &field; }
    }
    return nullptr;
  }

  static std::string nameOf(const Schema& type, const std::string& field) {
    return type.go_name + "." + field;
  }

  std::string pick(const Texts& texts) { return texts[rng_.below(texts.size())]; }

  Value leaf(const Schema& type, const std::string& field) {
    if (const Array* words = wordsOf(field)) { return (*words)[rng_.below(words->size())]; }
    switch (type.type) {
      case Type::Boolean: return rng_.chance(50);
      case Type::Integer: return numbers()[rng_.below(numbers().size())];
      case Type::Quantity: return amounts()[rng_.below(amounts().size())];
      case Type::IntOrString: return portRefs()[rng_.below(portRefs().size())];
      case Type::Time: return "2024-01-02T03:04:05Z";
      case Type::MicroTime: return rng_.chance(20) ? "2024-01-02T03:04:05Z" : "2024-01-02T03:04:05.123456Z";
      default: return pick(texts());
    }
  }

  Rng rng_;
};

struct Kind {
  const char* kind;
  const char* path;
  const char* base;
  unsigned weight;
  std::uint64_t edits;   // at most
  unsigned updated = 0;  // of a hundred
};

constexpr std::array<Kind, 26> kKinds{{
    {"Pod", "/api/v1/namespaces/$ns/pods",
     R"({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "default",
         "containers": [{"name": "main", "image": "i:1"}]}})",
     35, 6, 15},
    {"Node", "/api/v1/nodes", R"({"metadata": {"name": "n"}})", 7, 5},
    {"Deployment", "/apis/apps/v1/namespaces/$ns/deployments",
     R"({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
         "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}}})",
     4, 4},
    {"DaemonSet", "/apis/apps/v1/namespaces/$ns/daemonsets",
     R"({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
         "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}}})",
     4, 4},
    {"StatefulSet", "/apis/apps/v1/namespaces/$ns/statefulsets",
     R"({"metadata": {"name": "s"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
         "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}}})",
     4, 4},
    {"Job", "/apis/batch/v1/namespaces/$ns/jobs",
     R"({"metadata": {"name": "j"}, "spec": {"completionMode": "Indexed", "completions": 5, "template": {
         "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i:1"}]}}}})",
     8, 5},
    {"NetworkPolicy", "/apis/networking.k8s.io/v1/namespaces/$ns/networkpolicies",
     R"({"metadata": {"name": "w"}, "spec": {"podSelector": {}}})", 4, 4},
    {"ValidatingAdmissionPolicyBinding",
     "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
     R"({"metadata": {"name": "v"}, "spec": {"policyName": "a", "validationActions": ["Deny"]}})", 2, 4},
    {"Service", "/api/v1/namespaces/$ns/services",
     R"({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"name": "a", "port": 80}]}})",
     11, 5},
    {"EndpointSlice", "/apis/discovery.k8s.io/v1/namespaces/$ns/endpointslices",
     R"({"metadata": {"name": "e"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}]})", 4,
     5},
    {"PodDisruptionBudget", "/apis/policy/v1/namespaces/$ns/poddisruptionbudgets",
     R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"a": "b"}}}})", 3, 4},
    {"PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses",
     R"({"metadata": {"name": "c"}, "value": 1})", 2, 4},  // one that is there changes pods
    {"ConfigMap", "/api/v1/namespaces/$ns/configmaps", R"({"metadata": {"name": "m"}})", 2, 4, 30},
    {"Secret", "/api/v1/namespaces/$ns/secrets", R"({"metadata": {"name": "s"}})", 2, 4, 30},
    {"Role", "/apis/rbac.authorization.k8s.io/v1/namespaces/$ns/roles",
     R"({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]})",
     1, 4},
    {"ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
     R"({"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]})",
     2, 4},
    {"RoleBinding", "/apis/rbac.authorization.k8s.io/v1/namespaces/$ns/rolebindings",
     R"({"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "a"}})", 2, 4, 30},
    {"ClusterRoleBinding", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
     R"({"metadata": {"name": "r"}, "roleRef": {"kind": "ClusterRole", "name": "a"}})", 1, 4},
    {"Lease", "/apis/coordination.k8s.io/v1/namespaces/$ns/leases",
     R"({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}})", 1, 4},
    {"ServiceAccount", "/api/v1/namespaces/$ns/serviceaccounts", R"({"metadata": {"name": "a"}})", 1, 3},
    {"PersistentVolumeClaim", "/api/v1/namespaces/$ns/persistentvolumeclaims",
     R"({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"],
         "resources": {"requests": {"storage": "1Gi"}}}})",
     5, 4, 30},
    {"PersistentVolume", "/api/v1/persistentvolumes",
     R"({"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
         "csi": {"driver": "csi.example.com", "volumeHandle": "a"}}})",
     5, 4, 30},
    {"Namespace", "/api/v1/namespaces", R"({"metadata": {"name": "n"}})", 1, 4},
    {"ReplicaSet", "/apis/apps/v1/namespaces/$ns/replicasets",
     R"({"metadata": {"name": "r"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
         "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}}})",
     2, 4},
    {"MutatingWebhookConfiguration", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
     R"({"metadata": {"name": "w"}, "webhooks": [{"name": "a.b.c", "clientConfig": {"url": "https://a.b/c"},
         "sideEffects": "None", "admissionReviewVersions": ["v1"]}]})",
     2, 5},
    {"ValidatingWebhookConfiguration",
     "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
     R"({"metadata": {"name": "w"}, "webhooks": [{"name": "a.b.c", "clientConfig": {"url": "https://a.b/c"},
         "sideEffects": "None", "admissionReviewVersions": ["v1"]}]})",
     2, 5},
}};

const Kind& kindFor(Rng& rng) {
  std::uint64_t all = 0;
  for (const Kind& kind : kKinds) { all += kind.weight; }
  auto left = rng.below(all);
  for (const Kind& kind : kKinds) {
    if (left < kind.weight) { return kind; }
    left -= kind.weight;
  }
  return kKinds.front();
}

/// All objects that are `value` without one of its parts, the greatest parts first.
std::vector<Value> smaller(const Value& value) {
  std::vector<Value> out;
  for (const auto& [name, member] : value.members()) {
    Value without = value;
    without.erase(name);
    out.push_back(std::move(without));
  }
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    Value without = value;
    without.array().erase(without.array().begin() + static_cast<std::ptrdiff_t>(i));
    out.push_back(std::move(without));
  }
  for (const auto& [name, member] : value.members()) {
    for (Value& part : smaller(member)) {
      Value changed = value;
      changed.set(name, std::move(part));
      out.push_back(std::move(changed));
    }
  }
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    for (Value& part : smaller(value.items()[i])) {
      Value changed = value;
      changed.array()[i] = std::move(part);
      out.push_back(std::move(changed));
    }
  }
  return out;
}

}  // namespace

Drawn draw(std::uint64_t seed, std::uint64_t number) {
  Draw draws{Rng{seed * 1'000'003 + number}};
  const Kind& kind = kindFor(draws.rng());
  const auto type = apiserver::builtinType(kind.kind);
  Drawn out{kind.kind, kind.path, json::parse(kind.base).value(), {}};
  draws.edit(*type, out.object, kind.edits);
  if (draws.rng().chance(kind.updated)) {
    out.next = out.object;
    const bool pod = std::string_view{kind.kind} == "Pod";
    draws.edit(pod ? *type->child("spec") : *type, pod ? out.next.child("spec") : out.next, 2);
  }
  return out;
}

json::Value shrunk(json::Value object, const std::function<bool(const json::Value&)>& fails) {
  for (bool again = true; again;) {
    again = false;
    for (Value& one : smaller(object)) {
      if (!fails(one)) { continue; }
      object = std::move(one);
      again = true;
      break;
    }
  }
  return object;
}

}  // namespace gs::conformance
