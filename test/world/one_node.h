// A World of one node, n, with the GPUs that a test names, in the order of their ids.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "test/world/cluster.h"

namespace gs::test {

/// All Healthy, each linked to each.
[[nodiscard]] inline std::vector<model::Device> gpusOf(const std::vector<std::string>& uuids) {
  std::vector<model::Device> out;
  for (const auto& uuid : uuids) {
    model::Device d;
    d.id = static_cast<int>(out.size());
    d.uuid = uuid;
    d.health = model::Health::Healthy;
    d.island = "0";
    d.bandwidth_gbps = 300;
    out.push_back(std::move(d));
  }
  return out;
}

class OneNode : public Cluster {
 protected:
  explicit OneNode(const std::vector<std::string>& uuids, bool agents = true,
                   model::Enforcement enforcement = model::Enforcement::Devices, bool told_uuids = false)
      : Cluster{options(uuids, agents, enforcement, told_uuids)} {}
  [[nodiscard]] bool running(const std::string& name) {
    return podObject(name)["status"]["phase"].str() == "Running";
  }
  [[nodiscard]] std::string uidOf(const std::string& name) {
    return std::string{podObject(name)["metadata"]["uid"].str()};
  }
  [[nodiscard]] json::Value lease(int id) { return world.get(kLeases + "gpu-n-" + std::to_string(id)); }
  [[nodiscard]] std::string holder(int id) { return std::string{lease(id)["spec"]["holderIdentity"].str()}; }

 private:
  [[nodiscard]] static sandbox::World::Options options(const std::vector<std::string>& uuids, bool agents,
                                                       model::Enforcement enforcement, bool told_uuids) {
    sandbox::World::Options o;
    kapi::SimNode n;
    n.name = model::NodeName{"n"};
    n.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
    n.devices = gpusOf(uuids);
    n.enforcement = enforcement;
    o.nodes = {n};
    o.agents = agents;
    o.told_uuids = told_uuids;
    return o;
  }
};

}  // namespace gs::test
