// What the API server makes of writes that fail, beside the one grant: which pods' annotations it refuses,
// with its words for who asks until it is time to try again; and in which namespaces no write goes through
// (their webhook is down), so that nobody waits for one there.
// A pod whose annotations could not be written in time is doubtful. While they are written its devices are
// others' no more, so of one namespace only one such pod at a time is tried, the more seldom the more such
// tries came to nothing. Of the other pods of a namespace in which no write goes through one is tried each
// kFresh: each is either written or doubtful then.
// A write that goes through ends this for its pod and its namespace; for all doubtful pods of that if it was
// one of theirs.
// Bounded: pods are forgotten when they are bound or gone (forget()), namespaces are at most kMostNamespaces.
// One thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "kapi/call.h"
#include "kapi/retry_wait.h"
#include "model/ids.h"

namespace gs::extender {

class WriteTroubles {
 public:
  static constexpr std::size_t kMostNamespaces = 4096;
  /// Between tries of doubtful pods of one namespace; each takes up to five seconds.
  static constexpr kapi::RetryTerms kTries{std::chrono::seconds{5}, std::chrono::seconds{40}};
  static constexpr Duration kFresh = std::chrono::seconds{1};
  static constexpr int kManyFailures = 5;  // of one pod alone within the time in which a request is answered

  /// The API server would not have a write of the pod. Returns until when nobody tries again.
  Mono refused(const model::Uid& pod, std::string why, Mono now) {
    Rejection& r = pods_[pod];
    r.until = now + kapi::retryWait(++r.failures, {});
    r.why = std::move(why);
    r.failed_at = now;
    return r.until;
  }
  /// Nobody waits any more for what was tried so many times, and the API server did not say no: it is
  /// doubtful.
  void unanswered(const model::Uid& pod, int failures, std::string why, Mono now) {
    Rejection& r = pods_[pod];
    r.is_doubtful = true;
    r.failures = std::max(r.failures, failures - 1);
    (void)refused(pod, std::move(why), now);
  }
  /// How the last write was answered, where no devices are to be reserved for the pod yet; else nullptr.
  [[nodiscard]] const std::string* whyNotNow(const model::Uid& pod, const std::string& ns, Mono now) const {
    const auto at = namespaces_.find(ns);
    if (at == namespaces_.end() || !mayFail(pod, ns)) { return nullptr; }
    const Mono next = isDoubtful(pod) ? at->second.next_try : at->second.next_fresh;
    return now < next ? &at->second.why : nullptr;
  }
  /// Devices are reserved for it; if that may come to nothing, for no other such one for a while.
  void tried(const model::Uid& pod, const std::string& ns, Mono now) {
    if (!mayFail(pod, ns)) { return; }
    Stuck& stuck = of(ns);
    if (isDoubtful(pod)) {
      stuck.next_try = now + kapi::retryWait(++stuck.tries, {}, kTries);
    } else {
      stuck.next_fresh = now + kFresh;
    }
  }
  /// It is doubtful, or no write of its namespace goes through.
  [[nodiscard]] bool mayFail(const model::Uid& pod, const std::string& ns) const {
    return isDoubtful(pod) || stuckIn(ns) != nullptr;
  }
  [[nodiscard]] bool isDoubtful(const model::Uid& pod) const {
    const auto it = pods_.find(pod);
    return it != pods_.end() && it->second.is_doubtful;
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
    Stuck& stuck = of(ns);
    ++stuck.failures;
    stuck.why = fmt::format("{} {}", outcome.http, outcome.message.substr(0, kShown));
  }
  /// How the last one was answered, where many in a row came to nothing; else nullptr.
  [[nodiscard]] const std::string* stuckIn(const std::string& ns) const {
    const auto it = namespaces_.find(ns);
    return it == namespaces_.end() || it->second.failures < kManyFailures ? nullptr : &it->second.why;
  }

  /// A write went through.
  void worked(const model::Uid& pod, const std::string& ns) {
    const bool was_doubtful = isDoubtful(pod);
    pods_.erase(pod);
    const auto at = namespaces_.find(ns);
    if (at == namespaces_.end()) { return; }
    at->second.failures = 0;
    if (was_doubtful || at->second.tries == 0) { namespaces_.erase(at); }
  }
  /// The pod is bound or gone.
  void forget(const model::Uid& pod) { pods_.erase(pod); }
  void reset() {
    pods_.clear();
    namespaces_.clear();
  }

 private:
  struct Rejection {
    int failures = 0;
    Mono until{};
    std::string why;
    Mono failed_at{};
    bool is_doubtful = false;
  };
  struct Stuck {
    int failures = 0;  // in a row
    std::string why;
    int tries = 0;  // of doubtful pods, since one came to something
    Mono next_try{};
    Mono next_fresh{};  // of the others
  };
  Stuck& of(const std::string& ns) {
    if (namespaces_.size() >= kMostNamespaces && !namespaces_.contains(ns)) { namespaces_.clear(); }
    return namespaces_[ns];
  }
  std::map<model::Uid, Rejection> pods_;  // that are known and unbound
  std::map<std::string, Stuck> namespaces_;
};

}  // namespace gs::extender
