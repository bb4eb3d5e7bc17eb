#include "cacherim/trust/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kcache/trust/bundle.h"
#include "kcache/trust/simple_signing.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;

constexpr std::size_t kMostOfAKind = 32;
constexpr std::size_t kMostReported = 8;

/// Looks at one after the other, until one counts.
class Verification {
 public:
  Verification(const SignatureSource& source, const kcache::Reference& reference, FetchedManifest image,
               const std::vector<Trusted>& trusted)
      : source_{source}, reference_{reference}, image_{std::move(image)}, trusted_{trusted} {}

  Result<Verified> operator()() {
    const bool found = byBundles() || (!isOver() && byTag());
    if (found) { return Verified{std::move(image_), std::move(who_), std::move(where_), std::move(others_)}; }
    const std::string name = reference_.pinned(image_.digest).text();
    if (away_) { return fail(away_->code, fmt::format("signatures of {}: {}", name, away_->message)); }
    if (others_.empty()) { return fail(Code::Conflict, fmt::format("{} has no signatures", name)); }
    if (others_.size() > kMostReported) {
      const std::size_t more = others_.size() - kMostReported;
      others_.resize(kMostReported);
      others_.push_back(fmt::format("and {} more", more));
    }
    return fail(Code::Conflict, fmt::format("no signature of {} counts: {}", name, fmt::join(others_, "; ")));
  }

 private:
  /// What is the registry's fault is tried again later; all else speaks against this one only.
  void passOver(const std::string& where, const Error& why) {
    const bool is_away = why.code == Code::Unavailable || why.code == Code::Deadline;
    if (is_away && !isOver()) { away_ = why; }
    others_.push_back(fmt::format("{}: {}", where, why.message));
  }

  /// The registry took too long: nothing more is asked of it.
  [[nodiscard]] bool isOver() const { return away_ && away_->code == Code::Deadline; }

  bool counts(const std::string& where, const Result<Evidence>& evidence) {
    const auto who =
        evidence ? judge(*evidence, trusted_) : Result<std::string>{tl::unexpected(evidence.error())};
    if (!who) {
      passOver(where, who.error());
      return false;
    }
    who_ = *who;
    where_ = where;
    return true;
  }

  Result<std::string> blob(const kcache::Descriptor& descriptor, std::size_t most) {
    if (descriptor.size > static_cast<std::int64_t>(most)) {
      return fail(Code::Invalid, fmt::format("it has {} bytes; {} are allowed", descriptor.size, most));
    }
    std::string out;
    const Status read = source_.images.blob(reference_, descriptor, [&](std::string_view piece) {
      out += piece;
      return out.size() <= most;
    });
    if (!read) { return tl::unexpected(read.error()); }
    return out;
  }

  Result<kcache::Manifest> artifact(const kcache::Reference& name) {
    const auto fetched = source_.images.manifest(name);
    if (!fetched) { return tl::unexpected(fetched.error()); }
    auto any = kcache::parseManifest(fetched->text, fetched->media_type);
    if (!any) { return tl::unexpected(any.error()); }
    if (auto* manifest = std::get_if<kcache::Manifest>(&*any)) { return std::move(*manifest); }
    return fail(Code::Invalid, "it is an index, and no artifact");
  }

  // ---- bundles

  bool byBundles() {
    if (!source_.referrers) { return false; }
    const auto found = source_.referrers(reference_, image_.digest);
    if (!found) {
      passOver("referrers", found.error());
      return false;
    }
    std::size_t looked_at = 0;
    for (const auto& is_wanted : {isNamedBundle, mayBeBundle}) {
      for (const kcache::Descriptor& one : *found) {
        if (!is_wanted(one)) { continue; }
        if (++looked_at > kMostOfAKind || isOver()) { return false; }
        if (byBundle(one)) { return true; }
      }
    }
    return false;
  }

  static bool isNamedBundle(const kcache::Descriptor& listed) {
    return listed.artifact_type.starts_with(kt::kBundlePrefix);
  }
  /// The list does not say. What cosign 2.6 and 3.0 put beside an image is in the index under the fallback
  /// tag, and in some registries' own list, with the type of its config, which is that of nothing.
  static bool mayBeBundle(const kcache::Descriptor& listed) {
    return listed.artifact_type.empty() || listed.artifact_type == kt::kEmptyConfigType;
  }

  bool byBundle(const kcache::Descriptor& listed) {
    const std::string where = "bundle " + listed.digest.text();
    const auto manifest = artifact(reference_.pinned(listed.digest));
    if (!manifest) { return counts(where, tl::unexpected(manifest.error())); }
    const auto& layers = manifest->layers;
    const auto layer = std::find_if(layers.begin(), layers.end(), [](const kcache::Descriptor& one) {
      return one.media_type.starts_with(kt::kBundlePrefix);
    });
    if (layer == layers.end() && !isNamedBundle(listed)) { return false; }  // it is something else
    if (!manifest->subject || manifest->subject->digest != image_.digest) {
      return counts(where, fail(Code::Invalid, "its subject is another image"));
    }
    if (layer == layers.end()) { return counts(where, fail(Code::Invalid, "it has no bundle in it")); }
    return counts(where, readBundle(*layer));
  }

  Result<Evidence> readBundle(const kcache::Descriptor& layer) {
    const auto text = blob(layer, kt::kMaxBundle);
    if (!text) { return tl::unexpected(text.error()); }
    const auto bundle = kt::parseBundle(*text);
    if (!bundle) { return tl::unexpected(bundle.error()); }
    return evidenceOf(*bundle, image_);
  }

  // ---- cosign's older tag

  bool byTag() {
    const kcache::Reference tag = kt::signatureTag(reference_, image_.digest);
    const auto manifest = artifact(tag);
    if (!manifest && manifest.error().code == Code::NotFound) { return false; }
    if (!manifest) { return counts(tag.tag, tl::unexpected(manifest.error())); }
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < manifest->layers.size(); ++i) {
      const kcache::Descriptor& layer = manifest->layers[i];
      if (layer.media_type != kt::kSimpleSigningType) { continue; }
      if (++looked_at > kMostOfAKind || isOver()) { break; }
      if (counts(fmt::format("{} layer {}", tag.tag, i), readLayer(layer))) { return true; }
    }
    return false;
  }

  Result<Evidence> readLayer(const kcache::Descriptor& layer) {
    const auto payload = blob(layer, kt::kMaxPayload);
    if (!payload) { return tl::unexpected(payload.error()); }
    return evidenceOf(*payload, layer.annotations, image_.digest);
  }

  const SignatureSource& source_;
  const kcache::Reference& reference_;
  FetchedManifest image_;
  const std::vector<Trusted>& trusted_;
  std::string who_;
  std::string where_;
  std::vector<std::string> others_;
  std::optional<Error> away_;
};

}  // namespace

SignatureSource signaturesIn(Registry& registry) {
  return {registry, [&registry](const kcache::Reference& repository, const kcache::Digest& subject) {
            return registry.referrers(repository, subject, "");
          }};
}

Result<Verified> verifyImage(const SignatureSource& source, const kcache::Reference& reference,
                             const std::vector<Trusted>& trusted) {
  auto image = source.images.manifest(reference);
  if (!image) { return tl::unexpected(image.error()); }
  return Verification{source, reference, std::move(*image), trusted}();
}

Result<Admitted> admitImage(const SignatureSource& source, const kt::Policy& policy,
                            const TrustedRoots& roots, const kt::Scope& scope,
                            const kcache::Reference& reference) {
  const kt::Decision decision = kt::ruleFor(policy, scope, reference);
  if (decision.kind == kt::Decision::Kind::Refused) { return fail(Code::Conflict, decision.why); }
  if (decision.kind == kt::Decision::Kind::Unsigned) {
    auto image = source.images.manifest(reference);
    if (!image) { return tl::unexpected(image.error()); }
    return Admitted{std::move(*image), decision.why};
  }
  const auto trusted = trustedOf(*decision.rule, roots);
  if (!trusted) {
    return fail(trusted.error().code, fmt::format("{}: {}", kt::kPolicyConfigMap, trusted.error().message));
  }
  auto verified = verifyImage(source, reference, *trusted);
  if (!verified) {
    return fail(verified.error().code,
                fmt::format("{}, {}: {}", kt::kPolicyConfigMap, decision.why, verified.error().message));
  }
  return Admitted{std::move(verified->image), "signed by " + verified->who};
}

}  // namespace gs::cacherim::trust
