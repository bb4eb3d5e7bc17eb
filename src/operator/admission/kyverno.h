// What Kyverno says of images: the annotation kyverno.io/verify-images, a JSON map of references to "pass",
// "fail" or "skip".
//
// It counts for an image only when a key of it is that repository at that digest, and its value is "pass".
// Kyverno lets nobody change it later, and overwrites it on objects that a policy of its matches; on others
// anybody can write it. So it is worth what the policies cover: whoever honours it has one for every
// GKMCache. Pure.
#pragma once

#include <string_view>

#include "kcache/image/reference.h"

namespace gs::gkm {

/// What Kyverno says of the cache's image: references with their digests, each with "pass", "fail" or "skip".
inline constexpr const char* kKyvernoKey = "kyverno.io/verify-images";

/// `image` has a digest, or the answer is no. A tag in a key says nothing.
[[nodiscard]] bool kyvernoVouches(std::string_view annotation, const kcache::Reference& image);

}  // namespace gs::gkm
