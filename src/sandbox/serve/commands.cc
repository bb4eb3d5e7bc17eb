#include "sandbox/serve/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <utility>

#include "apiserver/handlers/api.h"
#include "base/files.h"
#include "base/random.h"
#include "base/system_clock.h"
#include "kapi/node_file.h"
#include "sandbox/node/machines.h"
#include "sandbox/serve/serve.h"
#include "yaml/yaml.h"

namespace gs::sandbox {
namespace {

/// Error: names the file and what is wrong in it.
Result<json::Value> nodeFile(const std::string& path) {
  const auto text = readFile(path);
  if (!text) { return tl::unexpected(text.error()); }
  const auto documents = yaml::toJson(*text, kMostOfAFile);
  if (!documents) { return fail(Code::Invalid, fmt::format("{}: {}", path, documents.error().message)); }
  if (documents->size() != 1) {
    return fail(Code::Invalid, fmt::format("{}: write one YAML document, not {}", path, documents->size()));
  }
  return json::parse(documents->front());
}

Result<std::vector<kapi::SimNode>> nodesFrom(const std::string& path) {
  if (path.empty()) { return kapi::defaultNodes(); }
  const auto value = nodeFile(path);
  if (!value) { return tl::unexpected(value.error()); }
  auto nodes = kapi::readNodeFile(*value);
  if (!nodes) { return nodes; }
  apiserver::Api api{Rng{1}, SystemClock{}.now()};  // says what it would not take
  if (const auto refused = refusedNode(api, *nodes, SystemClock{}.now())) {
    return fail(Code::Invalid, fmt::format("{}: {}", path, *refused));
  }
  return nodes;
}

std::string runtimeKubeconfig() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const auto folder = runtime != nullptr && *runtime != '\0' ? std::filesystem::path{runtime}
                                                             : std::filesystem::temp_directory_path();
  return folder / fmt::format("gpu-sandbox-{}.kubeconfig", ::getpid());
}

Result<Server::Options> optionsOf(const ServeSettings& settings) {
  auto nodes = nodesFrom(settings.node_file);
  if (!nodes) { return tl::unexpected(nodes.error()); }
  Server::Options out;
  out.address = settings.address;
  out.open = settings.open;
  out.data_file = settings.data_file;
  out.kubeconfig = settings.kubeconfig_out.empty() ? runtimeKubeconfig() : settings.kubeconfig_out;
  out.request_log = settings.request_log;
  out.tls = settings.tls;
  out.live.world.nodes = *std::move(nodes);
  out.live.world.seed = settings.seed;
  out.live.world.on_log = [on_log = settings.on_log](ReplicaId, const kapi::Log& line) {
    if (on_log) { on_log(line); }
  };
  out.live.world.on_refused = settings.on_log;
  if (settings.no_scheduler || settings.api_only) { out.live.scheduler.reset(); }
  out.live.world.controllers = !settings.no_controllers && !settings.api_only;
  out.live.world.classes = out.live.world.controllers;
  out.live.world.webhook = !settings.no_webhook && !settings.api_only;
  if (settings.api_only) {
    out.live.world.nodes.clear();
    out.live.world.kubelets = false;
    out.live.world.crds = false;
  }
  return out;
}

}  // namespace

Status serve(const ServeSettings& settings, const std::function<void()>& wait, std::ostream& out) {
  const SystemClock clock;
  auto options = optionsOf(settings);
  if (!options) { return tl::unexpected(options.error()); }
  const std::string kubeconfig = options->kubeconfig;
  const bool scheduler = options->live.scheduler.has_value();
  auto server = Server::start(*std::move(options), clock);
  if (!server) { return tl::unexpected(server.error()); }
  if ((*server)->restored() && !settings.node_file.empty()) {
    out << fmt::format(
        "# {} holds nodes of its own: those of {} were not made (gpu-sandbox node add makes them)\n",
        settings.data_file, settings.node_file);
  }
  out << fmt::format("# gpu-sandbox serves {} (no authentication{})\nexport KUBECONFIG={}\n",
                     (*server)->url(), scheduler ? "" : ", no scheduler inside", kubeconfig)
      << std::flush;
  wait();
  (*server)->stop();
  if (settings.kubeconfig_out.empty()) { std::filesystem::remove(kubeconfig); }
  return {};
}

Status printNodes(const std::string& node_file, std::ostream& out) {
  const auto read = nodesFrom(node_file);
  if (!read) { return tl::unexpected(read.error()); }
  for (const auto& node : *read) { out << fmt::format("{}: {} GPUs\n", node.name.text, node.devices.size()); }
  return {};
}

Status addNodes(Remote& server, const NewNodes& nodes) {
  if (nodes.name.empty() == nodes.node_file.empty()) {
    return fail(Code::Invalid, "give the name of one node, or --nodes FILE for those of a file, not both");
  }
  if (!nodes.node_file.empty()) {
    const auto file = nodeFile(nodes.node_file);
    return file ? server.addNodes(*file) : tl::unexpected(file.error());
  }
  json::Value file = json::Object{};
  json::Value node = json::Object{{"name", nodes.name}, {"gpus", json::Object{{"count", nodes.gpus}}}};
  file.set("nodes", json::Array{std::move(node)});
  return server.addNodes(file);
}

Status drain(Remote& server, const std::string& node, int timeout_s, std::ostream& out) {
  return server.drainNode(node, std::chrono::seconds{timeout_s}, SystemClock{},
                          [&out](const std::string& left) {
                            out << "waiting for " << left << '\n' << std::flush;
                          });
}

}  // namespace gs::sandbox
