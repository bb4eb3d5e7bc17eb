#include "cacherim/keeper/job_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/mutant.h"

namespace gs::cacherim {

JobQueue::JobQueue(Terms terms) : terms_{terms}, half_{std::max(1, terms.workers / 2)} {}

void JobQueue::push(KeeperJob job) {
  const std::string ns = job.cache.ns;
  lines_[ns].push_back({std::move(job), false});
}

void JobQueue::bringForward(const std::set<model::ObjectKey>& first) {
  const std::string* done = nullptr;
  for (const auto& cache : first) {
    if (done != nullptr && *done == cache.ns) { continue; }
    done = &cache.ns;
    const auto line = lines_.find(cache.ns);
    if (line == lines_.end()) { continue; }
    std::stable_partition(line->second.begin(), line->second.end(),
                          [&](const Waits& one) { return first.contains(one.job.cache); });
  }
}

JobQueue::Counts JobQueue::countsOf(const std::string& ns) const {
  const auto it = counts_.find(ns);
  return it == counts_.end() ? Counts{} : it->second;
}

bool JobQueue::mayBegin(const std::string& ns) const {
  return begun() + countsOf(ns).begun < terms_.most_begun;
}

bool JobQueue::mayHaveTurn(const KeeperJob& job) const {
  return turns_ < terms_.workers && countsOf(job.cache.ns).turns < half_ &&
         (!isAgain(job) || again_turns_ < half_);
}

bool JobQueue::mayGo(const Waits& one) const {
  if (one.has_begun) { return mayHaveTurn(one.job); }
  return mayBegin(one.job.cache.ns) && (one.job.is_here || mayHaveTurn(one.job));
}

std::optional<JobQueue::Next> JobQueue::next() {
  auto at = lines_.upper_bound(last_);
  for (std::size_t left = lines_.size(); left > 0; --left, ++at) {
    if (at == lines_.end()) { at = lines_.begin(); }
    Line& line = at->second;
    const auto first = std::find_if(line.begin(), line.end(), [&](const Waits& one) { return mayGo(one); });
    if (first == line.end()) { continue; }
    Waits one = std::move(*first);
    line.erase(first);
    last_ = at->first;
    if (line.empty()) { lines_.erase(at); }
    return go(std::move(one));
  }
  return makeRoom();
}

JobQueue::Next JobQueue::go(Waits one) {
  if (!one.has_begun) {
    begun_.emplace(one.job.cache,
                   Begun{.number = ++numbers_, .is_again = isAgain(one.job), .progress = one.job.progress});
    ++counts_[one.job.cache.ns].begun;
  }
  if (one.has_begun || !one.job.is_here) { giveTurn(one.job); }
  if (one.has_begun) { return GoOn{one.job.cache}; }
  return Begin{std::move(one.job)};
}

void JobQueue::giveTurn(const KeeperJob& job) {
  begun_.at(job.cache).has_turn = true;
  with_turn_.emplace(job.cache, job);
  ++turns_;
  ++counts_[job.cache.ns].turns;
  again_turns_ += isAgain(job) ? 1 : 0;
}

void JobQueue::takeTurn(const model::ObjectKey& cache, Begun& of) {
  if (!std::exchange(of.has_turn, false)) { return; }
  with_turn_.erase(cache);
  --turns_;
  --counts_.at(cache.ns).turns;
  again_turns_ -= of.is_again ? 1 : 0;
}

/// For a namespace that waits and has nothing under way, when all places are taken.
std::optional<JobQueue::Next> JobQueue::makeRoom() {
  if (begun() < terms_.most_begun) { return std::nullopt; }
  const bool is_needed = std::any_of(lines_.begin(), lines_.end(),
                                     [&](const auto& one) { return countsOf(one.first).begun == 0; });
  const bool comes =
      std::any_of(begun_.begin(), begun_.end(), [](const auto& one) { return one.second.gives_up; });
  if (!is_needed || comes) { return std::nullopt; }
  auto who = begun_.end();  // of who has most the slowest; of those the one that has been at it for longest
  const auto weight = [&](const auto& one) {
    return std::tuple{countsOf(one.first.ns).begun, -one.second.bytesPerTurn(), -one.second.number};
  };
  for (auto it = begun_.begin(); it != begun_.end(); ++it) {
    const bool may = it->second.rests >= kMostTurns;
    if (may && (who == begun_.end() || weight(*who) < weight(*it))) { who = it; }
  }
  if (who == begun_.end()) { return std::nullopt; }
  who->second.gives_up = true;
  return GiveUp{who->first};
}

bool JobQueue::isAwaited() const {
  if (GS_MUTANT(KeepsItsWorker)) { return false; }
  return std::any_of(lines_.begin(), lines_.end(), [&](const auto& line) {
    return std::any_of(line.second.begin(), line.second.end(), [&](const Waits& one) {
      return one.has_begun || (!one.job.is_here && mayBegin(line.first));
    });
  });
}

void JobQueue::rest(const model::ObjectKey& cache) {
  Begun& of = begun_.at(cache);
  const auto job = with_turn_.find(cache);
  if (job == with_turn_.end()) { return; }
  lines_[cache.ns].push_back({job->second, true});
  ++of.rests;
  takeTurn(cache, of);
}

void JobQueue::ended(const KeeperJob& job) {
  const auto it = begun_.find(job.cache);
  if (it == begun_.end()) { return; }
  takeTurn(job.cache, it->second);
  begun_.erase(it);
  if (const auto line = lines_.find(job.cache.ns); line != lines_.end()) {
    std::erase_if(line->second,
                  [&](const Waits& one) { return one.has_begun && one.job.cache == job.cache; });
    if (line->second.empty()) { lines_.erase(line); }
  }
  Counts& counts = counts_.at(job.cache.ns);
  if (--counts.begun == 0) { counts_.erase(job.cache.ns); }
}

std::size_t JobQueue::waiting() const {
  std::size_t out = 0;
  for (const auto& [ns, line] : lines_) {
    out += static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](const Waits& one) { return !one.has_begun; }));
  }
  return out;
}

}  // namespace gs::cacherim
