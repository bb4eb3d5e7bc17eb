#include "cacherim/image/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cacherim/disk/disk.h"
#include "kcache/content/paths.h"

namespace gs::cacherim {
namespace {

using net::Fd;

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kFolderMode = 0755;

tl::unexpected<Error> cannot(const char* what, const std::string& path) {
  return fail(Code::Unavailable, fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
}

std::string fileOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string folderAbove(const std::string& path) {
  const std::size_t at = path.rfind('/');
  return at == std::string::npos ? "" : path.substr(0, at);
}

Status writeAll(int fd, std::string_view bytes, const std::string& path) {
  errno = writeBytes(fd, bytes);
  return errno == 0 ? Status{} : cannot("write", path);
}

}  // namespace

FolderWriter::FolderWriter(int folder, std::optional<std::string> root)
    : folder_{folder}, root_{std::move(root)} {}
FolderWriter::~FolderWriter() = default;

/// The folder at `path`, "" the first; made, with those above, when it is not there.
Result<Fd> FolderWriter::open(const std::string& path, bool make) const {
  Fd at{::openat(folder_, ".", kFolderFlags)};
  for (std::size_t from = 0; from < path.size() && at.valid();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string name = path.substr(from, end - from);
    const bool is_new = make && ::mkdirat(at.get(), name.c_str(), kFolderMode) == 0;
    if (make && !is_new && errno != EEXIST) { return cannot("make folder", path); }
    at = Fd{::openat(at.get(), name.c_str(), kFolderFlags)};
    if (is_new && at.valid() && ::fchmod(at.get(), kFolderMode) != 0) { return cannot("make folder", path); }
    from = end + 1;
  }
  if (!at.valid()) { return cannot("open folder", path); }
  return at;
}

Status FolderWriter::folder(const kcache::Placed& folder) {
  const auto made = open(folder.path, true);
  return made ? Status{} : tl::unexpected(made.error());
}

Status FolderWriter::create(const kcache::Placed& file) {
  std::string above = folderAbove(file.path);
  if (!above_.valid() || above != above_path_) {
    auto at = open(above, true);
    if (!at) { return tl::unexpected(at.error()); }
    above_ = *std::move(at);
    above_path_ = std::move(above);
  }
  const std::string name = fileOf(file.path);
  if (file.replaces && ::unlinkat(above_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return cannot("replace", file.path);
  }
  to_ = Fd{::openat(above_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!to_.valid() || ::fchmod(to_.get(), file.is_executable ? 0755 : 0644) != 0) {
    return cannot("create", file.path);
  }
  return {};
}

Status FolderWriter::beginFile(const kcache::Placed& file, std::int64_t size) {
  file_ = file;
  text_.clear();
  const bool is_manifest = file.where == kcache::Placed::Where::Manifest;
  is_kept_ = is_manifest || (root_ && kcache::bearsPaths(file.path) && size <= kcache::kMaxPathsText);
  if (is_manifest) { return {}; }
  ++files_;
  bytes_ += size;
  return create(file);
}

Status FolderWriter::piece(std::string_view bytes) {
  if (!is_kept_) { return writeAll(to_.get(), bytes, file_.path); }
  text_ += bytes;
  return {};
}

Status FolderWriter::endFile() {
  if (file_.where == kcache::Placed::Where::Manifest) {
    manifest_ = std::move(text_);
    return {};
  }
  if (is_kept_) {
    const std::string text = kcache::forRoot(*root_, file_.path, text_).value_or(text_);
    if (Status done = writeAll(to_.get(), text, file_.path); !done) { return done; }
  }
  to_ = Fd{};
  return {};
}

}  // namespace gs::cacherim
