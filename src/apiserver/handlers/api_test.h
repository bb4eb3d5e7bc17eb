// For tests only: an API server in memory, and short ways to ask it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "apiserver/handlers/api.h"
#include "base/clock.h"

namespace gs::apiserver {

class ApiTest : public testing::Test {
 protected:
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  static constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

  static json::Value named(const char* name, json::Value meta = json::Object{}) {
    meta.set("name", name);
    return json::Object{{"metadata", std::move(meta)}};
  }
  Response send(const char* method, std::string target, json::Value body = {},
                std::string type = "application/json") {
    Request request{method, std::move(target), std::move(type), std::move(body)};
    request.user_agent = "kubectl/v1.33";
    return api_.handle(request, clock_.now());
  }
  json::Value get(std::string target) { return send("GET", std::move(target)).body; }
  void merge(std::string target, json::Value patch) {
    EXPECT_EQ(send("PATCH", std::move(target), std::move(patch), "application/merge-patch+json").code, 200);
  }
  std::string names(const std::string& target) {
    std::string out;
    const json::Value list = get(target);
    for (const json::Value& item : list["items"].items()) {
      out += std::string{item["metadata"]["name"].str()} + " ";
    }
    return out;
  }
  /// A pod with label app=a that runs and is Ready.
  void runningPod(const std::string& name) {
    const json::Value container = json::Object{{"name", "c"}, {"image", "i"}};
    json::Value pod = named(name.c_str(), json::Object{{"labels", json::Object{{"app", "a"}}}});
    pod.set("spec", json::Object{{"nodeName", "n"}, {"containers", json::Array{container}}});
    ASSERT_EQ(send("POST", kPods, std::move(pod)).code, 201);
    const json::Value ready = json::Object{{"type", "Ready"}, {"status", "True"}};
    merge(std::string{kPods} + "/" + name + "/status",
          json::Object{{"status", json::Object{{"phase", "Running"}, {"conditions", json::Array{ready}}}}});
  }
  int evict(const std::string& name) {
    return send("POST", std::string{kPods} + "/" + name + "/eviction", named(name.c_str())).code;
  }
  /// With these deleteOptions.
  Response evict(const std::string& name, json::Value options) {
    json::Value eviction = named(name.c_str());
    eviction.set("deleteOptions", std::move(options));
    return send("POST", std::string{kPods} + "/" + name + "/eviction", std::move(eviction));
  }
  json::Value pod(const std::string& name) { return get(std::string{kPods} + "/" + name); }
  /// Metadata of what is owned by the object that `owner` is the metadata of.
  static json::Value ownedBy(const json::Value& owner, json::Array finalizers = {}) {
    json::Value reference = json::Object{
        {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", owner["name"]}, {"uid", owner["uid"]}};
    return json::Object{{"ownerReferences", json::Array{std::move(reference)}},
                        {"finalizers", std::move(finalizers)}};
  }
  /// A ConfigMap that is owned by another one; its metadata.
  json::Value ownedMap(const char* name, const json::Value& owner, json::Array finalizers = {}) {
    return send("POST", kMaps, named(name, ownedBy(owner, std::move(finalizers)))).body["metadata"];
  }
  void removeFinalizers(std::string target) {
    merge(std::move(target), json::Object{{"metadata", json::Object{{"finalizers", nullptr}}}});
  }
  /// A definition of a cluster's resource; `approval` "" : without the annotation that Kubernetes' own groups
  /// need.
  static json::Value definition(const std::string& plural, const std::string& group,
                                const char* approval = "") {
    json::Value crd = named((plural + "." + group).c_str());
    if (*approval != '\0') {
      crd.child("metadata").set("annotations", json::Object{{"api-approved.kubernetes.io", approval}});
    }
    const json::Value version =
        json::Object{{"name", "v1"},
                     {"served", true},
                     {"storage", true},
                     {"schema", json::Object{{"openAPIV3Schema", json::Object{{"type", "object"}}}}}};
    crd.set("spec", json::Object{{"group", group},
                                 {"names", json::Object{{"plural", plural}, {"kind", "Taken"}}},
                                 {"scope", "Cluster"},
                                 {"versions", json::Array{version}}});
    return crd;
  }

  ManualClock clock_;
  Api api_{Rng{1}, clock_.now()};
};

}  // namespace gs::apiserver
