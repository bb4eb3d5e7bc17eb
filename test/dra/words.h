// The values of drawn selectors and devices: few, so that they meet.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/random.h"

namespace gs::dra {

inline constexpr std::array kDomains{"gpu.example.com", "d", "other.org", "e"};
inline constexpr std::array kNames{"a", "b", "for", "model", "version", "x1"};
inline constexpr std::array kTexts{"",
                                   "a",
                                   "A",
                                   "b",
                                   "model",
                                   "H100 80GB",
                                   "h100",
                                   "é",
                                   "Grün",
                                   "5",
                                   "1.2.3",
                                   "10Gi",
                                   "gpu.example.com",
                                   "d",
                                   "x\ny",
                                   "it's",
                                   "\"q\"",
                                   "\\d",
                                   "😀 b",
                                   "true",
                                   "v1",
                                   "1.2.3-rc.1",
                                   "a+b",
                                   "in"};
inline constexpr std::array kNumbers{
    "0", "1", "-1", "2", "3", "5", "42", "9223372036854775807", "-9223372036854775808"};
inline constexpr std::array kVersions{"1.2.3",    "1.2.3-rc.1", "1.2.3-rc.2",  "1.2.3+b",
                                      "1.2.4",    "1.10.0",     "2.0.0",       "0.0.0",
                                      "1.2.3-rc", "1.2.3-1",    "1.2.3-alpha", "1.2.3-rc.1.0"};
inline constexpr std::array kNoVersions{"01.2.3", "v1.0.0", "1.2", "1.2.3-01", "1.2.3-", "", "1.2.3.4", "x"};
inline constexpr std::array kQuantities{"0",     "1",       "10Gi",  "10737418240", "1.5",  "1500m",  "-1",
                                        "0.1Ki", "102400m", "1e3",   "1n",          "1.1n", "2n",     "-0.5n",
                                        "1e-12", "80Gi",    "1000u", "00012",       "-2Mi", "7.25Gi", "1k"};
inline constexpr std::array kNoQuantities{"10GB", "1 ", "x", "1ki", "", "1e", "0x10"};
inline constexpr std::array kPatterns{"a",   "^h100", "[0-9]+", "\\d", "(?i)H", "^$",
                                      "b|5", ".",     "x.y",    "(",   "é"};

template <std::size_t N>
std::string_view oneOf(Rng& rng, const std::array<const char*, N>& words) {
  return words[rng.below(N)];
}

}  // namespace gs::dra
