// Signs an image that lies in a registry with a key, in both ways that cosign knows:
//   - as cosign 2: a layer under the tag sha256-<hex>.sig of the same repository, beside those that are
//     there;
//   - as cosign 3: a Sigstore bundle whose subject is the image. Where the registry does not list it then (it
//     has no referrers API) it is added to the index under the tag sha256-<hex>, which stands in for that.
// No log is told, so who verifies needs the key (cosign verify --key K --insecure-ignore-tlog=true, mcv
// --verify --key K).
#pragma once

#include "base/result.h"
#include "cacherim/registry/registry_writer.h"
#include "cacherim/trust/verify.h"
#include "signature/private_key.h"

namespace gs::cacherim::trust {

/// What the key made before is left as it is: twice is once. Of two who sign at the same time one may be
/// lost, as with cosign. Errors as those of Registry and RegistryWriter.
[[nodiscard]] Status signImage(const SignatureSource& registry, RegistryWriter& writer,
                               const kcache::Reference& name, const kcache::Digest& digest,
                               const signature::PrivateKey& key);

}  // namespace gs::cacherim::trust
