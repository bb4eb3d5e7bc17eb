// Sets of completion indexes as a Job's status writes them: "0,2-4". Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace gs::sandbox::controllers {

using Indexes = std::set<std::int64_t>;

[[nodiscard]] std::string indexText(const Indexes& indexes);
/// Those below `end`; what is malformed is left out.
[[nodiscard]] Indexes readIndexes(std::string_view text, std::int64_t end);

}  // namespace gs::sandbox::controllers
