#include "noderim/container_poller.h"

#include <utility>

#include "base/system_clock.h"

namespace gs::noderim {

agent::Containers containersOf(const rpc::RuntimePods& pods) {
  agent::Containers out;
  for (const auto& [uid, pod] : pods) {
    agent::PodContainers containers = agent::containersWith(pod.annotations);
    containers.sandbox_only = pod.created.empty();
    containers.created = pod.created;
    out.pods.emplace(model::Uid{uid}, std::move(containers));
  }
  return out;
}

ContainerPoller::ContainerPoller(std::string socket, Pace pace, Give give)
    : runtime_{std::move(socket), agent::annotationsThatSay()}, pace_{pace}, give_{std::move(give)} {}

void ContainerPoller::start() {
  thread_ = std::make_unique<Worker>("containers", [this](const std::stop_token&) { run(); });
}

void ContainerPoller::stop() {
  end_.close();
  runtime_.cancel();
  if (thread_ != nullptr) { thread_->join(); }
}

void ContainerPoller::run() {
  const SystemClock clock;
  while (!end_.drained()) {
    const auto look = runtime_.pods(pace_.limit).map(containersOf);
    if (end_.drained()) { return; }  // it may have been cut short
    give_(look);
    (void)end_.pop(clock.now().mono + pace_.every);
  }
}

}  // namespace gs::noderim
