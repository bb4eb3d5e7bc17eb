// What the webhook makes of a GKMCache or a ClusterGKMCache that is created or changed: its image is resolved
// to a digest once, and nobody else writes that digest (docs/use/gkm-operator.md, "The webhook").
//
//   mutate    A new cache, and one whose spec.image changed, gets gkm.io/resolvedDigest, gkm.io/mutationSig
//             (digest_mark.h) and gkm.io/lastMutatedBy, whatever stood there. Any other change asks nobody;
//             where one of them got lost on the way (kubectl replace), it is put back.
//   validate  spec.image is set and an image; the digest is there, and has the mark for this image in this
//             scope. While the image stays the digest does. A change of neither always passes, also of what
//             would be refused today: an older version's, or one that is being deleted.
// So finalizers, labels and deletion need no registry and no key.
//
// The same review gives the same verdict, as far as `resolve` and the key do: nothing is kept. Pure besides
// them; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/review.h"
#include "base/result.h"
#include "kcache/image/reference.h"
#include "model/ids.h"

namespace gs::gkm {

struct Resolved {
  kcache::Digest digest;
  std::string by{};  // what vouches for it; "" nothing was asked for
};
/// Which digest an image of a cache (namespace "": of the whole cluster) has, and whether it may be used
/// there: what the policy of trust asks for is verified for that very digest. The name is "" of a cache whose
/// name the API server makes up. `secrets`: names in its spec.imagePullSecrets.
/// Errors: resolutionFailed() or verificationFailed(), for the user.
using Resolve = std::function<Result<Resolved>(const model::ObjectKey& cache, const kcache::Reference& image,
                                               const std::vector<std::string>& secrets)>;
/// As the ancestor says it. `image`: as the user wrote it, or its reference's text.
[[nodiscard]] std::string resolutionFailed(std::string_view image, std::string_view cause);
[[nodiscard]] std::string verificationFailed(std::string_view image, std::string_view cause);

struct Rules {
  Resolve resolve;
  std::function<std::string()> signing_key;  // "": it is not known yet
  bool honours_kyverno = false;              // of GKMCaches; it cannot verify others
};

/// Reviews of another kind are allowed, untouched.
[[nodiscard]] admission::Verdict mutate(const admission::Review& review, const Rules& rules);
[[nodiscard]] admission::Verdict validate(const admission::Review& review, const Rules& rules);

}  // namespace gs::gkm
