#include "cacherim/trust/sign.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/base64.h"
#include "base/hex.h"
#include "kcache/trust/bundle.h"
#include "kcache/trust/simple_signing.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;
namespace media = kcache::media;

constexpr std::size_t kMostInAnIndex = 256;

OpenBlob reading(std::string text) {
  return [text = std::make_shared<const std::string>(std::move(text))] {
    return [text, at = std::size_t{0}](char* to, std::size_t room) mutable {
      const std::size_t taken = text->copy(to, room, at);
      at += taken;
      return taken;
    };
  };
}

kcache::Descriptor descriptorOf(std::string_view type, const std::string& text) {
  return {std::string{type}, kcache::Digest::of(text), static_cast<std::int64_t>(text.size())};
}

/// Signs one image.
class Signing {
 public:
  Signing(const SignatureSource& registry, RegistryWriter& writer, const kcache::Reference& name,
          const kcache::Digest& digest, const signature::PrivateKey& key)
      : registry_{registry}, writer_{writer}, name_{name}, digest_{digest}, key_{key} {}

  Status operator()() {
    if (Status done = underTag(); !done) { return done; }
    return asBundle();
  }

 private:
  /// With its blobs; `reference` has the tag, or none: by its digest.
  Status put(kcache::Reference reference, const kcache::Manifest& manifest,
             const std::vector<std::string>& blobs) {
    for (const std::string& text : blobs) {
      if (Status sent = writer_.blob(name_, descriptorOf("", text), reading(text), ""); !sent) {
        return sent;
      }
    }
    const std::string text = kcache::printManifest(manifest);
    if (reference.tag.empty()) { reference.digest = kcache::Digest::of(text); }
    return writer_.manifest(reference, manifest.media_type, text);
  }

  /// nullopt: there is none.
  Result<std::optional<kcache::AnyManifest>> at(const kcache::Reference& tag) {
    const auto fetched = registry_.images.manifest(tag);
    if (!fetched && fetched.error().code == Code::NotFound) { return std::nullopt; }
    if (!fetched) { return tl::unexpected(fetched.error()); }
    auto any = kcache::parseManifest(fetched->text, fetched->media_type);
    if (!any) { return fail(Code::Invalid, tag.text() + ": " + any.error().message); }
    return std::move(*any);
  }

  // ---- the older way

  [[nodiscard]] bool isOurs(const kcache::Descriptor& layer, const std::string& payload) const {
    const auto it = layer.annotations.find(kt::kSignatureKey);
    return layer.digest == kcache::Digest::of(payload) && it != layer.annotations.end() &&
           key_.publicKey().verifies(payload, decodeBase64(it->second).value_or(""));
  }

  Status underTag() {
    const kcache::Reference tag = kt::signatureTag(name_, digest_);
    auto before = at(tag);
    if (!before) { return tl::unexpected(before.error()); }
    std::vector<kcache::Descriptor> layers;
    if (*before) {
      const auto* manifest = std::get_if<kcache::Manifest>(&**before);
      if (manifest == nullptr) {
        return fail(Code::Invalid, tag.text() + " is an index, and has no signatures");
      }
      layers = manifest->layers;
    }
    const std::string payload = kt::printSimpleSigning({digest_, name_.name()});
    if (std::any_of(layers.begin(), layers.end(), [&](const auto& one) { return isOurs(one, payload); })) {
      return {};
    }
    const auto signature = key_.sign(payload);
    if (!signature) { return tl::unexpected(signature.error()); }
    layers.push_back(descriptorOf(kt::kSimpleSigningType, payload));
    layers.back().annotations = {{kt::kSignatureKey, encodeBase64(*signature)}};
    kcache::ImageConfig config;
    for (const kcache::Descriptor& layer : layers) { config.diff_ids.push_back(layer.digest); }
    const std::string config_text = kcache::printImageConfig(config);
    return put(tag,
               {.media_type = std::string{media::kOciManifest},
                .config = descriptorOf(media::kOciConfig, config_text),
                .layers = std::move(layers)},
               {payload, config_text});
  }

  // ---- a bundle

  Result<std::string> bundleText() const {
    kt::Envelope envelope{std::string{kt::kStatementType}, kt::printStatement(digest_.hex()), ""};
    auto signature = key_.sign(kt::signedTextOf(envelope));
    if (!signature) { return tl::unexpected(signature.error()); }
    envelope.signature = std::move(*signature);
    const std::string hint = encodeBase64(*decodeHex(key_.publicKey().id()));
    return kt::printBundle({.certificates = {},
                            .key_hint = hint,
                            .entries = {},
                            .timestamps = {},
                            .content = std::move(envelope)});
  }

  Status asBundle() {
    const kcache::Reference image = name_.pinned(digest_);
    const auto before = verifyImage(registry_, image, {TrustedKeys{{key_.publicKey()}}});
    if (before && before->where.starts_with("bundle")) { return {}; }
    const auto fetched = registry_.images.manifest(image);
    if (!fetched) { return tl::unexpected(fetched.error()); }
    const auto text = bundleText();
    if (!text) { return tl::unexpected(text.error()); }
    const bool is_index = [&] {
      const auto any = kcache::parseManifest(fetched->text, fetched->media_type);
      return any && std::holds_alternative<kcache::Index>(*any);
    }();
    const std::string type = !fetched->media_type.empty()
                                 ? fetched->media_type
                                 : std::string{is_index ? media::kOciIndex : media::kOciManifest};
    const kcache::Manifest manifest{
        .media_type = std::string{media::kOciManifest},
        .config = descriptorOf(kt::kEmptyConfigType, "{}"),
        .layers = {descriptorOf(kt::kBundleType, *text)},
        .annotations = {{"dev.sigstore.bundle.content", "dsse-envelope"},
                        {kt::kPredicateAnnotation, std::string{kt::kSignPredicate}}},
        .artifact_type = std::string{kt::kBundleType},
        .subject = descriptorOf(type, fetched->text)};
    if (Status sent = put({name_.registry, name_.repository, "", std::nullopt}, manifest, {"{}", *text});
        !sent) {
      return sent;
    }
    return list(manifest);
  }

  /// Where nobody lists it by itself.
  Status list(const kcache::Manifest& manifest) {
    kcache::Descriptor artifact = descriptorOf(media::kOciManifest, kcache::printManifest(manifest));
    artifact.artifact_type = manifest.artifact_type;
    artifact.annotations = manifest.annotations;
    const auto is_it = [&](const kcache::Descriptor& one) { return one.digest == artifact.digest; };
    const auto listed = registry_.referrers(name_, digest_);
    if (listed && std::any_of(listed->found.begin(), listed->found.end(), is_it)) { return {}; }
    const kcache::Reference tag{name_.registry, name_.repository, "sha256-" + std::string{digest_.hex()},
                                std::nullopt};
    auto before = at(tag);
    if (!before) { return tl::unexpected(before.error()); }
    kcache::Index index{std::string{media::kOciIndex}, {}, {}};
    if (*before) {
      auto* there = std::get_if<kcache::Index>(&**before);
      if (there == nullptr || there->manifests.size() >= kMostInAnIndex) {
        return fail(Code::Invalid, tag.text() + " is no index with room for a signature");
      }
      index = std::move(*there);
    }
    index.manifests.push_back(std::move(artifact));
    return writer_.manifest(tag, index.media_type, kcache::printIndex(index));
  }

  const SignatureSource& registry_;
  RegistryWriter& writer_;
  const kcache::Reference& name_;
  const kcache::Digest& digest_;
  const signature::PrivateKey& key_;
};

}  // namespace

Status signImage(const SignatureSource& registry, RegistryWriter& writer, const kcache::Reference& name,
                 const kcache::Digest& digest, const signature::PrivateKey& key) {
  return Signing{registry, writer, name, digest, key}();
}

}  // namespace gs::cacherim::trust
