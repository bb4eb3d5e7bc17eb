#include "cacherim/image/docker_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/hash.h"
#include "cacherim/disk/new_file.h"
#include "cacherim/image/file_bytes.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

namespace media = kcache::media;

constexpr const char* kListFile = "manifest.json";
constexpr std::size_t kMaxTextInArchive = std::size_t{4} << 20;
constexpr std::size_t kMaxMembers = 10'000;
constexpr int kMostLinks = 4;

struct FreeArchive {
  void operator()(archive* a) const { ::archive_read_free(a); }
};

/// Goes through a tar file, member by member.
class Members {
 public:
  explicit Members(const std::string& file) : file_{file}, archive_{::archive_read_new()} {
    ::archive_read_support_filter_gzip(archive_.get());
    ::archive_read_support_filter_zstd(archive_.get());
    ::archive_read_support_format_tar(archive_.get());
    is_open_ =
        ::archive_read_open_filename(archive_.get(), file.c_str(), std::size_t{256} << 10) == ARCHIVE_OK;
  }

  /// nullptr: there are no more.
  Result<archive_entry*> next() {
    archive_entry* entry = nullptr;
    const int got = is_open_ ? ::archive_read_next_header(archive_.get(), &entry) : ARCHIVE_FATAL;
    if (got == ARCHIVE_EOF) { return nullptr; }
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) { return bad(); }
    return entry;
  }

  /// Of the member that came last.
  Status bytesTo(const ByteSink& sink) {
    std::vector<char> buffer(std::size_t{256} << 10);
    for (;;) {
      const la_ssize_t got = ::archive_read_data(archive_.get(), buffer.data(), buffer.size());
      if (got == 0) { return {}; }
      if (got < 0) { return bad(); }
      if (!sink({buffer.data(), static_cast<std::size_t>(got)})) {
        return fail(Code::Conflict, file_ + ": no more is wanted");
      }
    }
  }

 private:
  tl::unexpected<Error> bad() {
    std::error_code error;
    if (!std::filesystem::exists(file_, error)) {
      return fail(Code::NotFound, fmt::format("cannot read '{}': there is no such file", file_));
    }
    const char* said = ::archive_error_string(archive_.get());
    return fail(Code::Invalid,
                fmt::format("'{}' is no archive of images: {}", file_, said == nullptr ? "" : said));
  }

  const std::string& file_;
  std::unique_ptr<archive, FreeArchive> archive_;
  bool is_open_ = false;
};

std::string nameOf(archive_entry* entry) {
  const char* name = ::archive_entry_pathname(entry);
  const auto clean = kcache::cleanEntryName(name == nullptr ? "" : name);
  return clean ? std::string{*clean} : "";
}

/// What a link at `name` leads to, inside of the archive; "": it is none.
std::string linkOf(archive_entry* entry, const std::string& name) {
  if (const char* hard = ::archive_entry_hardlink(entry)) { return hard; }
  const char* symbolic = ::archive_entry_symlink(entry);
  if (symbolic == nullptr) { return ""; }
  return (std::filesystem::path{name}.parent_path() / symbolic).lexically_normal().string();
}

std::vector<std::string> textsOf(const json::Value& list) {
  std::vector<std::string> out;
  for (const json::Value& one : list.items()) { out.emplace_back(one.str()); }
  return out;
}

bool hasTag(const std::vector<std::string>& tags, const kcache::Reference& wanted) {
  return std::any_of(tags.begin(), tags.end(), [&](const std::string& tag) {
    const auto reference = kcache::parseReference(tag);
    return reference && reference->name() == wanted.name() && reference->tag == wanted.tag;
  });
}

std::string_view layerType(std::string_view beginning) {
  if (beginning.starts_with("\x1f\x8b")) { return media::kDockerTarGzip; }
  return beginning.starts_with("\x28\xb5\x2f\xfd") ? media::kOciTarZstd : media::kDockerTar;
}

/// As docker and podman push it.
std::string schema2Of(const kcache::Digest& config, std::size_t config_size,
                      std::vector<kcache::Descriptor> layers) {
  return kcache::printManifest({.media_type = std::string{media::kDockerManifest},
                                .config = {.media_type = std::string{media::kDockerConfig},
                                           .digest = config,
                                           .size = static_cast<std::int64_t>(config_size)},
                                .layers = std::move(layers)});
}

}  // namespace

Status DockerArchive::list() {
  if (!members_.empty()) { return {}; }
  Members members{file_};
  for (;;) {
    const auto entry = members.next();
    if (!entry) { return tl::unexpected(entry.error()); }
    if (*entry == nullptr) { return {}; }
    const std::string name = nameOf(*entry);
    if (name.empty()) { continue; }
    members_[name] = linkOf(*entry, name);
    if (members_.size() > kMaxMembers) {
      return fail(Code::Invalid, fmt::format("'{}' has over {} files", file_, kMaxMembers));
    }
  }
}

Result<std::string> DockerArchive::realName(const std::string& name) const {
  std::string at = name;
  for (int hops = 0; hops <= kMostLinks; ++hops) {
    const auto it = members_.find(at);
    if (it == members_.end()) { break; }
    if (it->second.empty()) { return at; }
    at = it->second;
  }
  return fail(Code::Invalid, fmt::format("'{}' has no file '{}'", file_, name));
}

Status DockerArchive::readMember(const std::string& name, const ByteSink& sink) const {
  Members members{file_};
  for (;;) {
    const auto entry = members.next();
    if (!entry) { return tl::unexpected(entry.error()); }
    if (*entry == nullptr) { return fail(Code::Invalid, fmt::format("'{}' has no file '{}'", file_, name)); }
    if (nameOf(*entry) == name) { return members.bytesTo(sink); }
  }
}

Result<std::string> DockerArchive::textOf(const std::string& name) const {
  const auto real = realName(name);
  if (!real) { return tl::unexpected(real.error()); }
  std::string text;
  const Status read = readMember(*real, [&](std::string_view piece) {
    text += piece;
    return text.size() <= kMaxTextInArchive;
  });
  if (!read) { return tl::unexpected(read.error()); }
  return text;
}

Result<std::vector<DockerArchive::Saved>> DockerArchive::images() const {
  const auto text = textOf(kListFile);
  if (!text) { return tl::unexpected(text.error()); }
  const auto value = json::parse(*text);
  if (!value || !value->isArray()) {
    return fail(Code::Invalid, fmt::format("'{}': its manifest.json is no list of images", file_));
  }
  std::vector<Saved> out;
  for (const json::Value& one : value->items()) {
    out.push_back({std::string{one["Config"].str()}, textsOf(one["RepoTags"]), textsOf(one["Layers"])});
  }
  return out;
}

Result<kcache::Descriptor> DockerArchive::layerOf(const std::string& name) {
  const auto real = realName(name);
  if (!real) { return tl::unexpected(real.error()); }
  Sha256 hash;
  std::int64_t size = 0;
  std::string beginning;
  const Status read = readMember(*real, [&](std::string_view piece) {
    if (size == 0) { beginning = piece.substr(0, 4); }
    hash.update(piece);
    size += static_cast<std::int64_t>(piece.size());
    return !is_cancelled_;
  });
  if (!read) { return tl::unexpected(read.error()); }
  const auto digest = kcache::Digest::parse("sha256:" + hash.hex());
  // Where a name says what is in it, it does.
  const std::string stem = std::filesystem::path{*real}.filename().string();
  if (real->starts_with("blobs/sha256/") && stem != hash.hex()) {
    return fail(Code::Invalid, fmt::format("'{}': '{}' has the digest {}", file_, *real, digest->text()));
  }
  names_.insert_or_assign(*digest, *real);
  return kcache::Descriptor{.media_type = std::string{layerType(beginning)}, .digest = *digest, .size = size};
}

Result<FetchedManifest> DockerArchive::manifestOf(const Saved& image) {
  const auto text = textOf(image.config);
  if (!text) { return tl::unexpected(text.error()); }
  const auto config = kcache::parseImageConfig(*text);
  if (!config) { return tl::unexpected(config.error()); }
  const auto id = kcache::Digest::of(*text);
  const std::string stem = std::filesystem::path{image.config}.stem().string();
  if (stem.size() == id.hex().size() && stem != id.hex()) {
    return fail(Code::Invalid,
                fmt::format("'{}': the config '{}' has the digest {}", file_, image.config, id.text()));
  }
  std::vector<kcache::Descriptor> layers;
  for (std::size_t i = 0; i < image.layers.size(); ++i) {
    auto layer = layerOf(image.layers[i]);
    if (!layer) { return tl::unexpected(layer.error()); }
    const bool is_plain = layer->media_type == media::kDockerTar;
    if (is_plain && i < config->diff_ids.size() && layer->digest != config->diff_ids[i]) {
      return fail(Code::Invalid,
                  fmt::format("'{}': the layer '{}' has the digest {}, and is to have {}", file_,
                              image.layers[i], layer->digest.text(), config->diff_ids[i].text()));
    }
    layers.push_back(std::move(*layer));
  }
  names_.insert_or_assign(id, *realName(image.config));
  std::string manifest = schema2Of(id, text->size(), std::move(layers));
  const auto digest = kcache::Digest::of(manifest);
  return FetchedManifest{digest, std::string{media::kDockerManifest}, std::move(manifest)};
}

Result<FetchedManifest> DockerArchive::manifest(const kcache::Reference& reference) {
  if (const Status listed = list(); !listed) { return tl::unexpected(listed.error()); }
  const auto saved = images();
  if (!saved) { return tl::unexpected(saved.error()); }
  std::vector<std::string> names;
  for (const Saved& image : *saved) {
    if (reference.digest) {
      auto manifest = manifestOf(image);
      if (!manifest || manifest->digest == *reference.digest) { return manifest; }
      names.push_back(manifest->digest.text());
    } else if (hasTag(image.tags, reference)) {
      return manifestOf(image);
    } else {
      names.push_back(image.tags.empty() ? "one without a tag"
                                         : fmt::format("{}", fmt::join(image.tags, ", ")));
    }
  }
  if (!reference.digest && saved->size() == 1 && (*saved)[0].tags.empty()) { return manifestOf((*saved)[0]); }
  return fail(Code::NotFound,
              fmt::format("'{}' has no image {}; it has {}", file_, reference.text(),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

Status DockerArchive::blob(const kcache::Reference& /*repository*/, const kcache::Descriptor& blob,
                           const ByteSink& sink) {
  const auto name = names_.find(blob.digest);
  if (name == names_.end()) {
    return fail(Code::NotFound, fmt::format("'{}' has no {}", file_, blob.digest.text()));
  }
  Status done = checkedTo(
      blob, fmt::format("'{}', '{}'", file_, name->second),
      [&](const ByteSink& to) { return readMember(name->second, to); },
      [&](std::string_view piece) { return !is_cancelled_ && sink(piece); });
  return is_cancelled_ ? fail(Code::Unavailable, file_ + ": cancelled") : done;
}

// ---- writing

namespace {

NewEntry entryOfText(const std::string& name, const std::string& text) {
  return {.name = name,
          .size = static_cast<std::int64_t>(text.size()),
          .bytes = [&text](const ByteSink& sink) -> Status {
            if (sink(text)) { return {}; }
            return fail(Code::Conflict, "no more is wanted");
          }};
}

std::string folderOfFile(const std::string& file) {
  const std::string folder = std::filesystem::path{file}.parent_path().string();
  return folder.empty() ? "." : folder;
}

/// writeLayer() into a file.
Result<WrittenLayer> writeTo(NewFile& file, std::vector<NewEntry> entries, kcache::LayerLimits limits = {}) {
  Status written;
  const auto sink = [&](std::string_view piece) {
    written = file.write(piece);
    return written.has_value();
  };
  auto layer = writeLayer(std::move(entries), Packing::Plain, sink, limits);
  if (!written) { return tl::unexpected(written.error()); }
  return layer;
}

std::string listOf(const kcache::Reference& name, const std::string& config, const std::string& layer) {
  return json::print(json::Array{json::Object{{"Config", config},
                                              {"RepoTags", json::Array{json::Value{name.text()}}},
                                              {"Layers", json::Array{json::Value{layer}}}}});
}

}  // namespace

Result<WrittenImage> writeDockerArchive(const NewImage& image, const std::string& file) {
  auto layer_file = NewFile::in(folderOfFile(file));
  if (!layer_file) { return tl::unexpected(layer_file.error()); }
  const auto layer = writeTo(*layer_file, image.entries);
  if (!layer) { return tl::unexpected(layer.error()); }
  const std::string config =
      kcache::printImageConfig({{"linux", image.architecture}, image.labels, {layer->diff_id}});
  const auto id = kcache::Digest::of(config);
  const std::string config_name = fmt::format("{}.json", id.hex());
  const std::string layer_name = fmt::format("{}.tar", layer->digest.hex());
  const std::string list = listOf(image.name, config_name, layer_name);
  std::vector<NewEntry> entries{
      entryOfText(config_name, config),
      {.name = layer_name,
       .size = layer->size,
       .bytes = [&](const ByteSink& sink) { return readFileTo(layer_file->path(), sink); }},
      entryOfText(kListFile, list)};
  auto archive_file = NewFile::in(folderOfFile(file));
  if (!archive_file) { return tl::unexpected(archive_file.error()); }
  // The archive itself is no cache, and larger than its layer.
  const kcache::LayerLimits none{.most_bytes = std::numeric_limits<std::int64_t>::max()};
  if (const auto done = writeTo(*archive_file, std::move(entries), none); !done) {
    return tl::unexpected(done.error());
  }
  if (const Status done = archive_file->publish(file); !done) { return tl::unexpected(done.error()); }
  const std::string manifest = schema2Of(
      id, config.size(),
      {{.media_type = std::string{media::kDockerTar}, .digest = layer->digest, .size = layer->size}});
  return WrittenImage{kcache::Digest::of(manifest), id, layer->size};
}

}  // namespace gs::cacherim
