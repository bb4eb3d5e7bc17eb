// Signs an image that lies in a registry, as cosign 2 does with a key: a layer under the tag sha256-<hex>.sig of
// the same repository, beside those that are there. No log is told, so who verifies needs the key
// (cosign verify --key K --insecure-ignore-tlog=true, mcv --verify --key K).
#pragma once

#include "base/result.h"
#include "cacherim/registry/registry.h"
#include "cacherim/registry/registry_writer.h"
#include "signature/private_key.h"

namespace gs::cacherim::trust {

/// One that the key made before is left as it is: twice is once. Two who sign at the same time may lose one of
/// the two, as with cosign. Errors as those of Registry and RegistryWriter.
[[nodiscard]] Status signImage(ImageSource& registry, RegistryWriter& writer, const kcache::Reference& name,
                               const kcache::Digest& digest, const signature::PrivateKey& key);

}  // namespace gs::cacherim::trust
