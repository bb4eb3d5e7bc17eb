#include "test/world/truth.h"

#include <fmt/format.h>

#include "json/value.h"

namespace gs::test {
namespace {

/// "node:0,1" -> {"node:0", "node:1"}
std::vector<std::string> devicesOf(const std::string& node, std::string_view allocated) {
  const auto colon = allocated.find(':');
  std::string_view ids = colon == std::string_view::npos ? allocated : allocated.substr(colon + 1);
  std::vector<std::string> out;
  while (!ids.empty()) {
    const auto comma = ids.find(',');
    out.push_back(fmt::format("{}:{}", node, ids.substr(0, comma)));
    ids = comma == std::string_view::npos ? std::string_view{} : ids.substr(comma + 1);
  }
  return out;
}

/// Uids: of a shared lease those that its `holders` name.
std::set<std::string> holdersOf(const json::Value& lease) {
  const std::string holder{lease["spec"]["holderIdentity"].str()};
  if (holder != "shared") { return {holder}; }
  std::set<std::string> out;
  if (const auto list = json::parse(lease["metadata"]["annotations"]["gpu.scheduling/holders"].str())) {
    for (const json::Value& h : list->items()) { out.emplace(h["uid"].str()); }
  }
  return out;
}

bool finished(const json::Value& pod) {
  const auto phase = pod["status"]["phase"].str();
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

Truth readTruth(sandbox::World& world) {
  Truth t;
  std::map<std::string, std::string> holder_of;           // device -> lease holder
  std::map<std::string, std::set<std::string>> sharers;   // device -> uids that its lease names
  std::map<std::string, std::set<std::string>> named_by;  // lease -> the same
  std::set<std::string> alive;
  for (const auto& lease :
       world.get("/apis/coordination.k8s.io/v1/leases?labelSelector=gpu.scheduling%2Fmanaged%3Dtrue")["items"]
           .items()) {
    const auto& meta = lease["metadata"];
    const std::string holder{lease["spec"]["holderIdentity"].str()};
    t.leases[fmt::format("{}/{}", meta["namespace"].str(), meta["name"].str())] = holder;
    const auto& notes = meta["annotations"];
    const auto device =
        fmt::format("{}:{}", notes["gpu.scheduling/node"].str(), notes["gpu.scheduling/gpu"].str());
    holder_of[device] = holder;
    sharers[device] = holdersOf(lease);
    named_by[fmt::format("{}/{}", meta["namespace"].str(), meta["name"].str())] = holdersOf(lease);
  }
  for (const auto& pod : world.get("/api/v1/pods")["items"].items()) {
    const std::string uid{pod["metadata"]["uid"].str()};
    const std::string node{pod["spec"]["nodeName"].str()};
    if (finished(pod)) { continue; }
    alive.insert(uid);
    if (node.empty()) {
      t.waiting.insert(uid);
      continue;
    }
    if (pod["spec"]["schedulerName"].str() == "gpu-scheduler") { t.bound.insert(uid); }
    const auto allocated = pod["metadata"]["annotations"]["gpu.scheduling/allocated"].str();
    for (const auto& device : devicesOf(node, allocated)) {
      t.devices[device].insert(uid);
      if (!sharers[device].contains(uid)) {
        t.unsettled.push_back(fmt::format("pod {} has {} but its lease says '{}'",
                                          pod["metadata"]["name"].str(), device, holder_of[device]));
      }
    }
  }
  for (const auto& [device, uids] : t.devices) {
    if (uids.size() > 1 && holder_of[device] != "shared") {
      t.problems.push_back(fmt::format("{} is given to {} pods", device, uids.size()));
    }
    for (const auto& uid : uids) {
      if (uids.size() > 1 && !sharers[device].contains(uid)) {
        t.problems.push_back(
            fmt::format("{} is given to pod {} too, which its lease does not name", device, uid));
      }
    }
  }
  for (const auto& [lease, uids] : named_by) {
    if (uids.empty()) { t.unsettled.push_back(fmt::format("lease {} names nobody", lease)); }
    for (const auto& uid : uids) {
      if (!alive.contains(uid)) { t.unsettled.push_back(fmt::format("lease {} has no pod {}", lease, uid)); }
      if (t.waiting.contains(uid)) {
        t.unsettled.push_back(fmt::format("lease {} of an unbound pod {}", lease, uid));
      }
    }
  }
  return t;
}

}  // namespace gs::test
