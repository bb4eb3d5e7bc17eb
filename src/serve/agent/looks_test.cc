#include "serve/agent/looks.h"

#include <gtest/gtest.h>

#include "process/service.h"
#include "serve/agent/metric_specs.h"

namespace gs::serve {
namespace {

class NoGpus final : public noderim::GpuSource {
 public:
  agent::Look look() override { return agent::Hardware{}; }
};

/// The line on containers of an agent that was given one look at GPUs.
std::string containersAfterALook(Looks::Options options) {
  agent::Agent machine{{.node = model::NodeName{"n"}}, Rng{1}};
  k8s::Access nowhere;
  nowhere.server = "http://127.0.0.1:1";
  k8s::Host host{nowhere, {.user_agent = "test", .metrics = agentMetrics(), .election = {}}, Rng{1}};
  RecordSlot slot;
  PublishedAgent published{machine, slot};
  host.start(process::machineOf(published).run);
  Looks looks{published, host, std::make_unique<NoGpus>(), std::move(options)};
  looks.gpusSeen(std::make_shared<const agent::Look>(agent::Hardware{}));
  const std::string said = host.ask([&] { return machine.readiness().text(); }).value_or("");
  host.stop({}, [] { return true; });
  const auto at = said.find("containers: ");
  return at == std::string::npos ? said : said.substr(at, said.find('\n', at) - at);
}

TEST(Looks, WhereNothingIsRealALookAtGpusIsOneAtContainers) {
  EXPECT_EQ(containersAfterALook({.is_simulated = true}), "containers: ok");
  EXPECT_NE(containersAfterALook({.is_simulated = false}), "containers: ok");
  EXPECT_NE(containersAfterALook({.is_simulated = true, .container_runtime = "/nowhere/cri.sock"}),
            "containers: ok");
}

}  // namespace
}  // namespace gs::serve
