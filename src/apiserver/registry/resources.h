// What the API server serves: built-in resources from one table, custom ones as soon as their CRD is there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/meta/answer.h"
#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

inline constexpr std::string_view kCrdsId = "apiextensions.k8s.io/customresourcedefinitions";
inline constexpr std::string_view kBindingsId = "/bindings";
inline constexpr std::string_view kEventsId = "events.k8s.io/events";
inline constexpr std::string_view kMutatingId = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
inline constexpr std::string_view kValidatingId =
    "admissionregistration.k8s.io/validatingwebhookconfigurations";
inline constexpr std::string_view kPoliciesId = "admissionregistration.k8s.io/validatingadmissionpolicies";
inline constexpr std::string_view kPolicyBindingsId =
    "admissionregistration.k8s.io/validatingadmissionpolicybindings";

struct Resource {
  std::string group;  // "" core
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;
  bool custom = false;
  bool has_status = false;   // a status subresource
  bool scales = false;       // a scale subresource; that of a CRD is not served
  bool upsert = false;       // PUT creates what is missing (leases, events)
  bool create_only = false;  // POST answers, nothing is stored (reviews)
  SchemaPtr schema;
  json::Value columns;  // additionalPrinterColumns of a CRD's version
  json::Value openapi;  // openAPIV3Schema of a CRD's version
  std::string singular;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;

  [[nodiscard]] std::string id() const { return group + "/" + plural; }
  /// id() == this, without making it.
  [[nodiscard]] bool is(std::string_view that) const {
    return that.size() == group.size() + 1 + plural.size() && that.starts_with(group) &&
           that[group.size()] == '/' && that.ends_with(plural);
  }
  /// Key of the store: events of both groups are one thing, kept in the form of events.k8s.io.
  [[nodiscard]] std::string storeId() const { return coreEvents() ? std::string{kEventsId} : id(); }
  [[nodiscard]] bool coreEvents() const { return group.empty() && plural == "events"; }
  [[nodiscard]] bool isEvents() const { return plural == "events" && !custom; }
  /// The group that its validation errors name.
  [[nodiscard]] std::string storeGroup() const { return isEvents() ? "" : group; }
  [[nodiscard]] bool isCrds() const { return is(kCrdsId); }
  /// Its metadata is checked as core kinds have theirs checked.
  [[nodiscard]] bool coreMeta() const {
    return !custom && !isCrds() && !coreEvents() && group != "coordination.k8s.io" && group != "policy" &&
           !isWebhooks() && !isAdmissionPolicy();
  }
  /// Of webhooks that admission asks.
  [[nodiscard]] bool isWebhooks() const { return is(kMutatingId) || is(kValidatingId); }
  /// A ValidatingAdmissionPolicy or its binding.
  [[nodiscard]] bool isAdmissionPolicy() const { return is(kPoliciesId) || is(kPolicyBindingsId); }
  /// A RoleBinding or a ClusterRoleBinding.
  [[nodiscard]] bool isRoleBinding() const {
    return is("rbac.authorization.k8s.io/rolebindings") ||
           is("rbac.authorization.k8s.io/clusterrolebindings");
  }
  /// A PersistentVolume or a PersistentVolumeClaim.
  [[nodiscard]] bool isStorage() const { return is("/persistentvolumes") || is("/persistentvolumeclaims"); }
  /// Of storage.k8s.io: classes of volumes, and what CSI drivers say.
  [[nodiscard]] bool isStorageGroup() const { return !custom && group == "storage.k8s.io"; }
  /// Of resource.k8s.io: what DRA drivers publish, and claims of it.
  [[nodiscard]] bool isDevices() const { return !custom && group == "resource.k8s.io"; }
  /// It has a pod template: a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job.
  [[nodiscard]] bool isWorkload() const {
    return (group == "apps" && plural != "controllerrevisions") || group == "batch";
  }
  /// metadata.generation counts changes of its spec.
  [[nodiscard]] bool counted() const {
    return custom || isCrds() || is("/pods") || group == "policy" || group == "discovery.k8s.io" ||
           group == "networking.k8s.io" || isWorkload() || isWebhooks() || isAdmissionPolicy() ||
           (isDevices() && !namespaced);
  }
  /// A PUT may leave out the resourceVersion.
  [[nodiscard]] bool unconditional() const {
    return !custom && !isCrds() && group != "policy" && plural != "leases" && !isWebhooks() &&
           !isAdmissionPolicy() && !is("resource.k8s.io/devicetaintrules") &&
           !(isStorageGroup() && plural != "storageclasses");
  }
  [[nodiscard]] std::string apiVersion() const { return group.empty() ? version : group + "/" + version; }
  [[nodiscard]] Subject subject() const { return {group, plural, kind}; }
};

/// The Scale of autoscaling/v1, which is a subresource only.
[[nodiscard]] const Resource& scaleType();
/// A stored object in the form of the resource that it is read by: events have two.
[[nodiscard]] json::Value shown(const Resource& resource, const json::Value& object);

using Query = std::map<std::string, std::string>;  // decoded

/// Where a request points. `name` "" : the collection.
struct Route {
  const Resource* resource = nullptr;
  std::string ns;
  std::string name;
  std::string subresource;
  Query query;
};

class Resources {
 public:
  Resources();
  using Map = std::map<std::pair<std::string, std::string>, Resource, std::less<>>;  // (group, plural)
  [[nodiscard]] const Map& all() const { return all_; }
  /// Counts changes of what is served.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// "/apis/g/v/namespaces/ns/plural/name/sub?query". Error 404 for what is not served, 400 for a bad query.
  [[nodiscard]] Answer<Route> route(std::string_view target) const;
  [[nodiscard]] const Resource* find(std::string_view group, std::string_view plural) const;
  [[nodiscard]] const Resource* ofKind(std::string_view api_version, std::string_view kind) const;
  /// Serves the storage version of a CRD object; again: replaces it. One that is called as a built-in
  /// resource changes nothing, as in a real server, whose own resources come first.
  void serve(const json::Value& crd);
  void forget(const json::Value& crd);
  /// What was forgotten is kept until this is called: who is being answered may still look at it.
  void release() { forgotten_.clear(); }
  /// By the key of the store.
  [[nodiscard]] const Resource* stored(std::string_view id) const;

 private:
  [[nodiscard]] bool servesBuiltins(std::string_view group, std::string_view version) const;

  Map all_;
  std::vector<Map::node_type> forgotten_;
  std::uint64_t changes_ = 0;
};

/// The query of "path?a=b&c=d".
[[nodiscard]] Query readQuery(std::string_view target);
/// Whether a flag of a query is set, as a real server reads it: it is there, and neither 0 nor false.
[[nodiscard]] bool isTrue(const Query& query, const std::string& flag);
/// "": it is not there.
[[nodiscard]] std::string valueOf(const Query& query, const std::string& key);
/// Whether a GET of it is a watch. As in a real server, only what is listed is watched.
[[nodiscard]] bool isWatch(const Route& route);

}  // namespace gs::apiserver
