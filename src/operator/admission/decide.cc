#include "operator/admission/decide.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "admission/json_patch.h"
#include "base/utf8.h"
#include "kcache/kinds/kinds.h"
#include "kcache/kinds/names.h"
#include "operator/admission/digest_mark.h"
#include "operator/admission/kyverno.h"

namespace gs::gkm {
namespace {

using admission::Review;
using admission::Verdict;
using json::View;

constexpr std::size_t kMostMessage = 4'096;  // bytes
constexpr std::array kWritten{kcache::kDigestKey, kcache::kMutationSignatureKey, kcache::kLastMutatedByKey};
using Annotations = std::vector<std::pair<const char*, std::string>>;

Verdict refused(std::string_view why) {
  return {.allowed = false, .message = std::string{utf8Prefix(why, kMostMessage)}};
}

std::string_view imageOf(const View& object) { return object["spec"]["image"].str(); }
std::string_view annotationOf(const View& object, const char* key) {
  return object["metadata"]["annotations"][key].str();
}

/// "" of a ClusterGKMCache.
std::string_view scopeOf(const Review& review) {
  return review.kind == kcache::kClusterCache->name ? std::string_view{} : review.ns;
}

bool isOurs(const Review& review) {
  const bool is_cache = review.kind == kcache::kCache->name || review.kind == kcache::kClusterCache->name;
  const bool comes = review.operation == "CREATE" || review.operation == "UPDATE";
  return is_cache && review.group == kcache::kCache->group && comes && review.subresource.empty();
}

/// What was there before; of what is created nothing, whatever the review says.
View before(const Review& review) { return review.operation == "UPDATE" ? review.old_object : View{}; }

/// As the API server knows it: who changes an object cannot set it.
bool isDeleting(const Review& review) {
  return !before(review)["metadata"]["deletionTimestamp"].str().empty();
}

/// In a patch, what is added replaces what is there.
Verdict annotated(const View& object, const Annotations& wanted) {
  const View metadata = object["metadata"];
  if (!metadata.isObject()) { return refused("metadata must be set"); }
  admission::JsonPatch patch;
  json::Object all;
  for (const auto& [key, value] : wanted) {
    if (annotationOf(object, key) == value) { continue; }
    all.append(key, value);
    std::string path = key;
    path.replace(path.find('/'), 1, "~1");  // a JSON pointer
    if (metadata["annotations"].isObject()) { patch.add("/metadata/annotations/" + path, value); }
  }
  if (!metadata["annotations"].isObject() && !all.empty()) { patch.add("/metadata/annotations", all); }
  return {.patch = std::move(patch).text()};
}

/// The image is as it was: what the webhook once wrote stays with it.
Verdict putBack(const Review& review) {
  if (!annotationOf(review.object, kcache::kDigestKey).empty()) { return {}; }
  Annotations lost;
  for (const char* key : kWritten) {
    const std::string_view was = annotationOf(before(review), key);
    if (!was.empty()) { lost.emplace_back(key, was); }
  }
  return lost.empty() ? Verdict{} : annotated(review.object, lost);
}

Result<Resolved> resolved(const Review& review, std::string_view image, const Rules& rules) {
  const auto reference = kcache::parseReference(image);
  if (!reference) { return fail(Code::Invalid, resolutionFailed(image, reference.error().message)); }
  const std::string_view ns = scopeOf(review);
  if (rules.honours_kyverno && !ns.empty() &&
      kyvernoVouches(annotationOf(review.object, kKyvernoKey), *reference)) {
    return Resolved{*reference->digest, "kyverno"};
  }
  auto out = rules.resolve({std::string{ns}, std::string{review.object["metadata"]["name"].str()}},
                           *reference, kcache::pullSecretsIn(review.object["spec"]));
  if (out && reference->digest && out->digest != *reference->digest) {
    return fail(Code::Invalid,
                resolutionFailed(image, fmt::format("the registry has {} instead", out->digest.text())));
  }
  return out;
}

}  // namespace

std::string resolutionFailed(std::string_view image, std::string_view cause) {
  return fmt::format("image digest resolution failed for '{}': {}", utf8Prefix(image, 600), cause);
}

std::string verificationFailed(std::string_view image, std::string_view cause) {
  return fmt::format("image signature verification failed for '{}': {}", utf8Prefix(image, 600), cause);
}

Verdict mutate(const Review& review, const Rules& rules) {
  const std::string_view image = imageOf(review.object);
  if (!isOurs(review) || image.empty()) { return {}; }  // validate() says what is wrong
  if (review.operation == "UPDATE" && image == imageOf(review.old_object)) { return putBack(review); }
  if (isDeleting(review)) { return {}; }
  const std::string key = rules.signing_key();
  if (key.empty()) {
    return refused("gkm-operator does not know its signing key yet (secret gkm-webhook-key): try again");
  }
  const auto is = resolved(review, image, rules);
  if (!is) { return refused(is.error().message); }
  const std::string& digest = is->digest.text();
  return annotated(review.object,
                   {{kcache::kDigestKey, digest},
                    {kcache::kMutationSignatureKey, digestMark(key, scopeOf(review), image, digest)},
                    {kcache::kLastMutatedByKey, std::string{review.user}}});
}

Verdict validate(const Review& review, const Rules& rules) {
  if (!isOurs(review)) { return {}; }
  const std::string_view image = imageOf(review.object);
  const std::string_view digest = annotationOf(review.object, kcache::kDigestKey);
  const bool same_image = review.operation == "UPDATE" && image == imageOf(review.old_object);
  const std::string_view digest_before = annotationOf(before(review), kcache::kDigestKey);
  if (same_image && digest == digest_before) { return {}; }
  if (same_image && !digest_before.empty()) {
    return refused("gkm.io/resolvedDigest is immutable when spec.image is unchanged");
  }
  if (image.empty()) { return refused("spec.image must be set"); }
  if (isDeleting(review)) { return refused("spec.image must stay as it is: the cache is being deleted"); }
  if (const auto reference = kcache::parseReference(image); !reference) {
    return refused("spec.image: " + reference.error().message);
  }
  if (digest.empty()) { return refused("gkm.io/resolvedDigest must be set by the mutating webhook"); }
  const std::string_view mark = annotationOf(review.object, kcache::kMutationSignatureKey);
  if (!isDigestMark(mark, rules.signing_key(), scopeOf(review), image, digest)) {
    return refused(
        "gkm.io/resolvedDigest present but missing/invalid gkm.io/mutationSig; digest must be set only by "
        "the mutating webhook");
  }
  return {};
}

}  // namespace gs::gkm
