#include "cacherim/image/oci_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "cacherim/disk/new_file.h"
#include "cacherim/image/file_bytes.h"

namespace gs::cacherim {
namespace {

namespace media = kcache::media;

constexpr const char* kRefName = "org.opencontainers.image.ref.name";
constexpr const char* kWholeName = "io.containerd.image.name";
constexpr const char* kLayoutFile = "oci-layout";
constexpr std::string_view kLayoutText = R"({"imageLayoutVersion":"1.0.0"})";

std::string annotationOf(const kcache::Descriptor& entry, const char* key) {
  const auto it = entry.annotations.find(key);
  return it == entry.annotations.end() ? "" : it->second;
}

/// How a descriptor is called; "": not at all.
std::string nameOfEntry(const kcache::Descriptor& entry) {
  const std::string whole = annotationOf(entry, kWholeName);
  return whole.empty() ? annotationOf(entry, kRefName) : whole;
}

bool isCalled(const kcache::Descriptor& entry, const kcache::Reference& reference) {
  const std::string whole = annotationOf(entry, kWholeName);
  const kcache::Reference by_tag{reference.registry, reference.repository, reference.tag, std::nullopt};
  if (!whole.empty()) { return whole == by_tag.text(); }
  const std::string name = annotationOf(entry, kRefName);
  return !name.empty() && (name == reference.tag || name == by_tag.text());
}

Result<kcache::Index> readLayoutIndex(const std::string& folder) {
  const auto text = readFile(folder + "/index.json", kcache::kMaxManifestBytes);
  if (!text) { return tl::unexpected(text.error()); }
  auto any = kcache::parseManifest(*text, media::kOciIndex);
  if (!any) { return fail(any.error().code, fmt::format("{}/index.json: {}", folder, any.error().message)); }
  return std::get<kcache::Index>(std::move(*any));
}

Result<kcache::Descriptor> find(const kcache::Index& index, const kcache::Reference& reference,
                                const std::string& folder) {
  std::vector<std::string> names;
  for (const kcache::Descriptor& entry : index.manifests) {
    if (isCalled(entry, reference)) { return entry; }
    names.push_back(nameOfEntry(entry));
  }
  if (names.size() == 1 && names[0].empty()) { return index.manifests[0]; }
  for (std::string& name : names) {
    if (name.empty()) { name = "one without a name"; }
  }
  return fail(Code::NotFound,
              fmt::format("{} has no image {}; it has {}", folder, reference.text(),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

std::string OciLayout::pathOf(const kcache::Digest& digest) const {
  return fmt::format("{}/blobs/sha256/{}", folder_, digest.hex());
}

Result<FetchedManifest> OciLayout::read(const kcache::Digest& digest, const std::string& media_type) const {
  auto text = readFile(pathOf(digest), kcache::kMaxManifestBytes);
  if (!text) { return tl::unexpected(text.error()); }
  const auto is = kcache::Digest::of(*text);
  if (is != digest) {
    return fail(Code::Invalid, fmt::format("{}: its bytes have the digest {}", pathOf(digest), is.text()));
  }
  return FetchedManifest{digest, media_type, std::move(*text)};
}

Result<FetchedManifest> OciLayout::manifest(const kcache::Reference& reference) {
  if (reference.digest) { return read(*reference.digest, ""); }
  const auto index = readLayoutIndex(folder_);
  if (!index) { return tl::unexpected(index.error()); }
  const auto entry = find(*index, reference, folder_);
  if (!entry) { return tl::unexpected(entry.error()); }
  return read(entry->digest, entry->media_type);
}

Status OciLayout::blob(const kcache::Reference& /*repository*/, const kcache::Descriptor& blob,
                       const ByteSink& sink) {
  const std::string path = pathOf(blob.digest);
  Status done = checkedTo(
      blob, path, [&](const ByteSink& to) { return readFileTo(path, to); },
      [&](std::string_view piece) { return !is_cancelled_ && sink(piece); });
  return is_cancelled_ ? fail(Code::Unavailable, path + ": cancelled") : done;
}

// ---- writing

namespace {

Status writeBlob(const std::string& folder, const kcache::Digest& digest, std::string_view bytes) {
  return writeNewFile(fmt::format("{}/blobs/sha256/{}", folder, digest.hex()), bytes);
}

Result<kcache::Index> indexToAddTo(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder + "/index.json", error)) {
    return kcache::Index{std::string{media::kOciIndex}, {}, {}};
  }
  return readLayoutIndex(folder);
}

Result<WrittenLayer> writeLayerBlob(const NewImage& image, const std::string& folder) {
  auto file = NewFile::in(folder + "/blobs/sha256");
  if (!file) { return tl::unexpected(file.error()); }
  Status written;
  auto layer = writeLayer(image.entries, Packing::Gzip, [&](std::string_view piece) {
    written = file->write(piece);
    return written.has_value();
  });
  if (!written) { return tl::unexpected(written.error()); }
  if (!layer) { return layer; }
  if (const Status done = file->publish(fmt::format("{}/blobs/sha256/{}", folder, layer->digest.hex()));
      !done) {
    return tl::unexpected(done.error());
  }
  return layer;
}

Status addToIndex(kcache::Index index, kcache::Descriptor entry, const kcache::Reference& name,
                  const std::string& folder) {
  std::erase_if(index.manifests, [&](const kcache::Descriptor& one) { return isCalled(one, name); });
  entry.annotations = {{kWholeName, name.text()}, {kRefName, name.tag}};
  index.manifests.push_back(std::move(entry));
  return writeNewFile(folder + "/index.json", kcache::printIndex(index));
}

}  // namespace

Result<WrittenImage> writeOciLayout(const NewImage& image, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder + "/blobs/sha256", error);
  if (error) { return fail(Code::Unavailable, fmt::format("cannot make '{}': {}", folder, error.message())); }
  auto index = indexToAddTo(folder);
  if (!index) { return tl::unexpected(index.error()); }
  const auto layer = writeLayerBlob(image, folder);
  if (!layer) { return tl::unexpected(layer.error()); }

  const std::string config =
      kcache::printImageConfig({{"linux", image.architecture}, image.labels, {layer->diff_id}});
  const kcache::Manifest manifest{
      .media_type = std::string{media::kOciManifest},
      .config = {.media_type = std::string{media::kOciConfig},
                 .digest = kcache::Digest::of(config),
                 .size = static_cast<std::int64_t>(config.size())},
      .layers = {
          {.media_type = std::string{media::kOciTarGzip}, .digest = layer->digest, .size = layer->size}}};
  const std::string text = kcache::printManifest(manifest);
  const kcache::Digest digest = kcache::Digest::of(text);
  const auto written =
      writeBlob(folder, manifest.config.digest, config)
          .and_then([&] { return writeBlob(folder, digest, text); })
          .and_then([&] { return writeNewFile(fmt::format("{}/{}", folder, kLayoutFile), kLayoutText); })
          .and_then([&] {
            return addToIndex(std::move(*index),
                              {.media_type = manifest.media_type,
                               .digest = digest,
                               .size = static_cast<std::int64_t>(text.size()),
                               .platform = kcache::Platform{"linux", image.architecture}},
                              image.name, folder);
          });
  if (!written) { return tl::unexpected(written.error()); }
  return WrittenImage{digest, manifest.config.digest, layer->size};
}

}  // namespace gs::cacherim
