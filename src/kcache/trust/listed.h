// What a list of the things that refer to an image (the referrers API, or the index under the fallback tag)
// says that one of them is, before anything of it is fetched. Pure. It is a word of whoever put it there: it
// decides what is looked at, and when, and never what counts.
#pragma once

#include <cstdint>

#include "kcache/image/manifest.h"

namespace gs::kcache::trust {

/// In the order in which they are looked at.
enum class Listed : std::uint8_t {
  SaysSignature,
  Bundle,  // of which it does not say what its statement means
  MayBe,   // a list may say nothing of what an artifact is, or say the type of its empty config: so does the
           // index that cosign 2.6 and 3.0 write, and some registries' own list
  Attestation,  // says of a bundle that it is one
  Other,        // a list of parts, a report of faults: anything of a type that no signature has
};
[[nodiscard]] Listed listedAs(const Descriptor& one);

/// It says that it is a signature, or may be one. All else, of which scanners add some each day, must take no
/// room from these.
[[nodiscard]] inline bool mayBeSignature(const Descriptor& one) {
  return listedAs(one) < Listed::Attestation;
}

}  // namespace gs::kcache::trust
