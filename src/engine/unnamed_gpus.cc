#include "engine/unnamed_gpus.h"

#include <algorithm>

namespace gs::engine {

/// Its agent is there and tells what it sees.
bool UnnamedGpus::agentLooks(const model::NodeName& node) const {
  const model::GpuNodeStatus* status = cache_.status(node);
  const sched::NodeState* state = ledger_.find(node);
  return status != nullptr && !status->observed_time.empty() && reclaim_.hasAgent(node) && state != nullptr &&
         state->exists && !state->agent_stale;
}

/// How many GPUs the pod has, or is to have, by their number and without a name.
std::int64_t UnnamedGpus::unnamedOf(const model::NodeName& node, const model::Uid& pod) const {
  const sched::NodeState* state = ledger_.find(node);
  if (state == nullptr) { return 0; }
  const auto it =
      std::lower_bound(state->counted.begin(), state->counted.end(), pod,
                       [](const sched::Counted& c, const model::Uid& wanted) { return c.uid < wanted; });
  return it == state->counted.end() || it->uid != pod ? 0 : it->anonymous();
}

void UnnamedGpus::podChanged(const model::PodPtr& before, const model::Pod* after, Mono now) {
  const bool used = before && before->bound() && !before->finished();
  const bool uses = after != nullptr && after->bound() && !after->finished();
  const bool stays = used && uses && before->node == after->node;
  if (used && !stays) { looks_.over(before->node, before->uid); }
  const bool runs = uses && after->phase == model::PodPhase::Running;
  const bool began = runs && (!stays || before->phase != model::PodPhase::Running);
  if (!uses || !all_listed_ || (stays && !began)) { return; }
  if (unnamedOf(after->node, after->uid) == 0 || !agentLooks(after->node)) { return; }
  looks_.came(after->node, after->uid, runs, now);
}

void UnnamedGpus::allListed(Mono now) {
  all_listed_ = true;
  for (const auto& [uid, pod] : cache_.pods()) {
    if (!pod->bound() || pod->finished() || pod->requests.get(model::kNvidiaGpu) <= 0) { continue; }
    const model::GpuNodeStatus* status = cache_.status(pod->node);
    if (status != nullptr && status->revision < pod->revision) { podChanged(nullptr, pod.get(), now); }
  }
}

void UnnamedGpus::expects(const model::NodeName& node, const model::Uid& pod, Mono now) {
  if (all_listed_ && unnamedOf(node, pod) > 0 && agentLooks(node)) { looks_.came(node, pod, false, now); }
}

void UnnamedGpus::expectsNoMore(const model::NodeName& node, const model::Uid& pod) {
  if (unnamedOf(node, pod) == 0) { looks_.over(node, pod); }
}

void UnnamedGpus::seenWith(const model::Pod& pod) {
  const sched::Holdings said = devices_.read(pod);
  if (said.counted <= 0 || devices_.seenInUse(pod, said).empty()) { return; }
  looks_.named(pod.node, pod.uid, unnamedOf(pod.node, pod.uid) == 0);
}

void UnnamedGpus::agentChanged(const model::NodeName& node) {
  if (!agentLooks(node)) { looks_.forget(node); }
}

}  // namespace gs::engine
