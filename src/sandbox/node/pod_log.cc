#include "sandbox/node/pod_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/ascii.h"
#include "kapi/quantity.h"
#include "kapi/time.h"
#include "model/resources.h"

namespace gs::sandbox {
namespace {

constexpr std::int64_t kMaxSince = 1'000'000'000;  // seconds: further back nothing was

using json::Value;

const Value& containerOf(const Value& pod, std::string_view name) {
  static const Value kNone;
  for (const char* part : {"initContainers", "containers"}) {
    for (const Value& c : pod["spec"][part].items()) {
      if (c["name"].str() == name) { return c; }
    }
  }
  return kNone;
}

std::string namesOf(const Value& containers) {
  std::string out;
  for (const Value& c : containers.items()) {
    out += (out.empty() ? "" : " ") + std::string{c["name"].str()};
  }
  return out;
}

/// The container that was asked for, or the only one. Error 400 as the real server words it.
apiserver::Answer<std::string> chosenContainer(const Value& pod, const apiserver::Route& route) {
  const std::string wanted = apiserver::valueOf(route.query, "container");
  if (!wanted.empty() && !containerOf(pod, wanted).isNull()) { return wanted; }
  if (!wanted.empty()) {
    return apiserver::badRequest(fmt::format("container {} is not valid for pod {}", wanted, route.name));
  }
  const auto& containers = pod["spec"]["containers"].items();
  if (containers.size() == 1) { return std::string{containers.front()["name"].str()}; }
  const std::string init = namesOf(pod["spec"]["initContainers"]);
  return apiserver::badRequest(
      fmt::format("a container name must be specified for pod {}, choose one of: [{}]{}", route.name,
                  namesOf(pod["spec"]["containers"]),
                  init.empty() ? "" : fmt::format(" or one of the init containers: [{}]", init)));
}

std::set<std::string> partsOf(std::string_view text) {
  const auto parts = commaList(text);
  return {parts.begin(), parts.end()};
}

bool usedBy(const Value& device, std::string_view uid) {
  const auto& users = device["inUseBy"].items();
  return std::any_of(users.begin(), users.end(), [&](const Value& u) { return u.str() == uid; });
}

/// What says which GPUs a container sees.
struct Sight {
  bool by_use = false;  // those that its node says its pod uses
  bool all = false;
  std::set<std::string> names{};  // ids or UUIDs
};

/// The env decides. Without one, who asked for nvidia.com/gpu is given GPUs by the node: those of the pod's
/// annotation at the start, or any free ones; who did not ask sees none.
Sight sightOf(const Kubelet& kubelet, const Value& pod, const Value& container, const Env& env) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    if (const auto it = env.find(name); it != env.end()) {
      return {.all = it->second == "all", .names = partsOf(it->second)};
    }
  }
  if (kapi::unitsOf(container["resources"]["limits"][model::kNvidiaGpu]).value_or(0) <= 0) { return {}; }
  const auto given = kubelet.devicesAtStart(std::string{pod["metadata"]["uid"].str()});
  return given ? Sight{.names = partsOf(*given)} : Sight{.by_use = true};
}

/// `nvidia-smi -L` in a container with this env.
std::string listDevices(const apiserver::Api& api, const Kubelet& kubelet, const Value& pod,
                        const Value& container, const Env& env) {
  const auto* status =
      api.store().find({"gpu.scheduling/gpunodestatuses", "", std::string{pod["spec"]["nodeName"].str()}});
  if (status == nullptr) { return "No devices found.\n"; }
  const auto uid = pod["metadata"]["uid"].str();
  const Sight sight = sightOf(kubelet, pod, container, env);
  std::string out;
  for (const Value& d : (*status->object)["status"]["devices"].items()) {
    const std::string id = std::to_string(d["id"].intOr(-1));
    const std::string uuid{d["uuid"].str()};
    const bool seen = sight.all || sight.names.contains(id) || sight.names.contains(uuid) ||
                      (sight.by_use && usedBy(d, uid));
    if (seen) { out += fmt::format("GPU {}: {} (UUID: {})\n", id, d["model"].str(), uuid); }
  }
  return out.empty() ? "No devices found.\n" : out;
}

/// The variable that a command prints by `printenv NAME`, alone or in a shell's line; "": none.
std::string printedBy(const Value& container) {
  constexpr std::string_view kPrint = "printenv ";
  std::string line;
  for (const char* part : {"command", "args"}) {
    for (const Value& word : container[part].items()) { line += fmt::format("{} ", word.str()); }
  }
  const auto at = line.find(kPrint);
  if (at == std::string::npos) { return {}; }
  const auto begin = at + kPrint.size();
  return line.substr(begin, line.find_first_of(" ;&|", begin) - begin);
}

std::string writtenBy(const apiserver::Api& api, const Kubelet& kubelet, const Value& pod,
                      const Value& container, const Env& env) {
  const std::string variable = printedBy(container);
  if (variable.empty()) { return listDevices(api, kubelet, pod, container, env); }
  const auto it = env.find(variable);
  return it == env.end() ? std::string{} : it->second + "\n";
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

/// When the container began; "" when its status does not say. All its lines are of that moment.
std::string beganAt(const Value& pod, std::string_view container) {
  for (const char* part : {"containerStatuses", "initContainerStatuses"}) {
    for (const Value& c : pod["status"][part].items()) {
      if (c["name"].str() != container) { continue; }
      for (const char* state : {"running", "terminated"}) {
        if (const auto at = c["state"][state]["startedAt"].str(); !at.empty()) { return std::string{at}; }
      }
    }
  }
  return {};
}

/// Whether sinceSeconds or sinceTime leaves out what was written at `began`.
bool before(const apiserver::Route& route, const std::string& began, Now now) {
  const auto at = kapi::parseTime(began);
  if (!at) { return false; }
  const std::string seconds = apiserver::valueOf(route.query, "sinceSeconds");
  std::int64_t count = 0;
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), count);
  if (count > 0 && count < kMaxSince && *at < now.wall - std::chrono::seconds{count}) { return true; }
  const auto since = kapi::parseTime(apiserver::valueOf(route.query, "sinceTime"));
  return since && *at < *since;
}

std::string stamped(const std::string& text, const std::string& time) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += fmt::format("{} {}", time, text.substr(at, end - at));
    at = end;
  }
  return out;
}

apiserver::Answer<apiserver::Response> logOf(const apiserver::Api& api, const Kubelet& kubelet,
                                             const apiserver::Route& route, Now now) {
  const auto* stored = api.store().find({"/pods", route.ns, route.name});
  if (stored == nullptr) { return apiserver::notFound(route.resource->subject(), route.name); }
  const Value& pod = *stored->object;
  const auto container = chosenContainer(pod, route);
  if (!container) { return tl::unexpected(container.error()); }
  if (pod["spec"]["nodeName"].str().empty()) { return apiserver::Response{204, {}}; }
  if (apiserver::isTrue(route.query, "previous")) {  // no container is ever started again
    return apiserver::badRequest(
        fmt::format("previous terminated container \"{}\" in pod \"{}\" not found", *container, route.name));
  }
  const Env* env = kubelet.envOf(std::string{pod["metadata"]["uid"].str()}, *container);
  if (env == nullptr) {
    return apiserver::badRequest(fmt::format(
        "container \"{}\" in pod \"{}\" is waiting to start: ContainerCreating", *container, route.name));
  }
  const std::string began = beganAt(pod, *container);
  apiserver::Response out;
  if (before(route, began, now)) { return apiserver::Response{204, {}}; }
  out.text = lastLines(writtenBy(api, kubelet, pod, containerOf(pod, *container), *env),
                       apiserver::valueOf(route.query, "tailLines"));
  if (apiserver::isTrue(route.query, "timestamps") && !began.empty()) { out.text = stamped(out.text, began); }
  return out;
}

}  // namespace

std::optional<apiserver::Response> podLog(const apiserver::Api& api, const Kubelet& kubelet,
                                          const apiserver::Request& request, Now now) {
  if (request.method != "GET" || request.target.find("/log") == std::string::npos) { return std::nullopt; }
  const auto route = api.resources().route(request.target);
  if (!route || route->resource->id() != "/pods" || route->subresource != "log") { return std::nullopt; }
  auto answer = logOf(api, kubelet, *route, now);
  return answer ? *std::move(answer) : apiserver::toResponse(answer.error());
}

}  // namespace gs::sandbox
