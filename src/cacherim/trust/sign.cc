#include "cacherim/trust/sign.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/base64.h"
#include "kcache/trust/simple_signing.h"

namespace gs::cacherim::trust {
namespace {

namespace kt = kcache::trust;

OpenBlob reader(std::string text) {
  return [text = std::make_shared<const std::string>(std::move(text))] {
    return [text, at = std::size_t{0}](char* to, std::size_t room) mutable {
      const std::size_t taken = std::min(room, text->size() - at);
      std::memcpy(to, text->data() + at, taken);
      at += taken;
      return taken;
    };
  };
}

/// Under the tag; none: an empty list.
Result<std::vector<kcache::Descriptor>> layersAt(ImageSource& registry, const kcache::Reference& tag) {
  const auto fetched = registry.manifest(tag);
  if (!fetched && fetched.error().code == Code::NotFound) { return std::vector<kcache::Descriptor>{}; }
  if (!fetched) { return tl::unexpected(fetched.error()); }
  auto any = kcache::parseManifest(fetched->text, fetched->media_type);
  if (!any) { return tl::unexpected(any.error()); }
  if (auto* manifest = std::get_if<kcache::Manifest>(&*any)) { return std::move(manifest->layers); }
  return fail(Code::Invalid, tag.text() + " is an index, and has no signatures");
}

bool isOurs(const kcache::Descriptor& layer, const std::string& payload, const signature::PublicKey& key) {
  const auto it = layer.annotations.find(kt::kSignatureKey);
  return layer.digest == kcache::Digest::of(payload) && it != layer.annotations.end() &&
         key.verifies(payload, decodeBase64(it->second).value_or(""));
}

}  // namespace

Status signImage(ImageSource& registry, RegistryWriter& writer, const kcache::Reference& name,
                 const kcache::Digest& digest, const signature::PrivateKey& key) {
  const kcache::Reference tag = kt::signatureTag(name, digest);
  auto layers = layersAt(registry, tag);
  if (!layers) { return tl::unexpected(layers.error()); }
  const std::string payload = kt::printSimpleSigning({digest, name.name()});
  const auto ours = [&](const auto& layer) { return isOurs(layer, payload, key.publicKey()); };
  if (std::any_of(layers->begin(), layers->end(), ours)) { return {}; }
  const auto signature = key.sign(payload);
  if (!signature) { return tl::unexpected(signature.error()); }
  layers->push_back({std::string{kt::kSimpleSigningType},
                     kcache::Digest::of(payload),
                     static_cast<std::int64_t>(payload.size()),
                     {{kt::kSignatureKey, encodeBase64(*signature)}}});
  kcache::ImageConfig config;
  for (const kcache::Descriptor& layer : *layers) { config.diff_ids.push_back(layer.digest); }
  const std::string config_text = kcache::printImageConfig(config);
  const kcache::Manifest manifest{
      .media_type = std::string{kcache::media::kOciManifest},
      .config = {std::string{kcache::media::kOciConfig}, kcache::Digest::of(config_text),
                 static_cast<std::int64_t>(config_text.size())},
      .layers = *layers};
  if (Status sent = writer.blob(tag, layers->back(), reader(payload), ""); !sent) { return sent; }
  if (Status sent = writer.blob(tag, manifest.config, reader(config_text), ""); !sent) { return sent; }
  return writer.manifest(tag, manifest.media_type, kcache::printManifest(manifest));
}

}  // namespace gs::cacherim::trust
