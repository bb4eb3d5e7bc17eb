#include "serve/agent/flags.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/temp_folder_test.h"
#include "serve/agent/looks.h"

namespace gs::serve {
namespace {

Environment having(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional{it->second};
  };
}

TEST(AgentFlags, TheNodesNameComesFromTheFlagThenFromTheEnvironment) {
  AgentFlags flags;
  EXPECT_EQ(flags.node(having({{"HOSTNAME", "h"}}))->text, "h");
  EXPECT_EQ(flags.node(having({{"HOSTNAME", "h"}, {"NODE_NAME", "n"}}))->text, "n");
  EXPECT_EQ(flags.node(having({{"HOSTNAME", "h"}, {"NODE_NAME", ""}}))->text, "h");
  EXPECT_EQ(flags.node(having({{"HOSTNAME", "GPU-Host.Example.COM"}}))->text, "gpu-host.example.com")
      << "as its kubelet calls it";
  flags.node_name = "F";
  EXPECT_EQ(flags.node(having({{"NODE_NAME", "n"}}))->text, "f");
}

TEST(AgentFlags, WhatCannotBeIsRefused) {
  AgentFlags flags;
  EXPECT_EQ(flags.check(having({})).error().message,
            "the node has no name: write --node-name=NAME, or set NODE_NAME to spec.nodeName");
  flags.node_name = "n";
  EXPECT_TRUE(flags.check(having({})));
  flags.simulate = "/not/there";
  EXPECT_NE(flags.check(having({})).error().message.find("--simulate: "), std::string::npos);
}

TEST(AgentFlags, WhatEnforcingDevicesNeedsIsLookedAt) {
  struct Case {
    const char* name;
    void (*change)(AgentFlags&);
    const char* said;
  };
  const Case cases[] = {
      {"no socket", [](AgentFlags& f) { f.nri_socket = ""; },
       "--enforce=devices is done by the container runtime's NRI, and --nri-socket= is not the path of its "
       "socket: write /var/run/nri/nri.sock say, or --enforce=env"},
      {"no path", [](AgentFlags& f) { f.nri_socket = "unix://nri.sock"; },
       "--nri-socket=unix://nri.sock is not"},
      {"no folder", [](AgentFlags& f) { f.cdi_spec_dirs = " ,"; }, "--cdi-spec-dirs= , names 0 folders"},
      {"no path of a folder", [](AgentFlags& f) { f.cdi_spec_dirs = "/etc/cdi,cdi"; },
       "--cdi-spec-dirs: cdi has to be an absolute path, without '/' at its end"},
      {"a folder twice", [](AgentFlags& f) { f.cdi_spec_dirs = "/etc/cdi,/run/cdi,/etc/cdi"; },
       "--cdi-spec-dirs names /etc/cdi twice"},
      {"no namespace", [](AgentFlags& f) { f.trusted_namespaces = "kube-system,GPU"; },
       "--trusted-namespaces: GPU is no namespace's name"},
      {"no namespace of leases", [](AgentFlags& f) { f.lease_namespace = "a.b"; },
       "--lease-namespace=a.b is no namespace's name"},
      {"no root", [](AgentFlags& f) { f.host_root = "host"; }, "--host-root=host has to be an absolute path"},
  };
  for (const Case& c : cases) {
    AgentFlags flags;
    flags.node_name = "n";
    c.change(flags);
    EXPECT_TRUE(flags.check(having({}))) << c.name << ": nobody reads it";
    flags.enforce = "devices";
    const Status fine = flags.check(having({}));
    ASSERT_FALSE(fine) << c.name;
    EXPECT_NE(fine.error().message.find(c.said), std::string::npos) << c.name << ": " << fine.error().message;
  }
  AgentFlags flags;
  flags.node_name = "n";
  flags.enforce = "devices";
  EXPECT_TRUE(flags.check(having({}))) << "as it is from the start";
  flags.trusted_namespaces = "";
  EXPECT_TRUE(flags.check(having({}))) << "nobody is trusted";
}

/// A pod has its gate before anybody knows to which node it comes, and what is enforced there.
TEST(AgentFlags, TheGateIsServedWhateverIsEnforced) {
  AgentFlags flags;
  flags.node_name = "n";
  for (const char* enforce : {"off", "env", "devices"}) {
    flags.enforce = enforce;
    flags.gate = "auto";
    EXPECT_EQ(flags.hasGate(), enforce == std::string{"devices"});
    flags.gate = "false";
    EXPECT_FALSE(flags.hasGate());
    flags.kubelet_dir = "kubelet/";
    EXPECT_TRUE(flags.check(having({})));
    flags.gate = "true";
    EXPECT_TRUE(flags.hasGate());
    EXPECT_NE(flags.check(having({})).error().message.find("--kubelet-dir=kubelet/ has to be"),
              std::string::npos);
  }
}

TEST(AgentFlags, SayHowDevicesAreEnforced) {
  AgentFlags flags;
  flags.node_name = "n";
  EXPECT_FALSE(flags.config(having({})).enforces_devices);
  flags.enforce = "devices";
  EXPECT_TRUE(flags.enforcesDevices());
  auto config = flags.config(having({}), "gpus");
  EXPECT_EQ(config.enforcement, model::Enforcement::Devices);
  EXPECT_TRUE(config.enforces_devices);
  EXPECT_EQ(config.on_mismatch, agent::OnMismatch::Warn);
  EXPECT_EQ(config.lease_namespace, "gpus");
  flags.on_mismatch = "evict";
  flags.lease_namespace = "leases";
  config = flags.config(having({}), "gpus");
  EXPECT_EQ(config.on_mismatch, agent::OnMismatch::Evict);
  EXPECT_EQ(config.lease_namespace, "leases");
  auto options = flags.enforcement(having({}), "gpus");
  EXPECT_EQ(options.node, "n");
  EXPECT_EQ(options.connection.socket, "/var/run/nri/nri.sock");
  EXPECT_EQ(options.cdi.directories, (std::vector<std::string>{"/etc/cdi", "/var/run/cdi"}));
  EXPECT_EQ(options.cdi.host_root, "");
  EXPECT_FALSE(options.facts.is_nvidia_runtime);
  EXPECT_EQ(options.facts.trusted_namespaces,
            (std::set<std::string, std::less<>>{"gpu-operator", "gpus", "kube-system"}));
  flags.nri_socket = "unix:///run/nri.sock";
  flags.cdi_spec_dirs = "/a, /b";
  flags.trusted_namespaces = "";
  flags.is_nvidia_runtime = true;
  flags.host_root = "/host";
  options = flags.enforcement(having({}), "");
  EXPECT_EQ(options.connection.socket, "/run/nri.sock");
  EXPECT_EQ(options.cdi.directories, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(options.cdi.host_root, "/host");
  EXPECT_TRUE(options.facts.is_nvidia_runtime);
  EXPECT_TRUE(options.facts.trusted_namespaces.empty());
}

TEST(AgentFlags, TheRuntimesSocketIsAPath) {
  AgentFlags flags;
  flags.node_name = "n";
  const auto socket = [&](const char* written) {
    flags.container_runtime = written;
    return flags.check(having({})) ? flags.runtimeSocket() : "refused";
  };
  EXPECT_EQ(socket(""), "");
  EXPECT_EQ(socket("/run/crio/crio.sock"), "/run/crio/crio.sock");
  EXPECT_EQ(socket("unix:///run/crio/crio.sock"), "/run/crio/crio.sock");
  for (const char* no :
       {"crio.sock", "./crio.sock", "unix:crio.sock", "unix://crio.sock", "tcp://1.2.3.4:5"}) {
    EXPECT_EQ(socket(no), "refused") << no;
  }
  EXPECT_EQ(flags.check(having({})).error().message,
            "--container-runtime-endpoint=tcp://1.2.3.4:5 is not the path of a socket: write "
            "/run/containerd/containerd.sock say, or unix:///run/containerd/containerd.sock");
}

TEST(AgentFlags, SayWhatTheMachineGoesBy) {
  AgentFlags flags;
  flags.node_name = "n";
  EXPECT_EQ(flags.config(having({})).enforcement, model::Enforcement::Off);
  EXPECT_FALSE(flags.config(having({})).told_uuids);
  flags.visible_devices = "uuid";
  EXPECT_TRUE(flags.config(having({})).told_uuids);
  flags.enforce = "env";
  flags.publish = std::chrono::seconds{7};
  flags.publish_draining = std::chrono::seconds{3};
  const auto config = flags.config(having({}));
  EXPECT_EQ(config.enforcement, model::Enforcement::Env);
  EXPECT_EQ(config.node.text, "n");
  EXPECT_EQ(config.calm, std::chrono::seconds{7});
  EXPECT_EQ(config.draining, std::chrono::seconds{3});
  EXPECT_EQ(config.boot_id.size(), 36U) << "a UUID of the kernel's";
  flags.simulate = "nodes.yaml";
  EXPECT_EQ(flags.config(having({})).boot_id, "") << "nothing is told by XIDs";
}

TEST(PrintedLook, IsTheStatusThatWouldBeWritten) {
  const TempFolder folder;
  AgentFlags flags;
  flags.node_name = "n";
  flags.simulate = folder.path("nodes.yaml");
  std::ofstream{flags.simulate} << "nodes:\n- name: n\n  gpus: {count: 1}\n";
  const auto source = flags.source(having({}));
  const auto text = printedLook(*source, flags.config(having({})));
  ASSERT_TRUE(text);
  const auto value = json::parse(*text);
  EXPECT_EQ((*value)["metadata"]["name"].str(), "n");
  EXPECT_EQ((*value)["status"]["devices"].at(0)["model"].str(), "NVIDIA-L40S");
  EXPECT_TRUE((*value)["status"]["observedTime"].isNull());
  std::ofstream{flags.simulate} << "nodes: 7\n";
  EXPECT_FALSE(printedLook(*source, flags.config(having({}))));
  flags.simulate = "";
  flags.nvml_library = "libnvidia-that-is-not-there.so.1";
  EXPECT_NE(printedLook(*flags.source(having({})), flags.config(having({})))
                .error()
                .message.find("there is no NVIDIA driver"),
            std::string::npos);
}

}  // namespace
}  // namespace gs::serve
