// Manifests of images as values: OCI image manifest and index, Docker schema 2 manifest and manifest list
// (OCI image spec 1.1; distribution's schema2 page). Pure; fuzzed.
//
// What is read: media types, digests, sizes, platforms, annotations, subject. Fields of other people are
// ignored. Limits: 4 MiB a manifest (as registries have it), 128 layers, 256 entries of an index, sizes below
// 2^53, 65,536 values (counted before any is read, as commas, those in texts too: a value takes far more room
// than its text). A text without mediaType is what its Content-Type says; without that, what its members look
// like.
// Refused: a mediaType that the Content-Type contradicts, and a text that is both an image and an index.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "kcache/image/digest.h"

namespace gs::kcache {

inline constexpr std::size_t kMaxManifestBytes = std::size_t{4} << 20;

namespace media {
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kOciTar = "application/vnd.oci.image.layer.v1.tar";
inline constexpr std::string_view kOciTarGzip = "application/vnd.oci.image.layer.v1.tar+gzip";
inline constexpr std::string_view kOciTarZstd = "application/vnd.oci.image.layer.v1.tar+zstd";
inline constexpr std::string_view kDockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerConfig = "application/vnd.docker.container.image.v1+json";
inline constexpr std::string_view kDockerTar = "application/vnd.docker.image.rootfs.diff.tar";
inline constexpr std::string_view kDockerTarGzip = "application/vnd.docker.image.rootfs.diff.tar.gzip";
inline constexpr std::string_view kDockerTarZstd = "application/vnd.docker.image.rootfs.diff.tar.zstd";
}  // namespace media

using Annotations = std::map<std::string, std::string>;

struct Platform {
  std::string os;            // "linux"
  std::string architecture;  // "amd64"
  friend bool operator==(const Platform&, const Platform&) = default;
};

struct Descriptor {
  std::string media_type;
  Digest digest;
  std::int64_t size = 0;  // bytes
  Annotations annotations{};
  std::optional<Platform> platform{};
  std::string artifact_type{};
};

struct Manifest {
  std::string media_type;
  Descriptor config;
  std::vector<Descriptor> layers;
  Annotations annotations{};
  std::string artifact_type{};
  std::optional<Descriptor> subject{};
};

struct Index {
  std::string media_type;
  std::vector<Descriptor> manifests;
  Annotations annotations{};
};

using AnyManifest = std::variant<Manifest, Index>;

/// json::parse() of what a registry gave, at most so many bytes. Error Invalid: it is no JSON, or has too
/// many values; to stand behind the name of what it is.
[[nodiscard]] Result<json::Value> parseRegistryJson(std::string_view text,
                                                    std::size_t max_bytes = kMaxManifestBytes);

/// `content_type` as a registry said it, "" not said. Error Invalid: names the member and what is wrong.
[[nodiscard]] Result<AnyManifest> parseManifest(std::string_view text, std::string_view content_type);
/// An image whose layers stand each for itself, so one that cannot be read is left out, and there may be more
/// than an image has: signatures, which several put there. Error Invalid: as above; it is an index.
[[nodiscard]] Result<Manifest> parseArtifact(std::string_view text, std::string_view content_type);
/// A list of what has an image as its subject (distribution spec 1.1, "Listing Referrers"): an index whose
/// entries stand each for itself, so one that cannot be read is left out. Error Invalid: it is no index.
[[nodiscard]] Result<Index> parseReferrers(std::string_view text);
/// Compact JSON, members in the order of the specification: the same manifest gives the same bytes.
[[nodiscard]] std::string printManifest(const Manifest& manifest);
[[nodiscard]] std::string printIndex(const Index& index);

/// The one entry of an index to take: for linux and this architecture, else the only image there is (or the
/// only index, of one that has no image). Caches hold GPU code, so one for another CPU is better than none
/// only when there is no choice.
/// Error NotFound: names what platforms there are.
[[nodiscard]] Result<Descriptor> choosePlatform(const Index& index, std::string_view architecture);

struct ImageConfig {
  Platform platform;
  std::map<std::string, std::string> labels;
  std::vector<Digest> diff_ids;  // of the layers, uncompressed, lowest first
};
/// What is missing reads as empty: an artifact's config is "{}". Error Invalid: a label that is no text, a
/// digest that is none.
[[nodiscard]] Result<ImageConfig> parseImageConfig(std::string_view text);
/// Without a time that passes: created is 1970, so that the same image has the same bytes.
[[nodiscard]] std::string printImageConfig(const ImageConfig& config);

}  // namespace gs::kcache
