#include "base/random.h"

#include <bit>
#include <string_view>

namespace gs {

Rng::Rng(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31U);
  }
}

std::uint64_t Rng::next() {  // xoshiro256**
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t n) {
  if (n == 0) { return 0; }
  const std::uint64_t uneven = (0 - n) % n;  // 2^64 mod n: that many lowest values would come once too often
  for (;;) {
    const std::uint64_t drawn = next();
    if (drawn >= uneven) { return drawn % n; }
  }
}

double Rng::unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

std::string Rng::uuid() {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::array<std::uint64_t, 2> words{(next() & ~0xf000ULL) | 0x4000ULL,           // version 4
                                           (next() & ~(3ULL << 62U)) | (2ULL << 62U)};  // RFC 4122 variant
  std::string text;
  text.reserve(36);
  for (unsigned nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) { text += '-'; }
    text += kHex[(words[nibble / 16] >> (60U - nibble % 16 * 4U)) & 0xfU];
  }
  return text;
}

}  // namespace gs
