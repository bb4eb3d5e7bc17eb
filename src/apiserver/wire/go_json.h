// What Go's encoding/json says about text that is no JSON: the real server passes that on to its clients.
#pragma once

#include <string>
#include <string_view>

namespace gs::apiserver {

/// "invalid character 'o' in literal null (expecting 'u')", "unexpected end of JSON input" ...; "" when
/// nothing is wrong.
[[nodiscard]] std::string goJsonError(std::string_view text);

}  // namespace gs::apiserver
