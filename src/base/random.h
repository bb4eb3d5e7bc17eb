// Rng: all the randomness that there is, as a value. The same seed gives the same numbers on every machine
// and compiler (xoshiro256**, seeded by splitmix64), so a run is replayed from its seed; the seed comes from
// the random device in apps only. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gs {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t next();
  /// Even over 0..n-1; 0 when n is 0.
  std::uint64_t below(std::uint64_t n);
  /// Even over [0, 1).
  double unit();
  /// True `percent` times in a hundred.
  bool chance(unsigned percent) { return below(100) < percent; }
  /// A random (version 4) UUID in text, such as a Kubernetes uid.
  std::string uuid();
  /// An independent generator: what it draws does not shift what this one draws later.
  Rng split() { return Rng{next()}; }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace gs
