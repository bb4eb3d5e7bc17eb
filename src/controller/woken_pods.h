// Pods that were woken and of which their kube-scheduler has not asked since: few at a time, and of one
// namespace half of what it leaves to others, so that who is refused by kube-scheduler for ever keeps nobody
// else from being woken. Each counts for a while at most (kAwaited). One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "controller/fair_share.h"
#include "kapi/retry_wait.h"
#include "model/ids.h"

namespace gs::controller {

/// Between two wakes of one pod, whatever comes of them.
inline constexpr kapi::RetryTerms kWakeTerms{std::chrono::seconds{5}, std::chrono::minutes{1}};

class WokenPods {
 public:
  static constexpr int kAtOnce = 8;
  /// kube-scheduler waits 10 s at most between two tries of a pod (its podMaxBackoffSeconds).
  static constexpr Duration kAwaited = std::chrono::seconds{12};

  [[nodiscard]] bool hasRoom(const std::string& ns) const { return of_.free(ns) > 0; }
  /// How many of its pods are such.
  [[nodiscard]] int of(const std::string& ns) const { return of_.usedBy(ns); }
  void add(const model::Uid& uid, const std::string& ns, Mono now) {
    (void)over(uid);
    of_.take(ns);
    pods_.emplace(uid, std::pair{ns, now + kAwaited});
    until_.emplace(now + kAwaited, uid);
  }
  /// It was asked about, or is not to be waited for. False: it is none of them.
  bool over(const model::Uid& uid) {
    const auto pod = pods_.extract(uid);
    if (pod.empty()) { return false; }
    of_.giveBack(pod.mapped().first);
    until_.erase({pod.mapped().second, uid});
    return true;
  }
  /// Those of whom nobody asked in time.
  [[nodiscard]] std::vector<model::Uid> takeOver(Mono now) {
    std::vector<model::Uid> out;
    while (!until_.empty() && until_.begin()->first <= now) {
      out.push_back(until_.begin()->second);
      (void)over(out.back());
    }
    return out;
  }
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return until_.empty() ? std::nullopt : std::optional{until_.begin()->first};
  }
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  void reset() {
    pods_.clear();
    until_.clear();
    of_.reset();
  }

 private:
  std::map<model::Uid, std::pair<std::string, Mono>> pods_;  // namespace, until when
  std::set<std::pair<Mono, model::Uid>> until_;
  FairShare of_{kAtOnce};
};

}  // namespace gs::controller
