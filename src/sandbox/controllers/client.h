// What controllers do to the API server: the requests that a controller-manager sends. Reads see what is
// stored now, writes carry the resourceVersion of what was read and may be refused as anybody's.
//
// Made anew for each turn of the controllers. `api` must outlive it. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/default_class.h"
#include "apiserver/handlers/api.h"
#include "base/clock.h"
#include "json/value.h"
#include "sandbox/controllers/pod_orders.h"

namespace gs::sandbox::controllers {

inline constexpr const char* kPods = "/pods";
inline constexpr const char* kDeployments = "apps/deployments";
inline constexpr const char* kReplicaSets = "apps/replicasets";
inline constexpr const char* kStatefulSets = "apps/statefulsets";
inline constexpr const char* kDaemonSets = "apps/daemonsets";
inline constexpr const char* kNodes = "/nodes";
inline constexpr const char* kRevisions = "apps/controllerrevisions";
inline constexpr const char* kJobs = "batch/jobs";
inline constexpr const char* kVolumes = "/persistentvolumes";
inline constexpr const char* kClaims = "/persistentvolumeclaims";
inline constexpr const char* kStorageClasses = apiserver::kStorageClassesId;
inline constexpr const char* kBudgets = "policy/poddisruptionbudgets";

class Client {
 public:
  Client(apiserver::Api& api, PodOrders& orders, Now now) : api_{api}, orders_{orders}, now_{now} {}

  [[nodiscard]] Now now() const { return now_; }
  /// Null: there is none. `resource` is "group/plural".
  [[nodiscard]] apiserver::ObjectPtr find(const std::string& resource, const std::string& ns,
                                          const std::string& name) const;
  /// All of one namespace, by name.
  [[nodiscard]] std::vector<apiserver::ObjectPtr> all(const std::string& resource,
                                                      const std::string& ns) const;
  /// The StorageClass for claims that name none; "": there is none.
  [[nodiscard]] std::string defaultStorageClass() const;
  /// The answer's body is what is stored then, or says why it was refused.
  apiserver::Response create(const std::string& resource, const std::string& ns, json::Value object);
  enum class Made : std::uint8_t {
    Yes,
    Later,    // a webhook is asked: who has such an order open is looked at again when it is answered
    Enough,   // not asked for: so many wait already
    Refused,  // to be tried again
    Never,    // its namespace goes
  };
  /// A pod of `owner`, with the Event about it.
  Made createPod(const json::Value& owner, json::Value pod, const PodWords& words = {});
  /// Why the last one was refused.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// The answer about a pod, by the Event.
  Made tellOfPod(const json::Value& owner, const apiserver::Response& response, const PodWords& words);
  apiserver::Response replace(const json::Value& object) { return put(object, ""); }
  apiserver::Response replaceStatus(const json::Value& object) { return put(object, "/status"); }
  apiserver::Response patch(const json::Value& object, json::Value change);
  /// In the background, unless the options say otherwise; this object, and no other of its name.
  apiserver::Response remove(const json::Value& object, json::Value options = json::Object{});
  /// An Event about it.
  void tell(const json::Value& about, const char* type, std::string_view reason, std::string_view message);

 private:
  apiserver::Response send(const char* method, std::string target, json::Value body,
                           const char* content_type = "application/json");
  apiserver::Response put(const json::Value& object, const char* subresource);
  [[nodiscard]] std::string pathOf(const json::Value& object) const;

  apiserver::Api& api_;
  PodOrders& orders_;
  Now now_;
  std::string refusal_;
};

[[nodiscard]] inline bool succeeded(const apiserver::Response& response) { return response.code < 300; }
/// Why it was refused.
[[nodiscard]] std::string reasonOf(const apiserver::Response& response);
/// Nothing new is made in its namespace any more: no use in trying again.
[[nodiscard]] bool isForEver(const apiserver::Response& refused);

}  // namespace gs::sandbox::controllers
