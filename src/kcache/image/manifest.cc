#include "kcache/image/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/value.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kMaxLayers = 128;
constexpr std::size_t kMaxEntries = 256;
constexpr std::ptrdiff_t kMaxValues = 65'536;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 53;

tl::unexpected<Error> badManifest(const std::string& member, std::string_view what) {
  return fail(Code::Invalid, fmt::format("image manifest: {} {}", member, what));
}

Result<Annotations> stringsOf(const json::Value& object, const std::string& member) {
  Annotations out;
  if (!object.isNull() && !object.isObject()) { return badManifest(member, "is no object"); }
  for (const auto& [key, value] : object.members()) {
    if (!value.isString()) { return badManifest(fmt::format("{}['{}']", member, key), "is no string"); }
    out.emplace(key, value.str());
  }
  return out;
}

std::optional<Platform> platformOf(const json::Value& value) {
  if (!value.isObject()) { return std::nullopt; }
  return Platform{std::string{value["os"].str()}, std::string{value["architecture"].str()}};
}

Result<Descriptor> descriptorOf(const json::Value& value, const std::string& member) {
  if (!value.isObject()) { return badManifest(member, "is no descriptor (mediaType, digest, size)"); }
  if (value["mediaType"].str().empty()) { return badManifest(member + ".mediaType", "is missing"); }
  auto digest = Digest::parse(value["digest"].str());
  if (!digest) { return badManifest(member + ".digest:", digest.error().message); }
  const auto size = value["size"].integer();
  if (!size || *size < 0 || *size >= kMaxSize) {
    return badManifest(member + ".size", "is no number of bytes");
  }
  auto annotations = stringsOf(value["annotations"], member + ".annotations");
  if (!annotations) { return tl::unexpected(annotations.error()); }
  return Descriptor{.media_type = std::string{value["mediaType"].str()},
                    .digest = *digest,
                    .size = *size,
                    .annotations = std::move(*annotations),
                    .platform = platformOf(value["platform"]),
                    .artifact_type = std::string{value["artifactType"].str()}};
}

Result<std::vector<Descriptor>> descriptorsOf(const json::Value& list, const std::string& member,
                                              std::size_t most) {
  if (!list.isArray()) { return badManifest(member, "is no list"); }
  if (list.items().size() > most) {
    return badManifest(member, fmt::format("has {} entries; {} are allowed", list.items().size(), most));
  }
  std::vector<Descriptor> out;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    auto one = descriptorOf(list.at(i), fmt::format("{}[{}]", member, i));
    if (!one) { return tl::unexpected(one.error()); }
    out.push_back(std::move(*one));
  }
  return out;
}

/// Those that can be read.
std::vector<Descriptor> readableOf(const json::Value& list, const std::string& member) {
  std::vector<Descriptor> out;
  for (const json::Value& entry : list.items()) {
    if (auto one = descriptorOf(entry, member)) { out.push_back(std::move(*one)); }
  }
  return out;
}

Result<Manifest> imageOf(const json::Value& value, std::string media_type,
                         Result<std::vector<Descriptor>> layers) {
  auto config = descriptorOf(value["config"], "config");
  if (!config) { return tl::unexpected(config.error()); }
  if (!layers) { return tl::unexpected(layers.error()); }
  auto annotations = stringsOf(value["annotations"], "annotations");
  if (!annotations) { return tl::unexpected(annotations.error()); }
  Manifest out{.media_type = std::move(media_type),
               .config = std::move(*config),
               .layers = std::move(*layers),
               .annotations = std::move(*annotations),
               .artifact_type = std::string{value["artifactType"].str()}};
  if (!value["subject"].isNull()) {
    auto subject = descriptorOf(value["subject"], "subject");
    if (!subject) { return tl::unexpected(subject.error()); }
    out.subject = std::move(*subject);
  }
  return out;
}

Result<AnyManifest> indexOf(const json::Value& value, std::string media_type) {
  auto manifests = descriptorsOf(value["manifests"], "manifests", kMaxEntries);
  if (!manifests) { return tl::unexpected(manifests.error()); }
  auto annotations = stringsOf(value["annotations"], "annotations");
  if (!annotations) { return tl::unexpected(annotations.error()); }
  return Index{std::move(media_type), std::move(*manifests), std::move(*annotations)};
}

bool isIndexType(std::string_view type) { return type == media::kOciIndex || type == media::kDockerList; }
bool isImageType(std::string_view type) {
  return type == media::kOciManifest || type == media::kDockerManifest;
}
bool isKnown(std::string_view type) { return isIndexType(type) || isImageType(type); }

/// "a/b; charset=utf-8" without what is behind the type.
std::string_view bareType(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return type.substr(0, type.find_last_not_of(' ') + 1);
}

/// What the text is, by itself, by how it came, or by its members. A registry that names it by a type that
/// says nothing (application/json) is not believed; one that contradicts the text is not either.
Result<std::string> typeOf(const json::Value& value, std::string_view content_type) {
  const std::string_view own = value["mediaType"].str();
  const std::string_view said = bareType(content_type);
  if (!own.empty() && !isKnown(own)) {
    return badManifest("mediaType",
                       fmt::format("is '{}'; images and indexes of OCI and docker schema 2 are read", own));
  }
  if (!own.empty() && isKnown(said) && own != said) {
    return badManifest("mediaType", fmt::format("is '{}', but it was sent as '{}'", own, said));
  }
  if (!own.empty()) { return std::string{own}; }
  if (isKnown(said)) { return std::string{said}; }
  if (value["manifests"].isArray()) { return std::string{media::kOciIndex}; }
  if (value["layers"].isArray()) { return std::string{media::kOciManifest}; }
  return fail(Code::Invalid,
              "image manifest: it has neither layers nor manifests; images and indexes of OCI and docker "
              "schema 2 are read");
}

// ---- printing

json::Value printed(const Platform& platform) {
  return json::Object{{"architecture", platform.architecture}, {"os", platform.os}};
}

json::Value printed(const Descriptor& descriptor) {
  json::Object out{
      {"mediaType", descriptor.media_type}, {"digest", descriptor.digest.text()}, {"size", descriptor.size}};
  if (!descriptor.annotations.empty()) { out.set("annotations", json::fromStrings(descriptor.annotations)); }
  if (descriptor.platform) { out.set("platform", printed(*descriptor.platform)); }
  if (!descriptor.artifact_type.empty()) { out.set("artifactType", descriptor.artifact_type); }
  return out;
}

json::Value printed(const std::vector<Descriptor>& descriptors) {
  json::Array out;
  for (const Descriptor& one : descriptors) { out.push_back(printed(one)); }
  return out;
}

json::Object headOf(const std::string& media_type, const std::string& artifact_type) {
  json::Object out{{"schemaVersion", 2}, {"mediaType", media_type}};
  if (!artifact_type.empty()) { out.set("artifactType", artifact_type); }
  return out;
}

std::string nameOf(const std::optional<Platform>& platform) {
  return platform ? platform->os + '/' + platform->architecture : "(no platform)";
}

/// An attestation of a build lies beside its image as one for "unknown/unknown".
bool isImage(const Descriptor& entry) {
  return isImageType(entry.media_type) && (!entry.platform || entry.platform->os != "unknown");
}

}  // namespace

Result<json::Value> parseRegistryJson(std::string_view text, std::size_t max_bytes) {
  if (std::count(text.begin(), text.end(), ',') >= kMaxValues) {
    return fail(Code::Invalid, fmt::format("it has too many values; {} are allowed", kMaxValues));
  }
  return json::parse(text, max_bytes);
}

namespace {

struct Typed {
  json::Value value;
  std::string media_type;
};

Result<Typed> typedOf(std::string_view text, std::string_view content_type) {
  auto value = parseRegistryJson(text);
  if (!value) { return fail(Code::Invalid, "image manifest: " + value.error().message); }
  if (!value->isObject()) { return fail(Code::Invalid, "image manifest: it is no JSON object"); }
  // One that is both is read as an image by some and as an index by others (CVE-2021-41190).
  if (!(*value)["manifests"].isNull() && !((*value)["layers"].isNull() && (*value)["config"].isNull())) {
    return fail(Code::Invalid, "image manifest: it has both manifests and layers or a config");
  }
  auto type = typeOf(*value, content_type);
  if (!type) { return tl::unexpected(type.error()); }
  return Typed{std::move(*value), std::move(*type)};
}

}  // namespace

Result<AnyManifest> parseManifest(std::string_view text, std::string_view content_type) {
  const auto typed = typedOf(text, content_type);
  if (!typed) { return tl::unexpected(typed.error()); }
  const json::Value& value = typed->value;
  if (isIndexType(typed->media_type)) { return indexOf(value, typed->media_type); }
  auto image = imageOf(value, typed->media_type, descriptorsOf(value["layers"], "layers", kMaxLayers));
  if (!image) { return tl::unexpected(image.error()); }
  return AnyManifest{std::move(*image)};
}

Result<Manifest> parseArtifact(std::string_view text, std::string_view content_type) {
  const auto typed = typedOf(text, content_type);
  if (!typed) { return tl::unexpected(typed.error()); }
  const json::Value& value = typed->value;
  if (isIndexType(typed->media_type)) {
    return fail(Code::Invalid, "image manifest: it is an index, and no artifact");
  }
  if (!value["layers"].isArray()) { return badManifest("layers", "is no list"); }
  return imageOf(value, typed->media_type, readableOf(value["layers"], "layers"));
}

Result<Index> parseReferrers(std::string_view text) {
  const auto value = parseRegistryJson(text);
  if (!value) { return fail(Code::Invalid, "list of referrers: " + value.error().message); }
  const std::string_view type = (*value)["mediaType"].str();
  const json::Value& entries = (*value)["manifests"];
  const bool is_empty = entries.isNull() && isIndexType(type);  // as Go prints a list of none
  if (!(entries.isArray() || is_empty) || !(type.empty() || isIndexType(type))) {
    return fail(Code::Invalid, "list of referrers: it is no index");
  }
  return Index{std::string{media::kOciIndex}, readableOf(entries, "manifests"), {}};
}

std::string printManifest(const Manifest& manifest) {
  json::Object out = headOf(manifest.media_type, manifest.artifact_type);
  out.set("config", printed(manifest.config));
  out.set("layers", printed(manifest.layers));
  if (manifest.subject) { out.set("subject", printed(*manifest.subject)); }
  if (!manifest.annotations.empty()) { out.set("annotations", json::fromStrings(manifest.annotations)); }
  return json::print(out);
}

std::string printIndex(const Index& index) {
  json::Object out = headOf(index.media_type, "");
  out.set("manifests", printed(index.manifests));
  if (!index.annotations.empty()) { out.set("annotations", json::fromStrings(index.annotations)); }
  return json::print(out);
}

Result<Descriptor> choosePlatform(const Index& index, std::string_view architecture) {
  std::vector<const Descriptor*> images;
  std::vector<const Descriptor*> indexes;
  std::vector<std::string> names;
  for (const Descriptor& entry : index.manifests) {
    if (isIndexType(entry.media_type)) { indexes.push_back(&entry); }
    if (!isImage(entry)) { continue; }
    if (entry.platform && entry.platform->os == "linux" && entry.platform->architecture == architecture) {
      return entry;
    }
    images.push_back(&entry);
    names.push_back(nameOf(entry.platform));
  }
  if (images.size() == 1) { return *images.front(); }
  if (images.empty() && indexes.size() == 1) { return *indexes.front(); }
  return fail(Code::NotFound, images.empty()
                                  ? std::string{"the index has no image"}
                                  : fmt::format("the index has no image for linux/{}; there are {}",
                                                architecture, fmt::join(names, ", ")));
}

Result<ImageConfig> parseImageConfig(std::string_view text) {
  const auto value = parseRegistryJson(text);
  if (!value) { return fail(Code::Invalid, "image config: " + value.error().message); }
  ImageConfig out;
  out.platform = {std::string{(*value)["os"].str()}, std::string{(*value)["architecture"].str()}};
  for (const auto& [key, label] : (*value)["config"]["Labels"].members()) {
    if (!label.isString()) {
      return fail(Code::Invalid, fmt::format("image config: label '{}' is no string", key));
    }
    out.labels.emplace(key, label.str());
  }
  for (const json::Value& id : (*value)["rootfs"]["diff_ids"].items()) {
    auto digest = Digest::parse(id.str());
    if (!digest) { return fail(Code::Invalid, "image config: rootfs.diff_ids: " + digest.error().message); }
    out.diff_ids.push_back(*digest);
  }
  return out;
}

std::string printImageConfig(const ImageConfig& config) {
  constexpr std::string_view kEpoch = "1970-01-01T00:00:00Z";
  json::Array diff_ids;
  json::Array history;
  for (const Digest& id : config.diff_ids) {
    diff_ids.emplace_back(id.text());
    history.emplace_back(json::Object{{"created", kEpoch}, {"created_by", "mcv"}});
  }
  return json::print(json::Object{
      {"created", kEpoch},
      {"architecture", config.platform.architecture},
      {"os", config.platform.os},
      {"config", json::Object{{"WorkingDir", "/"}, {"Labels", json::fromStrings(config.labels)}}},
      {"rootfs", json::Object{{"type", "layers"}, {"diff_ids", std::move(diff_ids)}}},
      {"history", std::move(history)}});
}

}  // namespace gs::kcache
