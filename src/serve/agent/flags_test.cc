#include "serve/agent/flags.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

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
  flags.enforce = "devices";
  EXPECT_NE(flags.check(having({})).error().message.find("--enforce=devices is not there yet"),
            std::string::npos);
  flags.enforce = "env";
  flags.simulate = "/not/there";
  EXPECT_NE(flags.check(having({})).error().message.find("--simulate: "), std::string::npos);
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
