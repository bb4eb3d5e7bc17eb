// JobQueue: which image is fetched now. At most `workers` have a turn at a time; a turn is over after kTurn
// or kTurnBytes when somebody waits for it (Keeper sees to that), and the image rests until its next one. So
// the slowest registry, or the largest image, holds others up for one turn and not for hours.
//
// Namespaces take turns, and one has at most half of them at a time (one at the least), so that many caches
// of one user keep nobody else waiting for long. Images that have failed before have at most half too, of all
// namespaces together: registries that do not answer keep none from images that are new. Within a namespace
// it goes round: first who has waited longest, but for those that are brought forward.
// An image whose files are here already needs no turn: only its registry is asked.
//
// What has begun has a thread and a connection, with a turn or without, so there are at most `most_begun`. A
// namespace begins another one while these, and its own counted twice, are fewer: so the more it has, the
// more places are left to others. Where there are more namespaces than places, one of whoever has most gives
// up its place for a namespace that has none, once it has had kMostTurns, and fails: it is tried again
// later. It is the one that got the fewest bytes in its turns: a large image of a fast registry stays. One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cacherim/keeper/reconciler.h"

namespace gs::cacherim {

class JobQueue {
 public:
  static constexpr Duration kTurn = std::chrono::seconds{10};
  static constexpr std::int64_t kTurnBytes = std::int64_t{256} << 20;

  static constexpr int kMostTurns = 6;  // that it may have had, where others need its place

  struct Terms {
    int workers = 2;
    int most_begun = 16;
  };
  explicit JobQueue(Terms terms);

  void push(KeeperJob job);
  /// These caches before others of their namespace; that changes nothing for other namespaces.
  void bringForward(const std::set<model::ObjectKey>& first);

  struct Begin {  // with a turn, unless it is here; begun until ended()
    KeeperJob job;
  };
  struct GoOn {  // it has a turn again
    model::ObjectKey cache;
  };
  struct GiveUp {  // its place is needed; begun until ended()
    model::ObjectKey cache;
  };
  using Next = std::variant<Begin, GoOn, GiveUp>;
  /// nullopt: nothing is to be done now.
  [[nodiscard]] std::optional<Next> next();
  /// Somebody waits for a turn.
  [[nodiscard]] bool isAwaited() const;
  /// Its turn is over, but not its work.
  void rest(const model::ObjectKey& cache);
  void ended(const KeeperJob& job);
  /// Takes those out that have not begun and are not to any more.
  template <class IsWanted>
  std::vector<KeeperJob> dropUnless(const IsWanted& is_wanted);
  /// That have not begun.
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] int begun() const { return static_cast<int>(begun_.size()); }
  [[nodiscard]] int turns() const { return turns_; }

 private:
  struct Waits {
    KeeperJob job;
    bool has_begun = false;  // it rests
  };
  using Line = std::deque<Waits>;
  struct Begun {
    std::int64_t number = 0;  // in the order in which they began
    bool is_again = false;
    bool has_turn = false;
    bool gives_up = false;
    int rests = 0;
    std::shared_ptr<const FetchProgress> progress{};
    [[nodiscard]] std::int64_t bytesPerTurn() const { return progress->came.load() / (rests + 1); }
  };
  struct Counts {
    int begun = 0;
    int turns = 0;
  };

  [[nodiscard]] static bool isAgain(const KeeperJob& job) { return job.image.attempt > 0; }
  [[nodiscard]] Counts countsOf(const std::string& ns) const;
  [[nodiscard]] bool mayBegin(const std::string& ns) const;
  [[nodiscard]] bool mayHaveTurn(const KeeperJob& job) const;
  [[nodiscard]] bool mayGo(const Waits& one) const;
  [[nodiscard]] Next go(Waits one);
  [[nodiscard]] std::optional<Next> makeRoom();
  void giveTurn(const KeeperJob& job);
  void takeTurn(const model::ObjectKey& cache, Begun& of);

  const Terms terms_;
  const int half_;
  int turns_ = 0;
  int again_turns_ = 0;  // of them, of images that have failed before
  std::int64_t numbers_ = 0;
  std::map<std::string, Line> lines_;     // by namespace; none is empty
  std::map<std::string, Counts> counts_;  // the same; none is all zero
  std::map<model::ObjectKey, Begun> begun_;
  std::map<model::ObjectKey, KeeperJob> with_turn_;
  std::string last_;  // whose turn it was
};

template <class IsWanted>
std::vector<KeeperJob> JobQueue::dropUnless(const IsWanted& is_wanted) {
  std::vector<KeeperJob> out;
  for (auto& [ns, line] : lines_) {
    const auto stays = [&](const Waits& one) { return one.has_begun || is_wanted(one.job); };
    const auto kept = std::stable_partition(line.begin(), line.end(), stays);
    for (auto it = kept; it != line.end(); ++it) { out.push_back(std::move(it->job)); }
    line.erase(kept, line.end());
  }
  std::erase_if(lines_, [](const auto& one) { return one.second.empty(); });
  return out;
}

}  // namespace gs::cacherim
