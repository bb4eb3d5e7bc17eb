// JobQueue: which job begins next. Namespaces take turns, and one has at most half of the workers (one at the
// least), so that many caches of one user, or slow ones, keep nobody else waiting for long. Images that have
// failed before have at most half of them too, of all namespaces together: registries that do not answer hold
// a worker for minutes each time, and keep none from images that are new.
// Jobs of one namespace come in their order, but for those that are brought forward. One thread.
#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cacherim/keeper/keeping.h"

namespace gs::cacherim {

class JobQueue {
 public:
  explicit JobQueue(int workers) : workers_{workers}, half_{std::max(1, workers / 2)} {}

  void push(KeeperJob job) {
    const std::string ns = job.cache.ns;
    waiting_[ns].push_back(std::move(job));
  }
  /// These caches before others of their namespace; that changes nothing for other namespaces.
  void bringForward(const std::set<model::ObjectKey>& first) {
    const std::string* done = nullptr;
    for (const auto& cache : first) {
      if (done != nullptr && *done == cache.ns) { continue; }
      done = &cache.ns;
      const auto of = waiting_.find(cache.ns);
      if (of == waiting_.end()) { continue; }
      std::stable_partition(of->second.begin(), of->second.end(),
                            [&](const KeeperJob& job) { return first.contains(job.cache); });
    }
  }
  /// nullopt: none may begin now. It counts as under way until ended().
  std::optional<KeeperJob> next() {
    if (under_way_ >= workers_) { return std::nullopt; }
    auto at = waiting_.upper_bound(last_);
    for (std::size_t left = waiting_.size(); left > 0; --left, ++at) {
      if (at == waiting_.end()) { at = waiting_.begin(); }
      const auto of_it = of_one_.find(at->first);
      if (of_it != of_one_.end() && of_it->second >= half_) { continue; }
      auto& jobs = at->second;
      const auto first = std::find_if(jobs.begin(), jobs.end(),
                                      [&](const KeeperJob& job) { return !isAgain(job) || again_ < half_; });
      if (first == jobs.end()) { continue; }
      KeeperJob out = std::move(*first);
      jobs.erase(first);
      last_ = at->first;
      ++of_one_[at->first];
      again_ += isAgain(out) ? 1 : 0;
      ++under_way_;
      if (at->second.empty()) { waiting_.erase(at); }
      return out;
    }
    return std::nullopt;
  }
  /// Takes those out that are not to begin any more.
  template <class IsWanted>
  std::vector<KeeperJob> dropUnless(const IsWanted& is_wanted) {
    std::vector<KeeperJob> out;
    for (auto& [ns, jobs] : waiting_) {
      const auto kept = std::stable_partition(jobs.begin(), jobs.end(), is_wanted);
      std::move(kept, jobs.end(), std::back_inserter(out));
      jobs.erase(kept, jobs.end());
    }
    std::erase_if(waiting_, [](const auto& one) { return one.second.empty(); });
    return out;
  }
  void ended(const KeeperJob& job) {
    --under_way_;
    again_ -= isAgain(job) ? 1 : 0;
    const auto it = of_one_.find(job.cache.ns);
    if (--it->second == 0) { of_one_.erase(it); }
  }
  [[nodiscard]] std::size_t waiting() const {
    std::size_t out = 0;
    for (const auto& [ns, jobs] : waiting_) { out += jobs.size(); }
    return out;
  }

 private:
  static bool isAgain(const KeeperJob& job) { return job.image.attempt > 0; }

  const int workers_;
  const int half_;
  int under_way_ = 0;
  int again_ = 0;                                         // of them, of images that have failed before
  std::map<std::string, std::deque<KeeperJob>> waiting_;  // none is empty
  std::map<std::string, int> of_one_;                     // under way
  std::string last_;                                      // whose turn it was
};

}  // namespace gs::cacherim
