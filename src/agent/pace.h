// When the status is written though nothing changed: every `calm`, or every `draining` while a pod's GPUs
// wait to be free, or new looks at the containers are owed. A pod that ends is owed three new observedTimes:
// its scheduler waits for two, and the first may have been on its way when it ended.
// `calm` is drawn within a tenth after each write, so that the agents of a big cluster do not write in one
// second. `users` and `rng` must live as long. One thread.
#pragma once

#include <cstdint>

#include "agent/users.h"
#include "base/clock.h"
#include "base/random.h"

namespace gs::agent {

class Pace {
 public:
  struct Terms {
    Duration calm;
    Duration draining;
  };
  Pace(Terms terms, const Users& users, Rng& rng)
      : terms_{terms}, users_{users}, rng_{rng}, calm_{terms.calm} {}

  /// It is to be written now. Ask before each write, changed or not: it sees the pods that ended since.
  [[nodiscard]] bool due(Mono now);
  /// From when on it is to be, as far as is known.
  [[nodiscard]] Mono next() const { return next_; }
  /// As it was drawn for the present wait.
  [[nodiscard]] Duration calm() const { return calm_; }

  /// At once.
  void hurry(Mono now) { next_ = now; }
  void sent(Mono now) { next_ = now + untilNext(); }
  void written(bool is_new_time, Mono now);

 private:
  [[nodiscard]] Duration untilNext();

  const Terms terms_;
  const Users& users_;
  Rng& rng_;
  Duration calm_;
  Mono next_{};
  std::uint64_t ends_ = 0;  // of pods, that are counted in:
  int owed_ = 0;            // new observedTimes
};

}  // namespace gs::agent
