// A World with one scheduler that decides, and what its tests ask of it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "test/world/objects.h"
#include "test/world/truth.h"

namespace gs::test {

/// Admission asks the shipped webhook.
inline sandbox::World::Options withWebhook() {
  sandbox::World::Options options;
  options.webhook = true;
  return options;
}

/// A DRA driver prepares the GPUs of all nodes.
inline sandbox::World::Options byDra(bool agents = true) {
  sandbox::World::Options options;
  options.agents = agents;
  options.controllers = true;
  for (auto& node : options.nodes) {
    node.enforcement = model::Enforcement::Dra;
    for (auto& device : node.devices) {
      device.pci_bus_id = fmt::format("00000000:{:02x}:00.0", device.id + 1);
    }
  }
  return options;
}

class Cluster : public ::testing::Test {
 protected:
  explicit Cluster(sandbox::World::Options options = {}) : world{std::move(options)} {}

  void startOne() {
    world.startReplica();
    ASSERT_TRUE(world.runUntil([&] { return world.leader().has_value(); }, std::chrono::seconds{30}));
  }
  [[nodiscard]] json::Value podObject(const std::string& name, const std::string& ns = "default") {
    return world.get("/api/v1/namespaces/" + ns + "/pods/" + name);
  }
  [[nodiscard]] std::string allocated(const std::string& name, const std::string& ns = "default") {
    return std::string{podObject(name, ns)["metadata"]["annotations"]["gpu.scheduling/allocated"].str()};
  }
  [[nodiscard]] std::string nodeOf(const std::string& name, const std::string& ns = "default") {
    return std::string{podObject(name, ns)["spec"]["nodeName"].str()};
  }
  /// The message of PodScheduled=False, "" when there is none.
  [[nodiscard]] std::string whyWaiting(const std::string& name, const std::string& ns = "default") {
    return ofWaiting(name, ns, "message");
  }
  /// Its reason, by which autoscalers go.
  [[nodiscard]] std::string podReason(const std::string& name, const std::string& ns = "default") {
    return ofWaiting(name, ns, "reason");
  }
  [[nodiscard]] json::Value claimStatus(const std::string& name) {
    return world.get("/apis/gpu.scheduling/v1/namespaces/default/gpuclaims/" + name)["status"];
  }
  /// A Warning event with that reason is there.
  [[nodiscard]] bool warned(const std::string& reason) {
    const auto events = world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"].items();
    return std::any_of(events.begin(), events.end(), [&](const auto& e) {
      return e["reason"].str() == reason && e["type"].str() == "Warning";
    });
  }
  [[nodiscard]] std::size_t leases() { return readTruth(world).leases.size(); }
  bool eventually(const std::function<bool()>& fact, Duration limit = std::chrono::seconds{60}) {
    return world.runUntil(fact, limit);
  }
  void finish(const std::string& name, const std::string& ns = "default") {
    world.kubelet().finish(ns, name);
  }
  void deletePod(const std::string& name, bool force = false) {
    const auto answer = world.request(
        "DELETE", "/api/v1/namespaces/default/pods/" + name,
        force ? json::Value{json::Object{{"gracePeriodSeconds", 0}}} : json::Value{json::Object{}});
    ASSERT_EQ(answer.code, 200);
  }
  /// As somebody who may edit pods does it by hand. The answer's code.
  int changeAllocated(const std::string& name, json::Value to) {
    const json::Object notes{{"gpu.scheduling/allocated", std::move(to)}};
    return world
        .request("PATCH", "/api/v1/namespaces/default/pods/" + name,
                 json::Object{{"metadata", json::Object{{"annotations", notes}}}},
                 "application/merge-patch+json")
        .code;
  }
  /// Nothing is given twice, and nothing is left over two sweeps later.
  void expectSettled() {
    world.run(std::chrono::seconds{70});
    const Truth truth = readTruth(world);
    EXPECT_EQ(truth.problems, std::vector<std::string>{});
    EXPECT_EQ(truth.unsettled, std::vector<std::string>{});
  }

  sandbox::World world;

 private:
  std::string ofWaiting(const std::string& name, const std::string& ns, const char* field) {
    for (const auto& c : podObject(name, ns)["status"]["conditions"].items()) {
      if (c["type"].str() == "PodScheduled" && c["status"].str() == "False") {
        return std::string{c[field].str()};
      }
    }
    return "";
  }
};

}  // namespace gs::test
