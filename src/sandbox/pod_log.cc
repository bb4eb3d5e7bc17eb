#include "sandbox/pod_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace gs::sandbox {
namespace {

using json::Value;

std::string queryOf(const Route& route, const char* key) {
  const auto it = route.query.find(key);
  return it == route.query.end() ? std::string{} : it->second;
}

/// The container that was asked for, or the only one. Error 400 as the real server words it.
Answer<std::string> chosenContainer(const Value& pod, const Route& route) {
  const std::string wanted = queryOf(route, "container");
  std::string names;
  for (const char* part : {"initContainers", "containers"}) {
    for (const Value& c : pod["spec"][part].items()) {
      if (!wanted.empty() && c["name"].str() == wanted) { return wanted; }
      names += (names.empty() ? "" : " ") + std::string{c["name"].str()};
    }
  }
  if (!wanted.empty()) {
    return badRequest(fmt::format("container {} is not valid for pod {}", wanted, route.name));
  }
  const auto& containers = pod["spec"]["containers"].items();
  if (containers.size() == 1) { return std::string{containers.front()["name"].str()}; }
  return badRequest(
      fmt::format("a container name must be specified for pod {}, choose one of: [{}]", route.name, names));
}

std::set<std::string> commaList(std::string_view text) {
  std::set<std::string> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) { out.emplace(text.substr(0, comma)); }
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

bool usedBy(const Value& device, std::string_view uid) {
  const auto& users = device["inUseBy"].items();
  return std::any_of(users.begin(), users.end(), [&](const Value& u) { return u.str() == uid; });
}

/// `nvidia-smi -L` in a container with this env.
std::string listDevices(World& world, const Value& pod, const Env& env) {
  const auto* status = world.api().store().find(
      {"gpu.scheduling/gpunodestatuses", "", std::string{pod["spec"]["nodeName"].str()}});
  const auto uid = pod["metadata"]["uid"].str();
  std::optional<std::string> names;
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    if (const auto it = env.find(name); it != env.end() && !names) { names = it->second; }
  }
  if (!names) { names = world.kubelet().devicesAtStart(std::string{uid}); }
  const auto chosen = commaList(names.value_or(""));
  const bool all = names && *names == "all";
  std::string out;
  if (status == nullptr) { return "No devices found.\n"; }
  for (const Value& d : (*status->object)["status"]["devices"].items()) {
    const std::string id = std::to_string(d["id"].intOr(-1));
    const std::string uuid{d["uuid"].str()};
    const bool seen =
        all || (names && !names->empty() ? chosen.contains(id) || chosen.contains(uuid) : usedBy(d, uid));
    if (seen) { out += fmt::format("GPU {}: {} (UUID: {})\n", id, d["model"].str(), uuid); }
  }
  return out.empty() ? "No devices found.\n" : out;
}

std::string lastLines(std::string text, const std::string& count) {
  std::size_t lines = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), lines);
  if (count.empty() || error != std::errc{}) { return text; }
  std::size_t at = text.size();
  for (std::size_t i = 0; i < lines + 1 && at > 0; ++i) {
    const auto before = at < 1 ? std::string::npos : text.rfind('\n', at - 1);
    at = before == std::string::npos ? 0 : before;
  }
  if (at > 0) { ++at; }
  return lines == 0 ? std::string{} : text.substr(at);
}

Answer<Response> logOf(World& world, const Route& route) {
  const auto* stored = world.api().store().find({"/pods", route.ns, route.name});
  if (stored == nullptr) { return notFound(route.resource->subject(), route.name); }
  const Value& pod = *stored->object;
  const auto container = chosenContainer(pod, route);
  if (!container) { return tl::unexpected(container.error()); }
  if (pod["spec"]["nodeName"].str().empty()) { return Response{204, {}}; }
  const Env* env = world.kubelet().envOf(std::string{pod["metadata"]["uid"].str()}, *container);
  if (env == nullptr) {
    return badRequest(fmt::format("container \"{}\" in pod \"{}\" is waiting to start: ContainerCreating",
                                  *container, route.name));
  }
  Response out;
  out.text = lastLines(listDevices(world, pod, *env), queryOf(route, "tailLines"));
  return out;
}

}  // namespace

std::optional<Response> podLog(World& world, const Request& request) {
  if (request.method != "GET" || request.target.find("/log") == std::string::npos) { return std::nullopt; }
  const auto route = world.api().resources().route(request.target);
  if (!route || route->resource->id() != "/pods" || route->subresource != "log") { return std::nullopt; }
  auto answer = logOf(world, *route);
  return answer ? *std::move(answer) : toResponse(answer.error());
}

}  // namespace gs::sandbox
