#include "cacherim/trust/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "kcache/trust/bundle.h"
#include "kcache/trust/listed.h"
#include "kcache/trust/simple_signing.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;

// See verify.h.
constexpr std::size_t kMostInVain = 32;
constexpr std::size_t kMostTexts = 32;
constexpr std::size_t kMostTextsOfAnArtifact = 4;
constexpr std::size_t kMostSignatures = 1024;
constexpr std::size_t kMostReported = 8;

using Artifacts = std::vector<kcache::Descriptor>;

/// Of that rank, without those that are `seen`, by digest.
Artifacts takeOf(kt::Listed rank, const Artifacts& listed, std::set<kcache::Digest>& seen) {
  Artifacts out;
  for (const kcache::Descriptor& one : listed) {
    if (kt::listedAs(one) == rank && seen.insert(one.digest).second) { out.push_back(one); }
  }
  return out;
}

/// What is said where nothing counts.
class Report {
 public:
  /// What is the registry's fault is tried again later; all else speaks against this one only.
  void passOver(const std::string& where, const Error& why) {
    const bool is_away = why.code == Code::Unavailable || why.code == Code::Deadline;
    if (is_away && !away_) { away_ = why; }
    if (others_.size() < kMostReported) {
      others_.push_back(fmt::format("{}: {}", where, why.message));
    } else {
      ++more_;
    }
  }
  void attestations(std::size_t count) { attestations_ += count; }
  void leftOut(std::string what) { left_out_.push_back(std::move(what)); }
  void leftOut(std::size_t count, const std::string& what, std::string_view after) {
    if (count > 0) { leftOut(fmt::format("{} {} more were not looked at, after {}", count, what, after)); }
  }
  void outOfTime(std::size_t count, const std::string& what) {
    std::string text = fmt::format("{} {} more were not looked at: no time was left for them", count, what);
    if (away_) {
      leftOut(std::move(text));
    } else {
      away_ = Error{Code::Deadline, std::move(text)};
    }
  }

  /// What does not count, and why.
  [[nodiscard]] std::vector<std::string> others() const {
    std::vector<std::string> out = others_;
    if (more_ > 0) { out.push_back(fmt::format("and {} more", more_)); }
    return out;
  }
  /// `image`: by its digest.
  [[nodiscard]] Error refusal(const std::string& image) const {
    std::vector<std::string> parts = away_ ? std::vector{away_->message} : others();
    parts.insert(parts.end(), left_out_.begin(), left_out_.end());
    const std::string all = fmt::format("{}", fmt::join(parts, "; "));
    if (away_) { return {away_->code, fmt::format("signatures of {}: {}", image, all)}; }
    std::string out = parts.empty() ? image + " has no signatures"
                                    : fmt::format("no signature of {} counts: {}", image, all);
    if (attestations_ > 0) {
      out += fmt::format("; attestations, which are no signatures: {}", attestations_);
    }
    return {Code::Conflict, std::move(out)};
  }

 private:
  std::vector<std::string> others_;  // the first of them
  std::size_t more_ = 0;
  std::vector<std::string> left_out_;
  std::size_t attestations_ = 0;
  std::optional<Error> away_;  // the first
};

/// Looks at one after the other, until one counts.
class Verification {
 public:
  Verification(const SignatureSource& source, const kcache::Reference& reference, FetchedManifest image,
               const std::vector<Trusted>& trusted)
      : source_{source}, reference_{reference}, image_{std::move(image)}, trusted_{trusted} {}

  Result<Verified> operator()() {
    const std::vector<Artifacts> artifacts = listed();
    bool is_found = false;
    for (std::size_t i = 0; i < artifacts.size() && !is_found; ++i) {
      const auto part = source_.time.part(artifacts.size() - i + 1);  // the last is the older tag's
      is_found = byArtifacts(artifacts[i]);
    }
    if (!is_found && !byTag()) {
      return tl::unexpected<Error>(report_.refusal(reference_.pinned(image_.digest).text()));
    }
    return Verified{std::move(image_), std::move(who_), std::move(where_), report_.others()};
  }

 private:
  enum class Look : std::uint8_t { Counts, InVain, Attestation };

  bool counts(const std::string& where, const Result<Evidence>& evidence) {
    const auto who =
        evidence ? judge(*evidence, trusted_) : Result<std::string>{tl::unexpected(evidence.error())};
    if (!who) {
      report_.passOver(where, who.error());
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

  static Result<kcache::Manifest> read(const Result<FetchedManifest>& fetched) {
    if (!fetched) { return tl::unexpected(fetched.error()); }
    return kcache::parseArtifact(fetched->text, fetched->media_type);
  }

  /// Of what is next while so many are left: one that hangs takes half of the time, and not all.
  [[nodiscard]] TimeLimit::Part partOfNext(std::size_t left) { return source_.time.part(left > 1 ? 2 : 1); }

  // ---- what has the image as its subject

  /// By what the list says of them, each artifact once; none of these is empty.
  std::vector<Artifacts> listed() {
    std::vector<Artifacts> out;
    if (!source_.referrers) { return out; }
    const auto part = source_.time.part(2);
    const auto referrers = source_.referrers(reference_, image_.digest);
    if (!referrers) {
      report_.passOver("referrers", referrers.error());
      return out;
    }
    if (referrers->broken) { report_.passOver("referrers", *referrers->broken); }
    if (referrers->is_cut) {
      const auto& found = referrers->found;
      report_.leftOut(
          fmt::format("the list of what refers to it is too long, and was left after {} that may be "
                      "signatures",
                      std::count_if(found.begin(), found.end(), kt::mayBeSignature)));
    }
    std::set<kcache::Digest> seen;
    for (const auto rank : {kt::Listed::SaysSignature, kt::Listed::Bundle, kt::Listed::MayBe}) {
      auto of_rank = takeOf(rank, referrers->found, seen);
      if (!of_rank.empty()) { out.push_back(std::move(of_rank)); }
    }
    report_.attestations(takeOf(kt::Listed::Attestation, referrers->found, seen).size());
    return out;
  }

  bool byArtifacts(const Artifacts& artifacts) {
    std::size_t in_vain = 0;
    for (std::size_t i = 0; i < artifacts.size(); ++i) {
      const std::size_t left = artifacts.size() - i;
      if (in_vain == kMostInVain) {
        report_.leftOut(left, "artifacts", fmt::format("{} that do not count", in_vain));
        return false;
      }
      if (source_.time.isOver()) {
        report_.outOfTime(left, "artifacts");
        return false;
      }
      const auto part = partOfNext(left);
      const Look look = byArtifact(artifacts[i]);
      if (look == Look::Counts) { return true; }
      if (look == Look::InVain) { ++in_vain; }
    }
    return false;
  }

  Look byArtifact(const kcache::Descriptor& listed) {
    const auto manifest = read(source_.images.manifest(reference_.pinned(listed.digest)));
    const std::string where = "artifact " + listed.digest.text();
    if (!manifest) { return lookAt(where, tl::unexpected(manifest.error())); }
    const auto& layers = manifest->layers;
    const auto bundle = std::find_if(layers.begin(), layers.end(), [](const kcache::Descriptor& one) {
      return one.media_type.starts_with(kt::kBundlePrefix);
    });
    const bool has_layers = std::any_of(layers.begin(), layers.end(), isSigned);
    if (bundle == layers.end() && !has_layers && kt::listedAs(listed) == kt::Listed::MayBe) {
      return Look::InVain;  // it is something else
    }
    if (!manifest->subject || manifest->subject->digest != image_.digest) {
      return lookAt(where, fail(Code::Invalid, "its subject is another image"));
    }
    if (bundle != layers.end()) { return lookAt("bundle " + listed.digest.text(), readBundle(*bundle)); }
    if (has_layers) {
      return byLayers(where, *manifest, kMostTextsOfAnArtifact) ? Look::Counts : Look::InVain;
    }
    return lookAt(where, fail(Code::Invalid, "it has no signature in it"));
  }

  Look lookAt(const std::string& where, const Result<Evidence>& evidence) {
    if (!evidence && evidence.error().code == Code::Conflict) {
      report_.attestations(1);
      return Look::Attestation;
    }
    return counts(where, evidence) ? Look::Counts : Look::InVain;
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
    if (!source_.origin) { return byTagOf(tag, source_.images.manifest(tag)); }
    std::optional<kcache::Digest> before;
    {
      const auto part = source_.time.part(2);
      const auto there = source_.images.manifest(tag);
      if (byTagOf(tag, there)) { return true; }
      if (there) { before = there->digest; }
    }
    const auto own = source_.origin(tag);
    const bool is_known = own && before == own->digest;
    return !is_known && byTagOf(tag, own);
  }

  bool byTagOf(const kcache::Reference& tag, const Result<FetchedManifest>& fetched) {
    if (!fetched && fetched.error().code == Code::NotFound) { return false; }
    const auto manifest = read(fetched);
    if (!manifest) { return counts(tag.tag, tl::unexpected(manifest.error())); }
    return byLayers(tag.tag, *manifest, kMostTexts);
  }

  /// What many have signed is one text, so it is fetched once. (By digest and size: a wrong size, which
  /// whoever puts a layer there can say, spoils no other layer.)
  bool byLayers(const std::string& where, const kcache::Manifest& manifest, std::size_t most_texts) {
    std::map<std::pair<kcache::Digest, std::int64_t>, Result<std::string>> texts;
    const std::string what = "layers of " + where;
    auto left =
        static_cast<std::size_t>(std::count_if(manifest.layers.begin(), manifest.layers.end(), isSigned));
    std::size_t looked = 0;
    std::size_t without_text = 0;
    for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
      const kcache::Descriptor& layer = manifest.layers[i];
      if (!isSigned(layer)) { continue; }
      if (source_.time.isOver()) {
        report_.outOfTime(left, what);
        break;
      }
      if (looked == kMostSignatures) {
        report_.leftOut(left, what, fmt::format("{} signatures", looked));
        break;
      }
      auto text = texts.find({layer.digest, layer.size});
      const bool is_known = text != texts.end();
      if (!is_known && texts.size() < most_texts) {
        const auto part = partOfNext(left);
        text = texts.emplace(std::pair{layer.digest, layer.size}, blob(layer, kt::kMaxPayload)).first;
      }
      --left;
      if (text == texts.end()) {
        ++without_text;
        continue;
      }
      ++looked;
      if (counts(fmt::format("{} layer {}", where, i), evidenceIn(text->second, layer))) { return true; }
    }
    report_.leftOut(without_text, what, fmt::format("{} texts", texts.size()));
    return false;
  }

  Result<Evidence> evidenceIn(const Result<std::string>& text, const kcache::Descriptor& layer) const {
    if (!text) { return tl::unexpected(text.error()); }
    return evidenceOf(*text, layer.annotations, image_.digest);
  }

  const SignatureSource& source_;
  const kcache::Reference& reference_;
  FetchedManifest image_;
  const std::vector<Trusted>& trusted_;
  std::string who_;
  std::string where_;
  Report report_;
};

}  // namespace

SignatureSource signaturesIn(Registry& registry) {
  return {registry,
          [&registry](const kcache::Reference& repository, const kcache::Digest& subject) {
            return registry.referrers(repository, subject, "");
          },
          registry.time(),
          registry.hasMirrors()
              ? [&registry](const kcache::Reference& tag) { return registry.manifestOfOrigin(tag); }
              : FindTag{}};
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
