// A cluster with controllers, and the workloads that their tests create.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "test/world/cluster.h"

namespace gs::test {

class Workloads : public Cluster {
 protected:
  Workloads() : Cluster{{.controllers = true}} {}
  void SetUp() override { startOne(); }

  static std::string pathOf(const std::string& plural, const std::string& name = "") {
    const char* group = plural == "pods" || plural == "events" ? "/api/v1"
                        : plural == "jobs"                     ? "/apis/batch/v1"
                                                               : "/apis/apps/v1";
    return std::string{group} + "/namespaces/default/" + plural + (name.empty() ? "" : "/" + name);
  }
  /// A template of pods with label app=`app`; `gpus` of nvidia.com/gpu each.
  static json::Value templateOf(const std::string& app, int gpus = 0, const std::string& image = "i:1") {
    json::Object container{{"name", "c"}, {"image", image}};
    if (gpus > 0) {
      container["resources"] =
          json::Object{{"limits", json::Object{{"nvidia.com/gpu", std::to_string(gpus)}}}};
    }
    return json::Object{
        {"metadata", json::Object{{"labels", json::Object{{"app", app}}}}},
        {"spec", json::Object{{"schedulerName", "gpu-scheduler"},
                              {"containers", json::Array{json::Value{std::move(container)}}}}}};
  }
  static json::Value workload(const std::string& kind, const std::string& name, int replicas,
                              json::Value pod_template, json::Object more = {}) {
    json::Object spec{{"replicas", replicas},
                      {"selector", json::Object{{"matchLabels", pod_template["metadata"]["labels"]}}},
                      {"template", std::move(pod_template)}};
    for (auto& [key, value] : more) { spec[key] = value; }
    return json::Object{{"apiVersion", "apps/v1"},
                        {"kind", kind},
                        {"metadata", json::Object{{"name", name}, {"namespace", "default"}}},
                        {"spec", std::move(spec)}};
  }
  json::Value object(const std::string& plural, const std::string& name) {
    return world.get(pathOf(plural, name));
  }
  json::Value statusOf(const std::string& plural, const std::string& name) {
    return object(plural, name)["status"];
  }
  std::vector<json::Value> list(const std::string& plural) {
    return world.get(pathOf(plural))["items"].items();
  }
  /// Names, each after a space.
  std::string names(const std::string& plural) {
    std::string out;
    for (const auto& one : list(plural)) { out += " " + std::string{one["metadata"]["name"].str()}; }
    return out;
  }
  std::vector<json::Value> podsOf(const std::string& app) {
    std::vector<json::Value> out;
    for (auto& pod : list("pods")) {
      if (pod["metadata"]["labels"]["app"].str() == app) { out.push_back(pod); }
    }
    return out;
  }
  static bool isDeleting(const json::Value& pod) { return !pod["metadata"]["deletionTimestamp"].isNull(); }
  static bool isReady(const json::Value& pod) {
    const auto& all = pod["status"]["conditions"].items();
    return std::any_of(all.begin(), all.end(), [](const json::Value& c) {
      return c["type"].str() == "Ready" && c["status"].str() == "True";
    });
  }
  void merge(const std::string& plural, const std::string& name, json::Value patch,
             const char* type = "application/merge-patch+json") {
    const auto answer = world.request("PATCH", pathOf(plural, name), std::move(patch), type);
    ASSERT_EQ(answer.code, 200) << json::print(answer.body);
  }
  void setImage(const std::string& plural, const std::string& name, const std::string& image) {
    merge(plural, name,
          *json::parse(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image +
                       R"("}]}}}})"),
          "application/strategic-merge-patch+json");
  }
  void scale(const std::string& plural, const std::string& name, int replicas) {
    const auto answer = world.request("PATCH", pathOf(plural, name) + "/scale",
                                      json::Object{{"spec", json::Object{{"replicas", replicas}}}},
                                      "application/merge-patch+json");
    ASSERT_EQ(answer.code, 200) << json::print(answer.body);
  }
  void remove(const std::string& plural, const std::string& name, json::Value options = json::Object{}) {
    ASSERT_EQ(world.request("DELETE", pathOf(plural, name), std::move(options)).code, 200);
  }
  /// "status reason" of a condition; "" when there is none.
  static std::string condition(const json::Value& status, const std::string& type) {
    for (const auto& c : status["conditions"].items()) {
      if (c["type"].str() == type) {
        return std::string{c["status"].str()} + " " + std::string{c["reason"].str()};
      }
    }
    return "";
  }
  /// "reason: message" of the events about it, as often as they were told.
  std::vector<std::string> told(const std::string& kind, const std::string& name) {
    std::vector<std::string> out;
    for (const auto& e : list("events")) {
      if (e["involvedObject"]["kind"].str() != kind || e["involvedObject"]["name"].str() != name) {
        continue;
      }
      for (std::int64_t i = 0; i < e["count"].intOr(1); ++i) {
        out.push_back(std::string{e["reason"].str()} + ": " + std::string{e["message"].str()});
      }
    }
    return out;
  }
  int toldOf(const std::string& kind, const std::string& name, const std::string& reason) {
    int out = 0;
    for (const auto& one : told(kind, name)) { out += one.starts_with(reason + ":") ? 1 : 0; }
    return out;
  }
  /// `law` holds after every change for `time`.
  void expectAllTheTime(const std::function<bool()>& law, Duration time) {
    EXPECT_FALSE(world.runUntil([&] { return !law(); }, time)) << "it did not hold at some time";
  }
};

}  // namespace gs::test
