// A name made of another name, where it must fit: label values of Kubernetes have 63 characters at most,
// names of objects 253, and what they are made of may be as long itself.
//
// What is cut gets a part of the hash of all of it, so that two names that begin alike stay two, and ends as
// such names must, with a letter or a digit. The same name is always cut the same way. (Somebody may call
// something by what another name is cut to: where that counts, the full name is beside it.)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gs {

inline constexpr std::size_t kMostOfALabelValue = 63;
inline constexpr std::size_t kMostOfAName = 253;

/// The first bytes, `most` at most, without '-', '.' and '_' at their end.
[[nodiscard]] std::string_view beginningOf(std::string_view name, std::size_t most);
/// So many of the first hex digits of its SHA-256.
[[nodiscard]] std::string hashOf(std::string_view name, std::size_t digits);
/// The name itself where it fits, else its beginning, '-' and 10 digits of its hash.
[[nodiscard]] std::string shortName(std::string_view name, std::size_t most);

}  // namespace gs
