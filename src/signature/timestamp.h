// Stamps of timestamp authorities (RFC 3161): that something was there at a time.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "signature/certificate.h"

namespace gs::signature {

/// The time that `response` (a TimeStampResp in DER, or the token in it) says `stamped` was there, when the
/// authority that signed it leads to the last of `authority` and was valid then. Error Invalid: why not.
[[nodiscard]] Result<Wall> checkTimestamp(std::string_view response, std::string_view stamped,
                                          const Chain& authority);

}  // namespace gs::signature
