// Text between quotes as JSON has it, for those who write a line or two of JSON and know no library for it.
// (json/value.h prints as Go does, which escapes more.)
#pragma once

#include <string>
#include <string_view>

namespace gs {

/// Appends `text` with its quotes. Control characters are escaped; bytes that are no UTF-8 become U+FFFD,
/// one each.
void appendQuoted(std::string& out, std::string_view text);

}  // namespace gs
