// Pods as an API server has them, for the tests of this folder. Included by tests only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kapi/call.h"
#include "model/vcuda.h"
#include "testing/builders.h"

namespace gs::extender {

/// What PATCHes, reads and Bindings do to them.
class PodServer {
 public:
  model::Pod& add(const model::Pod& pod) {
    model::Pod& added = pods[pod.key.name] = pod;
    added.revision = ++revision;
    return added;
  }
  kapi::Outcome carryOut(const kapi::Call& call) {
    kapi::Outcome o;
    o.token = call.token;
    const auto it = pods.find(call.key.name);
    if (it == pods.end()) { return refuse(o, 404, "NotFound"); }
    model::Pod& pod = it->second;
    const json::Value& meta = call.body["metadata"];
    if (!meta["uid"].str().empty() && meta["uid"].str() != pod.uid.text) {
      return refuse(o, 409, "Conflict");
    }
    if (!meta["resourceVersion"].str().empty() &&
        meta["resourceVersion"].str() != std::to_string(pod.revision)) {
      return refuse(o, 409, "Conflict");
    }
    if (call.subresource == "binding") {
      if (pod.bound()) { return refuse(o, 409, "Conflict"); }
      pod.node = model::NodeName{call.body["target"]["name"].str()};
    }
    const model::Pod before = pod;
    if (const auto* all = meta.find("annotations"); all != nullptr && all->isNull()) {
      pod.annotations.clear();  // as a merge patch means it
    }
    for (const auto& [key, value] : meta["annotations"].members()) {
      if (value.isNull()) {
        pod.annotations.erase(key);
      } else {
        pod.annotations[key] = value.str();
      }
    }
    if (kapi::isRead(call.verb) || (pod == before && call.subresource != "binding")) {
      // nothing changes
    } else {
      pod.revision = ++revision;
      ++writes;
    }
    o.result = kapi::CallResult::Applied;
    o.http = 200;
    if (call.subresource != "binding") { o.object = std::make_shared<const model::Pod>(pod); }
    return o;
  }

  std::map<std::string, model::Pod> pods;
  model::Revision revision = 100;
  int writes = 0;

 private:
  static kapi::Outcome refuse(kapi::Outcome o, int http, const char* reason) {
    o.result = kapi::CallResult::Refused;
    o.http = http;
    o.reason = reason;
    o.message = "no";
    return o;
  }
};

inline model::Node gpuNode(const std::string& name, int devices, int memory_each = 4) {
  model::Node n;
  n.name = model::NodeName{name};
  n.revision = 1;
  n.share_capacity = {100 * devices, memory_each * devices};
  return n;
}

inline model::Pod vcudaPod(const std::string& name, const std::vector<model::VcudaLimits>& limits) {
  model::Pod pod = testing::PodBuilder(name).scheduler("default-scheduler").value();
  for (const auto& of : limits) { pod.share_limits.push_back({of.cores, of.memory}); }
  return pod;
}

}  // namespace gs::extender
