// Parts: what a machine is put together of. A part is an object that makes API calls of its own, or watches,
// and has things to do at certain times, such as whatever writes leases. The machine passes on to it what is
// for it.
//
// How an answer finds the part that asked: add() gives each part a number, or several, and the token of each
// of its calls and watches carries one of them (kapi::makeToken). A part that waits says until when
// (nextDue()); the machine asks to be called at the earliest of these times.
// Invariant: no two parts of one process have the same number. All Parts of a process take them from the same
// Owners: whoever puts several machines together into one process gives each of them his own.
// The parts must outlive it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/due.h"
#include "kapi/call.h"
#include "model/ids.h"
#include "model/pod.h"

namespace gs::controller {

/// The number of the runner's own election (controller/election.h).
inline constexpr std::uint8_t kElectionOwner = 255;

/// Numbers of owners of calls, each given once. Copies give from the same ones; a new one begins anew.
class Owners {
 public:
  /// The first of `count` that follow each other.
  [[nodiscard]] std::uint8_t take(std::size_t count = 1) {
    const std::size_t first = *next_;
    GS_CHECK(first + count <= kElectionOwner, "{} owners of calls, and {} more", first, count);
    *next_ += count;
    return static_cast<std::uint8_t>(first);
  }

 private:
  std::shared_ptr<std::size_t> next_ = std::make_shared<std::size_t>(1);
};

/// Whose call or watch it is of; nullopt: of none.
[[nodiscard]] inline std::optional<std::uint8_t> ownerOf(const kapi::MachineEvent& event) {
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) { return kapi::tokenOwner(outcome->token); }
  if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) { return kapi::tokenOwner(came->stream); }
  if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) { return kapi::tokenOwner(ended->stream); }
  return std::nullopt;
}

class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// The answer to a call of its own; of an earlier term perhaps.
  virtual void handle(const kapi::Outcome& /*outcome*/, Now /*now*/, kapi::Effects& /*out*/) {}
  /// What a watch of its own brings, or its end.
  virtual void watched(const kapi::MachineEvent& /*event*/, Now /*now*/, kapi::Effects& /*out*/) {}
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
  explicit Parts(Owners owners = {}) : owners_{std::move(owners)} {}

  /// Its number, or the first of so many that follow each other.
  std::uint8_t add(Part& part, std::size_t count = 1) {
    const std::uint8_t first = owners_.take(count);
    parts_.push_back({first, count, &part});
    return first;
  }
  /// An answer, or what a watch brings, goes to whose it is. False: it is somebody else's, or for everybody.
  bool handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
    const auto owner = ownerOf(event);
    Part* part = owner ? find(*owner) : nullptr;
    if (part == nullptr) { return false; }
    if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
      part->handle(*outcome, now, out);
    } else {
      part->watched(event, now, out);
    }
    return true;
  }
  void tick(Now now, kapi::Effects& out) {
    for (const Member& member : parts_) { member.part->tick(now, out); }
  }
  [[nodiscard]] std::optional<Mono> nextDue() const {
    std::optional<Mono> due;
    for (const Member& member : parts_) { due = sooner(due, member.part->nextDue()); }
    return due;
  }
  void reset() {
    for (const Member& member : parts_) { member.part->reset(); }
  }
  void podEnded(const model::Uid& uid) {
    for (const Member& member : parts_) { member.part->podEnded(uid); }
  }
  void podBound(const model::Pod& pod) {
    for (const Member& member : parts_) { member.part->podBound(pod); }
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t out = 0;
    for (const Member& member : parts_) { out += member.part->size(); }
    return out;
  }

 private:
  struct Member {
    std::uint8_t first = 0;
    std::size_t count = 0;
    Part* part = nullptr;
  };

  [[nodiscard]] Part* find(std::uint8_t owner) const {
    for (const Member& member : parts_) {
      if (owner >= member.first && owner - member.first < static_cast<int>(member.count)) {
        return member.part;
      }
    }
    return nullptr;
  }

  Owners owners_;
  std::vector<Member> parts_;
};

}  // namespace gs::controller
