// gpu-sandbox: a GPU cluster in one process: commands and flags. What they do: sandbox/serve/commands.h.
#include <iostream>

#include "base/log.h"
#include "k8s/effect_runner.h"
#include "process/flags.h"
#include "process/process.h"
#include "process/program.h"
#include "sandbox/serve/commands.h"
#include "sandbox/serve/demo.h"

namespace gs {
namespace {

using process::Command;

struct Flags {
  process::ClusterFlags cluster;
  process::LogFlags log{.level = "error"};
  process::TlsFlags tls;
  sandbox::ServeSettings serve;
  sandbox::NewNodes add;
  std::string node, gpu;
  int xid = 79;
  int timeout_s = 120;
};

int serve(const process::Program& program, Flags& f) {
  const process::StopSignals signals;  // before any thread
  process::useLog(f.log);
  log::write(log::Level::Info, "running", program.settings());
  auto tls = process::serverTlsOf(f.tls);
  if (!tls) { return process::ended(tl::unexpected(tls.error())); }
  f.serve.tls = *std::move(tls);
  f.serve.seed = process::randomSeed().next();
  f.serve.on_log = k8s::writeLog;
  return process::ended(sandbox::serve(
      f.serve, [&] { signals.wait(); }, std::cout));
}

void describeServe(const process::Program& program, Command serve_command, Flags& f) {
  serve_command.topic("Cluster")
      .text("--nodes", "FILE", f.serve.node_file, "A node file; without it the two built-in nodes")
      .text("--data", "FILE", f.serve.data_file, "Keep the state there over a restart; without it in memory")
      .flag("--no-scheduler", f.serve.no_scheduler, "No scheduler inside: run gpu-scheduler beside it")
      .flag("--no-controllers", f.serve.no_controllers, "None inside: Deployments and Jobs make no pods")
      .flag("--no-webhook", f.serve.no_webhook, "Containers are not told their GPUs, claims are not checked")
      .flag("--api-only", f.serve.api_only, "The API server alone: no nodes, controllers, scheduler or CRDs")
      .topic("Address")
      .text("--address", "HOST:PORT", f.serve.address, "Where to listen; port 0: any that is free")
      .flag("--i-know-it-is-open", f.serve.open, "Listen where others reach it: there is no authentication")
      .text("--kubeconfig-out", "FILE", f.serve.kubeconfig_out, "Its kubeconfig; without it a temporary one");
  process::addServerTls(serve_command, f.tls, "; the kubeconfig trusts what is in the file");
  process::addLog(serve_command, f.log);
  serve_command.topic("Log")
      .text("--request-log", "FILE", f.serve.request_log,
            "A line per request: who, verb, resource, subresource, namespace, name, code")
      .does([&] { return serve(program, f); });
}

/// Does `what` by the sandbox that the kubeconfig names.
template <class What>
void doesRemotely(Command command, Flags& f, What what) {
  command.does([&f, what] {
    const auto access = f.cluster.access();
    if (!access) { return process::ended(tl::unexpected(access.error())); }
    sandbox::Remote server{access->server, access->tls};
    return process::ended(what(server));
  });
}

void describeNode(Command node, Flags& f) {
  process::addKubeconfig(node, f.cluster);
  Command add = node.command("add", "Adds a node, or those of a file");
  add.word("name", f.add.name, "The node's name", false)
      .text("--nodes", "FILE", f.add.node_file, "A node file, in place of a name")
      .number("--gpus", "N", 0, 1'024, f.add.gpus, "How many GPUs the node has");
  doesRemotely(add, f, [&f](auto& s) { return sandbox::addNodes(s, f.add); });
  Command remove = node.command("remove", "The machine goes at once; its pods go 40 s later")
                       .word("name", f.node, "The node's name");
  doesRemotely(remove, f, [&f](auto& s) { return s.removeNode(f.node); });
  Command drain = node.command("drain", "Cordons it and evicts its pods, until it is empty");
  drain.word("name", f.node, "The node's name")
      .number("--timeout", "SECONDS", 0, 86'400, f.timeout_s, "Then it says who is left, and exits with 2");
  doesRemotely(drain, f, [&f](auto& s) { return sandbox::drain(s, f.node, f.timeout_s, std::cout); });
}

void describeGpu(Command gpu, Flags& f) {
  process::addKubeconfig(gpu, f.cluster);
  Command fail = gpu.command("fail", "The GPU becomes Unhealthy, as after this driver error");
  Command repair = gpu.command("repair", "The GPU is Healthy again");
  for (Command* one : {&fail, &repair}) {
    one->word("node", f.node, "The node's name").word("id", f.gpu, "The GPU's number on it, from 0");
  }
  fail.number("--xid", "N", 0, 1'000, f.xid, "The driver error's number");
  doesRemotely(fail, f, [&f](auto& s) { return s.failGpu(f.node, f.gpu, f.xid); });
  doesRemotely(repair, f, [&f](auto& s) { return s.repairGpu(f.node, f.gpu); });
}

int run(int argc, char** argv) {
  process::Program program{
      "gpu-sandbox",
      "A GPU cluster in one process: API server, nodes and scheduler, without Docker or Kubernetes."};
  Flags f;
  Command root = program.root();
  describeServe(program, root.command("serve", "The cluster in real time, for kubectl and other clients"), f);
  describeNode(root.command("node", "Adds, removes or drains a node of a running sandbox"), f);
  describeGpu(root.command("gpu", "Breaks or repairs a GPU of a running sandbox"), f);
  const auto demo = [] { return sandbox::runDemo(std::cout) ? 0 : 1; };
  root.command("demo", "Plays the usage guide's examples and checks what comes out").does(demo);
  root.command("nodes", "Reads a node file and prints its nodes, or says what is wrong")
      .text("--nodes", "FILE", f.serve.node_file, "A node file; without it the two built-in nodes")
      .does([&f] { return process::ended(sandbox::printNodes(f.serve.node_file, std::cout)); });
  return program.run(argc, argv);
}

}  // namespace
}  // namespace gs

int main(int argc, char** argv) { return gs::run(argc, argv); }
