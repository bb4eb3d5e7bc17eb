// An API server in memory with controllers, and time that passes after each request.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "apiserver/handlers/api.h"
#include "base/clock.h"
#include "json/value.h"
#include "sandbox/controllers/controllers.h"

namespace gs::sandbox::controllers {

class ControllersTest : public testing::Test {
 protected:
  static json::Value read(const std::string& text) { return json::parse(text).value(); }
  /// The answer; `time` passes.
  json::Value send(const char* method, const std::string& path, json::Value body = {},
                   const char* type = "application/json", Duration time = std::chrono::seconds{1}) {
    const auto answer = api_.handle({method, path, type, std::move(body)}, clock_.now());
    EXPECT_LT(answer.code, 400) << method << " " << path << " " << json::print(answer.body);
    run(time);
    return answer.body;
  }
  void make(const std::string& path, const std::string& text) { send("POST", path, read(text)); }
  void merge(const std::string& path, const std::string& text) {
    send("PATCH", path, read(text), "application/merge-patch+json");
  }
  json::Value get(const std::string& path) {
    return api_.handle({"GET", path, "application/json", {}}, clock_.now()).body;
  }
  bool isThere(const std::string& path) { return get(path)["kind"].str() != "Status"; }
  std::string phase(const std::string& path) { return std::string{get(path)["status"]["phase"].str()}; }
  std::string uid(const std::string& path) { return std::string{get(path)["metadata"]["uid"].str()}; }
  /// What was said last for this reason; "": nothing.
  std::string told(const std::string& reason) {
    std::string out;
    for (const json::Value& event : get("/api/v1/events")["items"].items()) {
      if (event["reason"].str() == reason) { out = event["message"].str(); }
    }
    return out;
  }
  void run(Duration by) {
    constexpr Duration kStep = std::chrono::milliseconds{10};
    for (Duration passed{}; passed < by; passed += kStep) {
      clock_.advance(kStep);
      controllers_.tick(clock_.now());
    }
  }

  static std::string claimPath(const std::string& name) {
    return "/api/v1/namespaces/default/persistentvolumeclaims/" + name;
  }
  static std::string volumePath(const std::string& name) { return "/api/v1/persistentvolumes/" + name; }
  static std::string podPath(const std::string& name) { return "/api/v1/namespaces/default/pods/" + name; }
  /// `more`: members of the class, beside its provisioner.
  void makeClass(const std::string& name, const std::string& more = "{}",
                 const std::string& provisioner = kProvisioner) {
    json::Value made = read(more);
    made.child("metadata").set("name", name);
    made.set("provisioner", provisioner);
    send("POST", "/apis/storage.k8s.io/v1/storageclasses", std::move(made));
  }
  /// Of one GiB, unless `spec` says more. `storage_class` null: it says nothing of it.
  void makeClaim(const std::string& name, json::Value storage_class, const std::string& spec = "{}") {
    json::Value made = read(
        R"({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})");
    made.set("metadata", json::Object{{"name", name}});
    if (!storage_class.isNull()) { made.child("spec").set("storageClassName", std::move(storage_class)); }
    const json::Value more = read(spec);
    for (const auto& [key, value] : more.members()) { made.child("spec").set(key, value); }
    send("POST", "/api/v1/namespaces/default/persistentvolumeclaims", std::move(made));
  }
  void makeVolume(const std::string& name, const std::string& size, const std::string& storage_class,
                  const std::string& spec = "{}") {
    json::Value made =
        read(R"({"spec": {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}})");
    made.set("metadata", json::Object{{"name", name}});
    made.child("spec").set("capacity", json::Object{{"storage", size}});
    made.child("spec").set("storageClassName", storage_class);
    const json::Value more = read(spec);
    for (const auto& [key, value] : more.members()) { made.child("spec").set(key, value); }
    send("POST", "/api/v1/persistentvolumes", std::move(made));
  }
  void makeNode(const std::string& name, const std::string& labels) {
    send("POST", "/api/v1/nodes",
         json::Object{{"metadata", json::Object{{"name", name}, {"labels", read(labels)}}}});
  }
  /// As a scheduler does it.
  void selectNode(const std::string& claim, const std::string& node) {
    merge(claimPath(claim),
          R"({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": ")" + node + R"("}}})");
  }
  std::string selectedNode(const std::string& claim) {
    return std::string{
        get(claimPath(claim))["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].str()};
  }
  std::string volumeOf(const std::string& claim) {
    return std::string{get(claimPath(claim))["spec"]["volumeName"].str()};
  }

  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  Controllers controllers_{api_};
};

}  // namespace gs::sandbox::controllers
