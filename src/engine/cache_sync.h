// Are the caches up to date (R37)? A list with limit=1 of each kind gives a resourceVersion, which its
// reflector must reach. A pure machine, run once per term of leadership. Failed calls are made again after a
// second, or when the server said. A kind whose CRD is missing (404) has nothing to catch up with. One
// thread; tokens carry the owner that it is given.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kapi/call.h"

namespace gs::engine {

class CacheSync {
 public:
  static constexpr Duration kRetry = std::chrono::seconds{1};

  struct Want {
    kapi::Kind kind{};
    model::Revision revision = 0;
  };

  /// `first`: the number of its first token, where `owner` uses lower ones for calls of its own.
  CacheSync(std::uint8_t owner, std::vector<kapi::Kind> kinds, std::uint64_t first = 1)
      : owner_{owner}, kinds_{std::move(kinds)}, states_(kinds_.size()), next_{first} {}

  void start(kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Mono now);
  void tick(Mono now, kapi::Effects& out);
  /// Its reflector reached what was wanted.
  void caughtUp(kapi::Kind kind);
  void reset();

  /// What the reflectors are to reach, since this was last asked.
  [[nodiscard]] std::vector<Want> takeWants() { return std::exchange(wants_, {}); }
  [[nodiscard]] bool done() const;
  /// A call that failed and has not gone through since; "" none.
  [[nodiscard]] std::string error() const;
  /// What is missing; "" when done.
  [[nodiscard]] std::string trouble() const;
  [[nodiscard]] std::optional<Mono> nextDue() const { return due_; }
  [[nodiscard]] const std::vector<kapi::Kind>& kinds() const { return kinds_; }

 private:
  enum class Progress : std::uint8_t { Idle, Asked, Failed, Catching, Done };
  struct State {
    Progress progress = Progress::Idle;
    kapi::Token asked = 0;
    std::string error;  // why the last list failed
  };
  void ask(std::size_t i, kapi::Effects& out);
  void listed(std::size_t i, const kapi::Outcome& outcome, Mono now);

  std::uint8_t owner_;
  std::vector<kapi::Kind> kinds_;
  std::vector<State> states_;  // of kinds_[i]
  std::vector<Want> wants_;
  std::optional<Mono> due_;
  std::uint64_t next_;
};

}  // namespace gs::engine
