// Percent-encoding, as in the paths and queries of URLs.
#pragma once

#include <string>
#include <string_view>

namespace gs {

/// All but letters, digits and `-._~`, and the whole of "." and "..", which would be resolved away on a path.
[[nodiscard]] std::string percentEncode(std::string_view text);
/// A `%` without two digits behind it stands for itself; `+` is a space in queries only.
[[nodiscard]] std::string percentDecode(std::string_view text, bool plus_is_space = false);

}  // namespace gs
