// CacheNodeRim: what gkm-agent's machine (operator/node/node_agent.h) has around it: the keeper of the store,
// the looks at the GPUs, the policy of signatures; and what brings each to the other.
//
// The machine and the watch of the policy are driven by the Host as one. The clock and the Host outlive it.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/readiness.h"
#include "cacherim/keeper/keeper.h"
#include "cacherim/registry/pause.h"
#include "k8s/host.h"
#include "noderim/gpu_source.h"
#include "noderim/poller.h"
#include "operator/node/node_agent.h"
#include "operator/node/pod_watch.h"
#include "operator/pull_secrets.h"
#include "operator/trust/policy_watch.h"
#include "serve/node/node_counts.h"
#include "serve/trust/gate.h"
#include "serve/trust/pull_secret_reader.h"
#include "serve/trust/registry_images.h"

namespace gs::serve {

class CacheNodeRim {
 public:
  /// Of asking whether a cache may have an image.
  static constexpr Duration kAsking = std::chrono::minutes{1};

  struct Config {
    gkm::NodeAgent::Config agent;
    std::string ns;  // our own, where the policy is
    cacherim::Keeper::Options keeper;
    RegistryImages::Options images;
    std::unique_ptr<noderim::GpuSource> gpus;  // nullptr: there are none
  };
  CacheNodeRim(Config config, k8s::Host& host, const Clock& clock, Rng rng);

  void startThreads();
  void stopThreads();

  // ---- the machine, on its thread

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  void stopTaking() { agent_.stopTaking(); }
  [[nodiscard]] bool underWay() const { return agent_.underWay(); }
  [[nodiscard]] const std::string& failure() const { return agent_.failure(); }
  [[nodiscard]] Readiness readiness() const;
  /// Prometheus text.
  [[nodiscard]] std::string metricsText() { return counts_.text(keeper_.figures(), agent_.states()); }

 private:
  [[nodiscard]] Status admit(const model::ObjectKey& cache, const kcache::WantedImage& image);
  void gpusSeen(const agent::LookPtr& look);
  /// What the machine wants, to the keeper. Not before it is known who may have what.
  void passOn();

  k8s::Host& host_;
  TrustGate gate_;
  controller::Owners owners_;
  controller::Parts beside_{owners_};  // what runs beside the agent
  gkm::PullSecrets secret_reads_;
  PullSecretReader secrets_;
  gkm::NodeAgent agent_;
  gkm::PolicyWatch policy_;
  gkm::PodWatch pods_;
  RegistryImages images_;
  NodeCounts counts_;
  cacherim::RealPause pause_;
  cacherim::Keeper keeper_;
  std::string why_no_gpus_;                // as it was logged; of the thread that looks at GPUs
  std::unique_ptr<noderim::Poller> gpus_;  // nullptr: there are none
};

}  // namespace gs::serve
