#include "sandbox/serve/admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/percent.h"
#include "kapi/node_file.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Reply = apiserver::Answer<apiserver::Response>;

constexpr std::string_view kPrefix = "/sandbox/v1/";
constexpr std::size_t kMaxNodes = 5'000;
constexpr int kMaxXid = 1'000;

const apiserver::Subject kNodeSubject{"", "nodes", "Node"};

std::vector<std::string> stepsOf(std::string_view target) {
  std::vector<std::string> out;
  std::string_view path = target.substr(0, target.find('?'));
  path.remove_prefix(kPrefix.size());
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) { out.push_back(percentDecode(path.substr(0, end))); }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

apiserver::Response done(Value details = {}) { return {200, apiserver::successBody(std::move(details))}; }

bool isNode(World& world, const std::string& name) {
  return world.api().store().find({"/nodes", "", name}) != nullptr;
}

Reply addNodes(World& world, const apiserver::Request& request) {
  if (!request.bad_body.empty()) {
    return apiserver::badRequest("the body is not JSON: " + request.bad_body);
  }
  const auto nodes = kapi::readNodeFile(request.body);
  if (!nodes) { return apiserver::badRequest(nodes.error().message); }
  const auto [begin, end] = world.api().store().range("/nodes");
  if (nodes->size() + static_cast<std::size_t>(std::distance(begin, end)) > kMaxNodes) {
    return apiserver::badRequest(fmt::format("the sandbox holds at most {} nodes", kMaxNodes));
  }
  for (const auto& node : *nodes) {
    if (isNode(world, node.name.text)) { return apiserver::alreadyExists(kNodeSubject, node.name.text); }
  }
  if (const auto refused = refusedNode(world.api(), *nodes, world.now())) {
    return apiserver::badRequest(*refused);
  }
  for (const auto& node : *nodes) { world.machines().addNode(node); }
  return done();
}

/// Pods of the node that keep it from being empty: all but the agent's and those that ended.
std::vector<apiserver::StoreKey> podsToEvict(World& world, const std::string& node) {
  std::vector<apiserver::StoreKey> out;
  const auto [begin, end] = world.api().store().range("/pods");
  for (auto it = begin; it != end; ++it) {
    const Value& pod = *it->second.object;
    const auto phase = pod["status"]["phase"].str();
    const bool agent = pod["metadata"]["labels"]["app"].str() == "gpu-scheduler-agent";
    if (pod["spec"]["nodeName"].str() != node || agent || phase == "Succeeded" || phase == "Failed") {
      continue;
    }
    out.push_back(it->first);
  }
  return out;
}

Reply drain(World& world, const std::string& node) {
  const apiserver::Response cordoned =
      world.request("PATCH", "/api/v1/nodes/" + node, Object{{"spec", Object{{"unschedulable", true}}}},
                    "application/merge-patch+json");
  if (cordoned.code != 200) { return cordoned; }
  Array left;
  for (const apiserver::StoreKey& key : podsToEvict(world, node)) {
    const apiserver::Response evicted = world.request(
        "POST", fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", key.ns, key.name),
        Object{{"apiVersion", "policy/v1"}, {"kind", "Eviction"}, {"metadata", Object{{"name", key.name}}}});
    Value pod = Object{{"namespace", key.ns}, {"name", key.name}};
    if (evicted.code >= 300) { pod.set("message", evicted.body["message"]); }
    left.push_back(std::move(pod));
  }
  return apiserver::Response{200, Object{{"left", std::move(left)}}};
}

apiserver::Refused notSimulated(const std::string& node) {
  return apiserver::refuse(
      404, "NotFound",
      fmt::format("node \"{}\" is not simulated: no machine is behind this Node, so nothing can be done to "
                  "its GPUs; `gpu-sandbox node add` adds one that has them",
                  node));
}

std::vector<int> gpusOf(World& world, const std::string& node) {
  std::vector<int> out;
  for (const auto& device : world.machines().devicesOf(node)) { out.push_back(device.id); }
  std::sort(out.begin(), out.end());
  return out;
}

/// "0-3, 5"
std::string rangesOf(const std::vector<int>& sorted) {
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) { ++last; }
    out += fmt::format("{}{}", out.empty() ? "" : ", ", sorted[i]);
    if (last > i) { out += fmt::format("-{}", sorted[last]); }
    i = last + 1;
  }
  return out.empty() ? "none" : out;
}

apiserver::Refused noSuchGpu(const std::string& node, const std::string& gpu, const std::vector<int>& there) {
  return apiserver::refuse(404, "NotFound",
                           fmt::format("node {} has no GPU {}: it has {}", node, gpu, rangesOf(there)));
}

Reply changeGpu(World& world, const std::string& node, const std::string& gpu, const std::string& what,
                const apiserver::Request& request) {
  if (!world.machines().has(node)) { return notSimulated(node); }
  int id = -1;
  const auto [end, error] = std::from_chars(gpu.data(), gpu.data() + gpu.size(), id);
  const bool number = error == std::errc{} && end == gpu.data() + gpu.size();
  const std::vector<int> there = gpusOf(world, node);
  if (!number || !std::binary_search(there.begin(), there.end(), id)) { return noSuchGpu(node, gpu, there); }
  if (what == "repair") {
    world.machines().setHealth(node, id, model::Health::Healthy);
    world.agents().lookNow(node);
    return done();
  }
  const std::int64_t xid = request.body["xid"].intOr(-1);
  if (xid < 0 || xid > kMaxXid) {
    return apiserver::badRequest(fmt::format("xid {} is no error number; write one from 0 to {}, such as 79",
                                             json::print(request.body["xid"]), kMaxXid));
  }
  world.machines().failGpu(node, id, static_cast<int>(xid));
  world.agents().lookNow(node);
  return done();
}

Reply carryOut(World& world, const apiserver::Request& request) {
  const auto steps = stepsOf(request.target);
  const bool posts = request.method == "POST";
  if (steps.empty() || steps[0] != "nodes") { return apiserver::noSuchPage(); }
  if (steps.size() == 1) { return posts ? addNodes(world, request) : Reply{apiserver::methodNotAllowed()}; }
  if (!isNode(world, steps[1])) { return apiserver::notFound(kNodeSubject, steps[1]); }
  if (steps.size() == 2) {
    if (request.method != "DELETE") { return apiserver::methodNotAllowed(); }
    world.machines().removeNode(steps[1]);
    return done();
  }
  if (steps.size() == 3 && steps[2] == "drain") {
    return posts ? drain(world, steps[1]) : Reply{apiserver::methodNotAllowed()};
  }
  if (steps.size() == 5 && steps[2] == "gpus" && (steps[4] == "fail" || steps[4] == "repair")) {
    return posts ? changeGpu(world, steps[1], steps[3], steps[4], request)
                 : Reply{apiserver::methodNotAllowed()};
  }
  return apiserver::noSuchPage();
}

}  // namespace

std::optional<apiserver::Response> admin(World& world, const apiserver::Request& request) {
  if (!request.target.starts_with(kPrefix)) { return std::nullopt; }
  auto result = carryOut(world, request);
  return result ? *std::move(result) : apiserver::toResponse(result.error());
}

}  // namespace gs::sandbox
