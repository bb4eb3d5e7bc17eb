// The text of a label selector into requirements, with the API server's words for what is wrong. Pure.
#pragma once

#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "apiserver/meta/selectors.h"

namespace gs::apiserver {

[[nodiscard]] tl::expected<std::vector<Selector::Requirement>, std::string> parseLabelSelector(
    std::string_view text);

}  // namespace gs::apiserver
