// A cluster whose GPUs a DRA driver prepares, for tests of what its pods are given.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "test/world/cluster.h"

namespace gs::test {

inline constexpr const char* kClaimsPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

class Dra : public Cluster {
 protected:
  explicit Dra(sandbox::World::Options options = byDra()) : Cluster{std::move(options)} {}

  /// UUIDs that the containers of this pod have.
  std::set<std::string> seen(const std::string& name) {
    const auto object = podObject(name);
    const auto devices = world.kubelet().devicesAtStart(std::string{object["metadata"]["uid"].str()});
    std::set<std::string> out;
    std::string rest = devices.value_or("");
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      out.insert(rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    return out;
  }
  /// UUIDs of the ids that its annotation names.
  std::set<std::string> told(const std::string& name) {
    std::set<std::string> out;
    const auto allocation = model::parseAllocation(allocated(name));
    if (!allocation) { return out; }
    for (const auto& device : world.machines().devicesOf(nodeOf(name))) {
      if (std::count(allocation->ids.begin(), allocation->ids.end(), device.id) > 0) {
        out.insert(device.uuid);
      }
    }
    return out;
  }
  json::Value claimOf(const std::string& name) {
    return world.get(std::string{kClaimsPath} + "/gpu-" +
                     std::string{podObject(name)["metadata"]["uid"].str()});
  }
  /// What its claim is allocated, by the names that its driver gives.
  std::set<std::string> allocatedBy(const std::string& name) {
    std::set<std::string> out;
    for (const auto& r : claimOf(name)["status"]["allocation"]["devices"]["results"].items()) {
      out.emplace(r["device"].str());
    }
    return out;
  }
  bool runs(const std::string& name) { return podObject(name)["status"]["phase"].str() == "Running"; }
  void expectOneThing(const std::string& name) {
    const auto given = told(name);
    EXPECT_FALSE(given.empty()) << name;
    EXPECT_EQ(seen(name), given) << name;
    std::set<std::string> names;
    for (const auto& uuid : given) { names.insert(inLowerCase(uuid)); }
    EXPECT_EQ(allocatedBy(name), names) << name;
  }
  std::size_t claims() { return world.get(kClaimsPath)["items"].items().size(); }
};

}  // namespace gs::test
