// For tests only: an image, and what a registry has about it, in memory.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "cacherim/trust/verify.h"
#include "kcache/trust/simple_signing.h"
#include "signature/private_key.h"

namespace gs::cacherim::trust {

/// What is asked for and is not there is NotFound, or `away` when that is set.
class MemoryImages final : public ImageSource {
 public:
  Result<FetchedManifest> manifest(const kcache::Reference& reference) override {
    asked.push_back(reference.text());
    const auto it = manifests.find(reference.digest ? reference.digest->text() : reference.tag);
    if (it != manifests.end()) { return FetchedManifest{kcache::Digest::of(it->second), "", it->second}; }
    if (away && !reference.tag.empty()) { return fail(Code::Unavailable, "the registry is away"); }
    return fail(Code::NotFound, "there is no such manifest");
  }
  Status blob(const kcache::Reference& /*repository*/, const kcache::Descriptor& blob,
              const ByteSink& sink) override {
    const auto it = blobs.find(blob.digest.text());
    if (it == blobs.end()) { return fail(Code::NotFound, "there is no such blob"); }
    if (blob.size != static_cast<std::int64_t>(it->second.size())) {
      return fail(Code::Invalid, "it has another size");
    }
    return sink(it->second) ? Status{} : fail(Code::Conflict, "no more is wanted");
  }
  void cancel() override {}

  kcache::Descriptor put(const std::string& media_type, const std::string& text,
                         kcache::Annotations annotations = {}) {
    const auto digest = kcache::Digest::of(text);
    blobs[digest.text()] = text;
    return {media_type, digest, static_cast<std::int64_t>(text.size()), std::move(annotations)};
  }
  kcache::Digest putManifest(const kcache::Manifest& manifest, const std::string& tag = "") {
    const std::string text = kcache::printManifest(manifest);
    const auto digest = kcache::Digest::of(text);
    manifests[digest.text()] = text;
    if (!tag.empty()) { manifests[tag] = text; }
    return digest;
  }

  std::map<std::string, std::string> manifests;  // by tag or digest
  std::map<std::string, std::string> blobs;
  std::vector<std::string> asked;
  bool away = false;
};

/// quay.io/gkm/a:v1, and what signers put beside it.
class SignedImage {
 public:
  SignedImage()
      : digest{images.putManifest({.media_type = std::string{kcache::media::kOciManifest},
                                   .config = images.put("c", "{}"),
                                   .layers = {images.put("l", "layer")}},
                                  "v1")} {}

  /// A layer under cosign's older tag.
  void addLayer(const std::string& payload, kcache::Annotations annotations) {
    layers_.push_back(
        images.put(std::string{kcache::trust::kSimpleSigningType}, payload, std::move(annotations)));
    images.putManifest({.media_type = std::string{kcache::media::kOciManifest},
                        .config = images.put("c", "{}"),
                        .layers = layers_},
                       kcache::trust::signatureTag(reference, digest).tag);
  }
  void addLayer(const signature::PrivateKey& key, const std::string& payload) {
    addLayer(payload, {{kcache::trust::kSignatureKey, encodeBase64(*key.sign(payload))}});
  }
  [[nodiscard]] std::string payload() const {
    return kcache::trust::printSimpleSigning({digest, "quay.io/gkm/a"});
  }

  /// An artifact whose subject is `subject`.
  void addBundle(const std::string& text, const kcache::Digest& subject) {
    const std::string type{kcache::trust::kBundleType};
    const auto artifact = images.putManifest({.media_type = std::string{kcache::media::kOciManifest},
                                              .config = images.put("application/vnd.oci.empty.v1+json", "{}"),
                                              .layers = {images.put(type, text)},
                                              .artifact_type = type,
                                              .subject = kcache::Descriptor{"m", subject, 1}});
    kcache::Descriptor found{std::string{kcache::media::kOciManifest}, artifact, 1};
    found.artifact_type = type;
    referrers.push_back(std::move(found));
  }
  /// Layers as under cosign's older tag, in an artifact (cosign's mode oci-1-1).
  void addArtifact(const std::vector<std::pair<std::string, kcache::Annotations>>& payloads,
                   const kcache::Digest& subject) {
    const std::string type{kcache::trust::kSignatureArtifact};
    std::vector<kcache::Descriptor> layers;
    for (const auto& [payload, annotations] : payloads) {
      layers.push_back(images.put(std::string{kcache::trust::kSimpleSigningType}, payload, annotations));
    }
    const auto artifact = images.putManifest({.media_type = std::string{kcache::media::kOciManifest},
                                              .config = images.put(type, "{}"),
                                              .layers = std::move(layers),
                                              .subject = kcache::Descriptor{"m", subject, 1}});
    kcache::Descriptor found{std::string{kcache::media::kOciManifest}, artifact, 1};
    found.artifact_type = type;
    referrers.push_back(std::move(found));
  }
  void addBundle(const kcache::trust::Bundle& bundle) {
    addBundle(kcache::trust::printBundle(bundle), digest);
  }

  [[nodiscard]] SignatureSource source() {
    return {images,
            [this](const kcache::Reference&, const kcache::Digest&) -> Result<Referrers> {
              if (images.away) { return fail(Code::Unavailable, "the registry is away"); }
              return Referrers{referrers, is_cut};
            },
            time};
  }
  [[nodiscard]] Result<Verified> verify(const std::vector<Trusted>& trusted) {
    return verifyImage(source(), reference, trusted);
  }

  MemoryImages images;
  const kcache::Reference reference = *kcache::parseReference("quay.io/gkm/a:v1");
  const kcache::Digest digest;
  std::vector<kcache::Descriptor> referrers;
  bool is_cut = false;  // the list of them
  ManualClock clock{};
  TimeLimit time{clock, Mono::max()};

 private:
  std::vector<kcache::Descriptor> layers_;
};

}  // namespace gs::cacherim::trust
