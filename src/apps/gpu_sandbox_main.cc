// gpu-sandbox: a whole GPU cluster in one process. `serve` is it for kubectl, `node` and `gpu` change what serves, `demo` plays
// the usage guide's examples and checks every output.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <random>

#include "base/log.h"
#include "base/system_clock.h"
#include "k8s/effect_runner.h"
#include "k8s/kubeconfig.h"
#include "kapi/node_file.h"
#include "process/flags.h"
#include "sandbox/serve/demo.h"
#include "sandbox/serve/remote.h"
#include "sandbox/serve/serve.h"
#include "sandbox/serve/whole_file.h"
#include "yaml/yaml.h"

namespace gs {
namespace {

constexpr int kMaxTimeout = 86'400;
constexpr int kMaxGpuId = 1'000;
constexpr std::size_t kMaxNodeFile = std::size_t{4} << 20;

struct Flags {
  std::string node_file;
  std::string address = "127.0.0.1:0";
  std::string kubeconfig_out;
  std::string data_file;
  std::string kubeconfig;
  std::string log_level = "error";
  bool scheduler = true;
  bool open = false;
  bool api_only = false;
  std::string request_log;
  std::string cert_file;
  std::string key_file;
  std::string node;
  int gpus = 8;
  int gpu = 0;
  int xid = 79;
  int timeout_s = 120;
};

/// Error: names the file and what is wrong in it.
Result<json::Value> nodeFile(const std::string& path) {
  const auto text = sandbox::readWholeFile(path, kMaxNodeFile);
  if (!text) { return tl::unexpected(text.error()); }
  const auto documents = yaml::toJson(*text, kMaxNodeFile);
  if (!documents) { return fail(Code::Invalid, fmt::format("{}: {}", path, documents.error().message)); }
  if (documents->size() != 1) {
    return fail(Code::Invalid, fmt::format("{}: write one YAML document", path));
  }
  return json::parse(documents->front());
}

Result<std::vector<kapi::SimNode>> nodesFrom(const std::string& path) {
  if (path.empty()) { return kapi::defaultNodes(); }
  const auto value = nodeFile(path);
  if (!value) { return tl::unexpected(value.error()); }
  return kapi::readNodeFile(*value);
}

int complain(const Error& error) {
  std::cerr << error.message << '\n';
  return 2;
}

int printNodes(const Flags& flags) {
  const auto read = nodesFrom(flags.node_file);
  if (!read) { return complain(read.error()); }
  for (const auto& node : *read) {
    std::cout << fmt::format("{}: {} GPUs\n", node.name.text, node.devices.size());
  }
  return 0;
}

std::string defaultKubeconfig() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const auto folder = runtime != nullptr && *runtime != '\0' ? std::filesystem::path{runtime}
                                                             : std::filesystem::temp_directory_path();
  return folder / fmt::format("gpu-sandbox-{}.kubeconfig", ::getpid());
}

int serve(const Flags& flags) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: they all inherit it
  auto nodes = nodesFrom(flags.node_file);
  if (!nodes) { return complain(nodes.error()); }
  sandbox::Server::Options options;
  options.address = flags.address;
  options.open = flags.open;
  options.data_file = flags.data_file;
  options.kubeconfig = flags.kubeconfig_out.empty() ? defaultKubeconfig() : flags.kubeconfig_out;
  options.live.world.nodes = *std::move(nodes);
  std::random_device device;
  options.live.world.seed = (std::uint64_t{device()} << 32U) ^ device();
  options.live.world.on_log = [](sandbox::ReplicaId, const kapi::Log& line) { k8s::writeLog(line); };
  if (!flags.scheduler || flags.api_only) { options.live.scheduler.reset(); }
  if (flags.api_only) {
    options.live.world.nodes.clear();
    options.live.world.kubelets = false;
    options.live.world.crds = false;
  }
  options.request_log = flags.request_log;
  if (flags.cert_file.empty() != flags.key_file.empty()) {
    return complain({Code::Invalid, "--tls-cert-file and --tls-private-key-file go together; give both"});
  }
  if (!flags.cert_file.empty()) { options.tls = net::ServerTls{flags.cert_file, flags.key_file}; }
  const SystemClock clock;
  const std::string kubeconfig = options.kubeconfig;
  const bool scheduler = options.live.scheduler.has_value();
  auto server = sandbox::Server::start(std::move(options), clock);
  if (!server) { return complain(server.error()); }
  if ((*server)->restored() && !flags.node_file.empty()) {
    std::cout << fmt::format(
        "# {} holds nodes of its own: those of {} were not made (gpu-sandbox node add makes them)\n",
        flags.data_file, flags.node_file);
  }
  std::cout << fmt::format("# gpu-sandbox serves {} (no authentication{})\nexport KUBECONFIG={}\n",
                           (*server)->url(), scheduler ? "" : ", no scheduler inside", kubeconfig)
            << std::flush;
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->stop();
  if (flags.kubeconfig_out.empty()) { std::filesystem::remove(kubeconfig); }
  return 0;
}

/// What a client subcommand sends, to the server of the kubeconfig.
int remote(const Flags& flags, const std::function<Status(sandbox::Remote&)>& what) {
  const auto access = k8s::loadAccess(flags.kubeconfig, "", k8s::Surroundings::ofProcess());
  if (!access) { return complain(access.error()); }
  sandbox::Remote server{access->server, access->tls};
  const Status done = what(server);
  return done ? 0 : complain(done.error());
}

int addNodes(const Flags& flags) {
  Result<json::Value> file = json::Value{json::Object{}};
  if (!flags.node_file.empty()) {
    file = nodeFile(flags.node_file);
    if (!file) { return complain(file.error()); }
  } else {
    json::Value node = json::Object{{"name", flags.node}, {"gpus", json::Object{{"count", flags.gpus}}}};
    file->set("nodes", json::Array{std::move(node)});
  }
  return remote(flags, [&](sandbox::Remote& server) { return server.addNodes(*file); });
}

void describeServe(CLI::App& app, Flags& f, std::function<int()>& chosen) {
  CLI::App* serve_app =
      app.add_subcommand("serve", "The cluster in real time, for kubectl and other clients");
  serve_app->add_option("--address", f.address, "Where to listen; port 0: any free one")
      ->capture_default_str();
  serve_app->add_option("--nodes", f.node_file, "A node file; without it the two built-in nodes");
  serve_app->add_option(
      "--kubeconfig-out", f.kubeconfig_out,
      "Where to write the kubeconfig; default: a file in the runtime folder, removed at the end");
  serve_app->add_option("--data", f.data_file, "Keep the state in this file over a restart");
  serve_app->add_flag("!--no-scheduler", f.scheduler, "No scheduler inside: run gpu-scheduler beside it");
  serve_app->add_flag("--api-only", f.api_only,
                      "The API server alone: no nodes, kubelets, scheduler or CRDs");
  serve_app->add_option(
      "--request-log", f.request_log,
      "Append each request to this file: who (the bearer token, unchecked), verb, resource, "
      "subresource, namespace, name, code");
  serve_app->add_option("--tls-cert-file", f.cert_file,
                        "Serve HTTPS with this certificate; the kubeconfig trusts what is in the file");
  serve_app->add_option("--tls-private-key-file", f.key_file, "Key of that certificate");
  serve_app->add_flag("--i-know-it-is-open", f.open,
                      "Listen on an address that others reach: there is no authentication");
  serve_app->add_option("--log-level", f.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  serve_app->callback([&] { chosen = [&] { return serve(f); }; });
}

void describeRemote(CLI::App& app, Flags& f, std::function<int()>& chosen) {
  CLI::App* node = app.add_subcommand("node", "Adds, removes or drains a node of a running sandbox");
  CLI::App* gpu = app.add_subcommand("gpu", "Breaks or repairs a GPU of a running sandbox");
  for (CLI::App* one : {node, gpu}) {
    one->require_subcommand(1);
    one->fallthrough();  // --kubeconfig may come after the subcommand
    one->add_option("--kubeconfig", f.kubeconfig, "Of the sandbox; without it KUBECONFIG");
  }
  const auto on = [&f, &chosen](CLI::App* parent, const char* name, const char* help, auto what) {
    CLI::App* sub = parent->add_subcommand(name, help);
    sub->callback([&f, &chosen, what] {
      chosen = [&f, what] { return remote(f, [&](auto& s) { return what(f, s); }); };
    });
    return sub;
  };
  CLI::App* add = node->add_subcommand("add", "Adds the nodes of a file, or one of a name with --gpus GPUs");
  auto* name = add->add_option("name", f.node, "The node's name");
  auto* file = add->add_option("--nodes", f.node_file, "A node file")->excludes(name);
  add->add_option("--gpus", f.gpus, "How many GPUs it has")->capture_default_str()->excludes(file);
  add->callback([&f, &chosen, add] {
    if (f.node.empty() && f.node_file.empty()) { throw CLI::RequiredError("name or --nodes"); }
    (void)add;
    chosen = [&f] { return addNodes(f); };
  });
  on(node, "remove", "The machine goes at once; its pods go 40 s later",
     [](const Flags& flags, sandbox::Remote& s) { return s.removeNode(flags.node); })
      ->add_option("name", f.node)
      ->required();
  CLI::App* drain = on(node, "drain", "Cordons it and evicts its pods, until it is empty",
                       [](const Flags& flags, sandbox::Remote& s) {
                         const SystemClock clock;
                         const auto waits = [](const std::string& left) {
                           std::cout << "waiting for " << left << '\n' << std::flush;
                         };
                         return s.drainNode(flags.node, std::chrono::seconds{flags.timeout_s}, clock, waits);
                       });
  drain->add_option("name", f.node)->required();
  drain->add_option("--timeout", f.timeout_s, "Seconds; then it says who is left and exits with 2")
      ->capture_default_str()
      ->check(CLI::Range(0, kMaxTimeout));
  const auto gpu_of = [&f](CLI::App* sub) {
    sub->add_option("node", f.node)->required();
    sub->add_option("id", f.gpu)->required()->check(CLI::Range(0, kMaxGpuId));
    return sub;
  };
  gpu_of(
      on(gpu, "fail", "The GPU becomes Unhealthy, as after this driver error",
         [](const Flags& flags, sandbox::Remote& s) { return s.failGpu(flags.node, flags.gpu, flags.xid); }))
      ->add_option("--xid", f.xid, "The driver error's number")
      ->capture_default_str();
  gpu_of(on(gpu, "repair", "The GPU is Healthy again",
            [](const Flags& flags, sandbox::Remote& s) { return s.repairGpu(flags.node, flags.gpu); }));
}

int run(int argc, char** argv) {
  CLI::App app{"A GPU cluster in one process: API server, nodes and scheduler, without Docker or Kubernetes.",
               "gpu-sandbox"};
  app.require_subcommand(1);
  Flags flags;
  std::function<int()> chosen;
  describeServe(app, flags, chosen);
  describeRemote(app, flags, chosen);
  app.add_subcommand("demo", "Plays the usage guide's examples and checks what comes out")->callback([&] {
    chosen = [] { return sandbox::runDemo(std::cout) ? 0 : 1; };
  });
  CLI::App* nodes =
      app.add_subcommand("nodes", "Reads a node file and prints its nodes, or says what is wrong");
  nodes->add_option("--nodes", flags.node_file, "A node file; without it the two built-in nodes");
  nodes->callback([&] { chosen = [&] { return printNodes(flags); }; });
  try {
    process::parse(app, {argv + 1, argv + argc});
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? 0 : 2; }
  log::setLevel(log::levelNamed(flags.log_level));
  return chosen();
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
