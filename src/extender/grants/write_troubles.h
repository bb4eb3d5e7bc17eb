// What the API server makes of writes that fail, beside the one grant: which pods' annotations it refuses,
// with its words for who asks until it is time to try again; and in which namespaces no write goes through
// (their webhook is down), so that nobody waits for one there.
// One write that goes through ends both. Bounded: pods are forgotten when they are bound or gone (forget()),
// namespaces are at most kMostNamespaces. One thread.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kapi/call.h"
#include "kapi/retry_wait.h"
#include "model/ids.h"

namespace gs::extender {

class WriteTroubles {
 public:
  static constexpr std::size_t kMostNamespaces = 4096;
  static constexpr int kManyFailures = 5;  // of one pod alone within the time in which a request is answered

  /// The API server would not have a write of the pod. Returns until when nobody tries again.
  Mono refused(const model::Uid& pod, std::string why, Mono now) {
    Rejection& r = pods_[pod];
    r.until = now + kapi::retryWait(++r.failures, {});
    r.why = std::move(why);
    r.failed_at = now;
    return r.until;
  }
  /// A write of the pod, which is known, came to nothing.
  void failed(const model::Uid& pod, Mono now) { pods_[pod].failed_at = now; }
  /// None did a moment ago, so nobody who tries again ever more slowly is due now.
  [[nodiscard]] bool isQuiet(const model::Uid& pod, Mono now) const {
    const auto it = pods_.find(pod);
    return it == pods_.end() || now >= it->second.failed_at + kapi::RetryTerms{}.longest;
  }
  /// How often in a row.
  [[nodiscard]] int rejectionsOf(const model::Uid& pod) const {
    const auto it = pods_.find(pod);
    return it == pods_.end() ? 0 : it->second.failures;
  }
  /// Why, while it is too early to try again; else nullptr.
  [[nodiscard]] const std::string* rejectionOf(const model::Uid& pod, Mono now) const {
    const auto it = pods_.find(pod);
    return it == pods_.end() || now >= it->second.until ? nullptr : &it->second.why;
  }

  /// A write of this namespace came to nothing. Of a pod that is gone nothing can be written, which says
  /// nothing of others.
  void failedIn(const std::string& ns, const kapi::Outcome& outcome) {
    constexpr std::size_t kShown = 300;  // bytes of an answer
    if (outcome.http == 404) { return; }
    if (namespaces_.size() >= kMostNamespaces) { namespaces_.clear(); }
    Stuck& stuck = namespaces_[ns];
    ++stuck.failures;
    stuck.why = fmt::format("{} {}", outcome.http, outcome.message.substr(0, kShown));
  }
  /// How the last one was answered, where many in a row came to nothing; else nullptr.
  [[nodiscard]] const std::string* stuckIn(const std::string& ns) const {
    const auto it = namespaces_.find(ns);
    return it == namespaces_.end() || it->second.failures < kManyFailures ? nullptr : &it->second.why;
  }

  /// A write that gives it nothing went through, so it is given something, whatever becomes of others'
  /// writes.
  void showed(const model::Uid& pod, const std::string& ns) {
    showed_.insert(pod);
    namespaces_.erase(ns);
  }
  [[nodiscard]] bool hasShown(const model::Uid& pod) const { return showed_.contains(pod); }
  void isGiven(const model::Uid& pod) { showed_.erase(pod); }
  [[nodiscard]] std::size_t showed() const { return showed_.size(); }
  /// A write went through.
  void worked(const model::Uid& pod, const std::string& ns) {
    pods_.erase(pod);
    namespaces_.erase(ns);
  }
  /// The pod is bound or gone.
  void forget(const model::Uid& pod) {
    pods_.erase(pod);
    showed_.erase(pod);
  }
  void reset() {
    pods_.clear();
    showed_.clear();
    namespaces_.clear();
  }

 private:
  struct Rejection {
    int failures = 0;
    Mono until{};
    std::string why;
    Mono failed_at{};
  };
  struct Stuck {
    int failures = 0;  // in a row
    std::string why;
  };
  // Pods that are known and unbound.
  std::map<model::Uid, Rejection> pods_;
  std::set<model::Uid> showed_;
  std::map<std::string, Stuck> namespaces_;
};

}  // namespace gs::extender
