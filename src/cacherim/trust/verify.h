// That an image is signed by somebody who is trusted, by what its registry has besides it.
//
// The name is resolved once: what is verified is the digest that is given back, whatever a tag says later,
// and so what a cache is pinned to. Looked at are what has that digest as its subject (by the referrers
// API, or the tag that stands in for it): bundles, and the artifacts of cosign's mode oci-1-1; then the
// signatures under cosign's older tag, sha256-<hex>.sig (of a mirror, and where none of these counts of the
// registry itself). Each for itself: anybody who may push can put
// something there, so a bad one says nothing against a good one.
//
// Sources, in this order: artifacts that the list says are signatures; others that it says are bundles; those
// of which it says nothing; the older tag. None takes from another: limits are of each source, and so is an
// equal part of the time that is left, of which one thing that does not come takes half at most. Work ends
//   - of a source of artifacts, after 32 that do not count. (Attestations, lists of parts and reports are no
//     signatures and cost none of these, since a scanner may add one each day; of what may be a signature 256
//     are listed at most);
//   - of a list of layers, after 32 texts under the older tag, 4 in an artifact, and 1024 signatures;
//   - at the latest with SignatureSource::time.
// The error says what was left out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cacherim/image/image_source.h"
#include "cacherim/registry/registry.h"
#include "cacherim/trust/judge.h"

namespace gs::cacherim::trust {

/// Of an image by its digest.
using FindReferrers =
    std::function<Result<Referrers>(const kcache::Reference& repository, const kcache::Digest& subject)>;

/// What a registry itself has under a tag.
using FindTag = std::function<Result<FetchedManifest>(const kcache::Reference& tag)>;

struct SignatureSource {
  ImageSource& images;      // outlives the call
  FindReferrers referrers;  // may be empty: there are none
  TimeLimit& time;          // by when all ends; outlives the call
  FindTag origin{};         // empty: `images` gives nothing that is older, as a mirror does
};
/// `registry` outlives what this gives.
[[nodiscard]] SignatureSource signaturesIn(Registry& registry);

struct Verified {
  FetchedManifest image;            // what the name was when it was resolved
  std::string who;                  // for people: "key sha256:...", "\"me@example.com\" by \"https://...\""
  std::string where;                // which of them: "bundle sha256:..."
  std::vector<std::string> others;  // what does not count, and why: the first 8, and how many more
};

/// Errors: Conflict, no signature counts; the text says which there are and why they do not. Unavailable or
/// Deadline: the registry did not answer, and what it did say is not enough; trying later may help. NotFound,
/// Invalid: the image itself, as ImageSource.
[[nodiscard]] Result<Verified> verifyImage(const SignatureSource& source, const kcache::Reference& reference,
                                           const std::vector<Trusted>& trusted);

struct Admitted {
  FetchedManifest image;
  std::string why;  // for people: who signed it, or which rule lets it through unsigned
};

/// What a policy says of the image of a cache: the name resolved once, and verified where a rule requires it.
/// Errors: as verifyImage(); Conflict too when no rule is for a ClusterGKMCache; Invalid, the rule cannot be
/// read. The message names the rule.
[[nodiscard]] Result<Admitted> admitImage(const SignatureSource& source, const kcache::trust::Policy& policy,
                                          const TrustedRoots& roots, const kcache::trust::Scope& scope,
                                          const kcache::Reference& reference);

}  // namespace gs::cacherim::trust
