// "Did you mean": the nearest of the names that there are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gs::process {

/// How many letters are to be put in, left out, replaced, or swapped with their neighbour,
/// to make one of the other.
[[nodiscard]] std::size_t distance(std::string_view a, std::string_view b);
/// The one that `word` is nearest to; of several the first. nullopt: it is like none, being a third or more
/// of its letters away.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& names);

}  // namespace gs::process
