#include "cacherim/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

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
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) { continue; }
    if (done < 0) { return cannot("write", path); }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

/// Names in a folder but "." and "..".
Result<std::vector<std::string>> namesIn(int folder, const std::string& path) {
  const int copy = ::openat(folder, ".", kFolderFlags);
  DIR* const dir = copy < 0 ? nullptr : ::fdopendir(copy);
  if (dir == nullptr) { return cannot("list", path); }
  std::vector<std::string> out;
  while (const dirent* one = ::readdir(dir)) {
    const std::string name = one->d_name;
    if (name != "." && name != "..") { out.push_back(name); }
  }
  ::closedir(dir);
  return out;
}

bool isFolder(int at, const std::string& name) {
  struct stat is {};
  return ::fstatat(at, name.c_str(), &is, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(is.st_mode);
}

/// Moves what is in `from` into `to`; see publish().
Status merge(int from, int to, const std::string& path) {
  const auto names = namesIn(from, path);
  if (!names) { return tl::unexpected(names.error()); }
  for (const std::string& name : *names) {
    const std::string whole = path + '/' + name;
    if (!isFolder(from, name)) {
      if (::renameat(from, name.c_str(), to, name.c_str()) != 0) { return cannot("replace", whole); }
      continue;
    }
    if (::renameat2(from, name.c_str(), to, name.c_str(), RENAME_NOREPLACE) == 0) { continue; }
    if (errno != EEXIST) { return cannot("make", whole); }
    const Fd inner{::openat(from, name.c_str(), kFolderFlags)};
    const Fd there{::openat(to, name.c_str(), kFolderFlags)};
    if (!inner.valid() || !there.valid()) {
      return fail(Code::Conflict, fmt::format("'{}' is in the way: it is no folder", whole));
    }
    if (Status done = merge(inner.get(), there.get(), whole); !done) { return done; }
  }
  return {};
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
  const auto at = open(folderAbove(file.path), true);
  if (!at) { return tl::unexpected(at.error()); }
  const std::string name = fileOf(file.path);
  if (file.replaces && ::unlinkat(at->get(), name.c_str(), 0) != 0 && errno != ENOENT) {
    return cannot("replace", file.path);
  }
  to_ = Fd{::openat(at->get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
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

Result<FreshFolder> FreshFolder::beside(const std::string& target) {
  namespace fs = std::filesystem;
  std::error_code error;
  // Behind links that whoever names the target has set: ~/.triton/cache may be one.
  fs::path real = fs::weakly_canonical(fs::absolute(target), error);
  if (!error && real.filename().empty()) { real = real.parent_path(); }
  if (!error) { fs::create_directories(real.parent_path(), error); }
  if (error) { return fail(Code::Unavailable, fmt::format("cannot make '{}': {}", target, error.message())); }
  if (real.filename().empty()) { return fail(Code::Unavailable, "cannot extract to /"); }
  std::string path = real.parent_path() / ("." + real.filename().string() + ".XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) { return cannot("make folder", path); }
  FreshFolder out{path, real.string(), Fd{::open(path.c_str(), kFolderFlags)}};
  if (!out.folder_.valid() || ::fchmod(out.get(), kFolderMode) != 0) { return cannot("open folder", path); }
  return out;
}

FreshFolder::FreshFolder(FreshFolder&& other) noexcept
    : path_{std::exchange(other.path_, "")},
      target_{std::move(other.target_)},
      folder_{std::move(other.folder_)} {}

FreshFolder::~FreshFolder() {
  if (path_.empty()) { return; }
  std::error_code ignored;  // it lies there under a name that says what it is
  std::filesystem::remove_all(path_, ignored);
}

Status FreshFolder::publish() {
  if (::syncfs(folder_.get()) != 0) { return cannot("bring to the disk", path_); }
  const Fd above{::open(folderAbove(target_).append("/").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!above.valid()) { return cannot("open the folder of", target_); }
  // rename() puts a folder in the place of an empty one.
  if (::rename(path_.c_str(), target_.c_str()) == 0) {
    path_.clear();
  } else if (errno == ENOTEMPTY || errno == EEXIST) {
    const Fd there{::open(target_.c_str(), kFolderFlags)};
    if (!there.valid()) { return cannot("open", target_); }
    if (Status done = merge(folder_.get(), there.get(), target_); !done) { return done; }
    if (::fsync(there.get()) != 0) { return cannot("bring to the disk", target_); }
  } else {
    return cannot("make", target_);
  }
  return ::fsync(above.get()) == 0 ? Status{} : cannot("bring to the disk", target_);
}

}  // namespace gs::cacherim
