// Parts: what a machine is put together of. A part is an object that makes API calls of its own and has
// things to do at certain times, such as whatever writes leases. The machine passes answers and the time on
// to it.
//
// How an answer finds the part that asked: add() gives each part a number, and the token of each of its
// calls carries that number (kapi::makeToken). A part that waits says until when (nextDue()); the machine
// asks to be called at the earliest of these times.
// Invariant: no two parts of one process have the same number. Each machine has a range of numbers to give
// out (kOwnerRanges), and no two ranges meet.
// The parts must outlive it. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/due.h"
#include "kapi/call.h"
#include "model/ids.h"
#include "model/pod.h"

namespace gs::controller {

/// Numbers of owners of calls, from `first` on.
struct OwnerRange {
  std::uint8_t first = 0;
  std::uint8_t count = 0;
};
inline constexpr OwnerRange kInformerOwners{1, 9};
inline constexpr OwnerRange kLeaderTermOwners{10, 10};
inline constexpr OwnerRange kSchedulerOwners{20, 19};
inline constexpr OwnerRange kCacheSyncOwner{39, 1};
inline constexpr OwnerRange kExtenderOwner{40, 1};
inline constexpr OwnerRange kCombinedOwners{41, 9};
inline constexpr OwnerRange kStandaloneOwners{50, 10};
inline constexpr OwnerRange kWebhookOwners{60, 2};
inline constexpr OwnerRange kAgentOwners{62, 2};
inline constexpr OwnerRange kNodeAgentOwners{76, 8};
inline constexpr OwnerRange kCacheWebhookOwners{84, 2};
inline constexpr OwnerRange kNodeCacheOwners{86, 2};
inline constexpr OwnerRange kPolicyWatchOwner{90, 1};
inline constexpr OwnerRange kPullSecretsOwner{91, 1};
inline constexpr OwnerRange kPodPathsOwner{92, 1};
inline constexpr OwnerRange kElectionOwner{100, 1};
inline constexpr OwnerRange kOperatorOwners{101, 16};
/// All of them, ascending.
inline constexpr std::array kOwnerRanges{
    kInformerOwners,     kLeaderTermOwners, kSchedulerOwners,  kCacheSyncOwner,   kExtenderOwner,
    kCombinedOwners,     kStandaloneOwners, kWebhookOwners,    kAgentOwners,      kNodeAgentOwners,
    kCacheWebhookOwners, kNodeCacheOwners,  kPolicyWatchOwner, kPullSecretsOwner, kPodPathsOwner,
    kElectionOwner,      kOperatorOwners};
static_assert(std::adjacent_find(kOwnerRanges.begin(), kOwnerRanges.end(), [](auto a, auto b) {
                return a.first + a.count > b.first;
              }) == kOwnerRanges.end());

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// The answer to a call of its own; of an earlier term perhaps.
  virtual void handle(const kapi::Outcome& /*outcome*/, Now /*now*/, kapi::Effects& /*out*/) {}
  virtual void tick(Now /*now*/, kapi::Effects& /*out*/) {}
  /// When tick() has something to do next, or whoever drives the part.
  [[nodiscard]] virtual std::optional<Mono> nextDue() const { return std::nullopt; }
  /// Leadership is lost: what was under way is dropped, and answers to it are ignored.
  virtual void reset() {}

  // Of pods, for machines that know any.

  /// That pod is gone, or has ended: nothing is kept of it but what has yet to be undone.
  virtual void podEnded(const model::Uid& /*uid*/) {}
  /// It is bound, by whomever: nobody looks for a node for it any more.
  virtual void podBound(const model::Pod& /*pod*/) {}
  /// Entries that are kept of pods, for tests of what grows.
  [[nodiscard]] virtual std::size_t size() const { return 0; }
};

class Parts {
 public:
  explicit Parts(OwnerRange range) : range_{range} {}

  /// Its number.
  std::uint8_t add(Part& part) {
    GS_CHECK(parts_.size() < range_.count, "more than {} parts", range_.count);
    parts_.push_back(&part);
    return static_cast<std::uint8_t>(range_.first + parts_.size() - 1);
  }
  /// False: it is the answer to somebody else's call.
  bool handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
    const std::size_t at = std::size_t{kapi::tokenOwner(outcome.token)} - range_.first;
    if (at >= parts_.size()) { return false; }
    parts_[at]->handle(outcome, now, out);
    return true;
  }
  void tick(Now now, kapi::Effects& out) {
    for (Part* part : parts_) { part->tick(now, out); }
  }
  [[nodiscard]] std::optional<Mono> nextDue() const {
    std::optional<Mono> due;
    for (const Part* part : parts_) { due = sooner(due, part->nextDue()); }
    return due;
  }
  void reset() {
    for (Part* part : parts_) { part->reset(); }
  }
  void podEnded(const model::Uid& uid) {
    for (Part* part : parts_) { part->podEnded(uid); }
  }
  void podBound(const model::Pod& pod) {
    for (Part* part : parts_) { part->podBound(pod); }
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t out = 0;
    for (const Part* part : parts_) { out += part->size(); }
    return out;
  }

 private:
  OwnerRange range_;
  std::vector<Part*> parts_;
};

}  // namespace gs::controller
