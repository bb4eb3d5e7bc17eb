#include "cacherim/trust/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
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
    const bool found = byReferrers() || (!isOver() && byTag());
    if (found) { return Verified{std::move(image_), std::move(who_), std::move(where_), std::move(others_)}; }
    const std::string name = reference_.pinned(image_.digest).text();
    if (away_) { return fail(away_->code, fmt::format("signatures of {}: {}", name, away_->message)); }
    const std::string what = others_.empty() && left_out_.empty()
                                 ? name + " has no signatures"
                                 : fmt::format("no signature of {} counts: {}", name, reported());
    return fail(Code::Conflict,
                attestations_ == 0
                    ? what
                    : fmt::format("{}; attestations, which are no signatures: {}", what, attestations_));
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

  [[nodiscard]] std::string reported() const {
    std::vector<std::string> out{others_.begin(), others_.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                        others_.size(), kMostReported))};
    if (others_.size() > out.size()) {
      out.push_back(fmt::format("and {} more", others_.size() - out.size()));
    }
    out.insert(out.end(), left_out_.begin(), left_out_.end());
    return fmt::format("{}", fmt::join(out, "; "));
  }

  // ---- what has the image as its subject

  bool byReferrers() {
    if (!source_.referrers) { return false; }
    const auto listed = source_.referrers(reference_, image_.digest);
    if (!listed) {
      passOver("referrers", listed.error());
      return false;
    }
    if (listed->is_cut) {
      left_out_.push_back(fmt::format("the list of what refers to it is too long, and was left after {}",
                                      listed->found.size()));
    }
    std::vector<const kcache::Descriptor*> order;
    for (const Rank rank : {Rank::SaysSignature, Rank::Named, Rank::MayBe}) {
      for (const kcache::Descriptor& one : listed->found) {
        if (rankOf(one) == rank) { order.push_back(&one); }
      }
    }
    attestations_ += static_cast<std::size_t>(
        std::count_if(listed->found.begin(), listed->found.end(),
                      [](const auto& one) { return rankOf(one) == Rank::SaysAttestation; }));
    for (std::size_t i = 0; i < order.size() && !isOver(); ++i) {
      if (in_vain_ >= kMostOfAKind) {
        leaveOut("artifacts", order.size() - i);
        return false;
      }
      if (byArtifact(*order[i])) { return true; }
    }
    return false;
  }

  void leaveOut(std::string_view what, std::size_t count) {
    left_out_.push_back(
        fmt::format("{} {} more were not looked at, after {} that do not count", count, what, kMostOfAKind));
  }

  enum class Rank : std::uint8_t { SaysSignature, Named, MayBe, SaysAttestation, No };

  /// A list may say nothing of what an artifact is. What cosign 2.6 and 3.0 put beside an image is in the
  /// index under the fallback tag, and in some registries' own list, with the type of its config, which is
  /// that of nothing.
  static Rank rankOf(const kcache::Descriptor& listed) {
    const auto says = listed.annotations.find(kt::kPredicateAnnotation);
    const bool says_signature = says != listed.annotations.end() && says->second == kt::kSignPredicate;
    if (says_signature || listed.artifact_type == kt::kSignatureArtifact) { return Rank::SaysSignature; }
    if (says != listed.annotations.end()) { return Rank::SaysAttestation; }
    if (listed.artifact_type.starts_with(kt::kBundlePrefix)) { return Rank::Named; }
    const bool may_be = listed.artifact_type.empty() || listed.artifact_type == kt::kEmptyConfigType;
    return may_be ? Rank::MayBe : Rank::No;
  }

  bool byArtifact(const kcache::Descriptor& listed) {
    const auto manifest = artifact(reference_.pinned(listed.digest));
    const std::string where = "artifact " + listed.digest.text();
    if (!manifest) { return countsOrCosts(where, tl::unexpected(manifest.error())); }
    const auto& layers = manifest->layers;
    const auto bundle = std::find_if(layers.begin(), layers.end(), [](const kcache::Descriptor& one) {
      return one.media_type.starts_with(kt::kBundlePrefix);
    });
    const bool has_layers = std::any_of(layers.begin(), layers.end(), isSigned);
    if (bundle == layers.end() && !has_layers && rankOf(listed) == Rank::MayBe) {
      ++in_vain_;  // it is something else
      return false;
    }
    if (!manifest->subject || manifest->subject->digest != image_.digest) {
      return countsOrCosts(where, fail(Code::Invalid, "its subject is another image"));
    }
    if (bundle != layers.end()) {
      return countsOrCosts("bundle " + listed.digest.text(), readBundle(*bundle));
    }
    if (has_layers) { return byLayers(where, *manifest); }
    return countsOrCosts(where, fail(Code::Invalid, "it has no signature in it"));
  }

  bool countsOrCosts(const std::string& where, const Result<Evidence>& evidence) {
    if (!evidence && evidence.error().code == Code::Conflict) {
      ++attestations_;
      return false;
    }
    ++in_vain_;
    return counts(where, evidence);
  }

  Result<Evidence> readBundle(const kcache::Descriptor& layer) {
    const auto text = blob(layer, kt::kMaxBundle);
    if (!text) { return tl::unexpected(text.error()); }
    const auto bundle = kt::parseBundle(*text);
    if (!bundle) { return tl::unexpected(bundle.error()); }
    return evidenceOf(*bundle, image_);
  }

  // ---- layers with signatures: under cosign's older tag, or of an artifact

  static bool isSigned(const kcache::Descriptor& layer) { return layer.media_type == kt::kSimpleSigningType; }

  bool byTag() {
    const kcache::Reference tag = kt::signatureTag(reference_, image_.digest);
    const auto manifest = artifact(tag);
    if (!manifest && manifest.error().code == Code::NotFound) { return false; }
    if (!manifest) { return counts(tag.tag, tl::unexpected(manifest.error())); }
    return byLayers(tag.tag, *manifest);
  }

  /// What many have signed is one text, so it is fetched once: only texts count against the limit.
  bool byLayers(const std::string& where, const kcache::Manifest& manifest) {
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < manifest.layers.size() && !isOver(); ++i) {
      const kcache::Descriptor& layer = manifest.layers[i];
      if (!isSigned(layer)) { continue; }
      if (!payloads_.contains(layer.digest) && payloads_.size() >= kMostOfAKind) {
        ++left_out;
        continue;
      }
      if (counts(fmt::format("{} layer {}", where, i), readLayer(layer))) { return true; }
    }
    if (left_out > 0) { leaveOut("layers of " + where, left_out); }
    return false;
  }

  Result<Evidence> readLayer(const kcache::Descriptor& layer) {
    auto known = payloads_.find(layer.digest);
    if (known == payloads_.end()) {
      known = payloads_.emplace(layer.digest, blob(layer, kt::kMaxPayload)).first;
    }
    const auto& payload = known->second;
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
  std::vector<std::string> left_out_;  // what was not looked at, for people
  std::map<kcache::Digest, Result<std::string>> payloads_;
  std::size_t in_vain_ = 0;  // artifacts that were fetched, and do not count
  std::size_t attestations_ = 0;
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
