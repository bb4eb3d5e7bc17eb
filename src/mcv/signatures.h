// Keys of mcv's flags: by which one signs, and whom one trusts.
#pragma once

#include <vector>

#include "base/result.h"
#include "cacherim/trust/judge.h"
#include "mcv/extract.h"
#include "mcv/options.h"
#include "signature/private_key.h"

namespace gs::mcv {

/// Of --sign; its password is COSIGN_PASSWORD. Errors name the flag and the file.
[[nodiscard]] Result<signature::PrivateKey> signingKey(const Options& options,
                                                       const Environment& environment);
/// Of --key, or of --certificate-... and --trusted-root. Errors as above.
[[nodiscard]] Result<std::vector<cacherim::trust::Trusted>> trustedBy(const Options& options);

}  // namespace gs::mcv
