#include "agent/enforced/pod_news.h"

#include <iterator>

#include "kapi/kinds.h"

namespace gs::agent {

/// Each event has a name of its own (EventNote::once): nothing is drawn.
PodNews::PodNews(const model::NodeName& node, controller::Parts& parts)
    : node_{node},
      recorder_{"gpu-scheduler-agent", "gpu-scheduler-agent-" + node.text, Rng{0}},
      events_{recorder_, parts} {}

void PodNews::warnPod(const model::ObjectKey& pod, const model::Uid& uid, const std::string& reason,
                      const std::string& note, Now now, kapi::Effects& out) {
  if (uid.empty() || pod.name.empty() || !isNews(uid, reason, note, now.mono)) { return; }
  events_.send({kapi::kPod, pod, uid, 0, true, reason, "Enforcing", note, note}, now, out);
}

void PodNews::warnNode(const model::Uid& uid, const std::string& reason, const std::string& note, Now now,
                       kapi::Effects& out) {
  if (uid.empty() || !isNews(uid, reason, note, now.mono)) { return; }
  events_.send({kapi::kNode, {"", node_.text}, uid, 0, true, reason, "Enforcing", note, note}, now, out);
}

bool PodNews::isNews(const model::Uid& uid, const std::string& reason, const std::string& note, Mono now) {
  if (said_.size() >= kMostObjects && !said_.contains(uid)) {
    forgetOld(now);
    if (said_.size() >= kMostObjects) { return false; }
  }
  auto& of_it = said_[uid];
  const auto known = of_it.find({reason, note});
  if (known != of_it.end()) {
    if (now - known->second < kAgain) { return false; }
    known->second = now;
    return true;
  }
  std::erase_if(of_it, [&](const auto& one) { return now - one.second >= kAgain; });
  return of_it.size() < kMostOfOne && of_it.emplace(std::pair{reason, note}, now).second;
}

void PodNews::forgetOld(Mono now) {
  for (auto it = said_.begin(); it != said_.end();) {
    std::erase_if(it->second, [&](const auto& one) { return now - one.second >= kAgain; });
    it = it->second.empty() ? said_.erase(it) : std::next(it);
  }
}

}  // namespace gs::agent
