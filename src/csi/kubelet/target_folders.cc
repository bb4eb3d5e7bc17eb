#include "csi/kubelet/target_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace gs::csi {
namespace {

Result<net::Fd> openFolderIn(const net::Fd& at, const std::string& name, const std::string& path) {
  net::Fd out{::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (out.valid()) { return out; }
  if (errno == ENOENT) { return systemSaid("open", path, errno, Code::NotFound); }
  if (errno == ENOTDIR || errno == ELOOP) {
    return fail(Code::Conflict,
                fmt::format("{}: on the way is something that is no folder, or a link", path));
  }
  return systemSaid("open", path, errno);
}

}  // namespace

tl::unexpected<Error> systemSaid(const char* call, const std::string& path, int error, Code code) {
  return fail(code, fmt::format("{} {}: {}", call, path, std::strerror(error)));
}

std::string byFd(const net::Fd& fd) { return fmt::format("/proc/self/fd/{}", fd.get()); }

Result<InFolder> TargetFolders::above(const std::string& path) const {
  net::Fd at{::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (!at.valid()) { return systemSaid("open", root_, errno); }
  std::string rest = path.substr(root_.size() + 1);
  for (auto slash = rest.find('/'); slash != std::string::npos; slash = rest.find('/')) {
    auto next = openFolderIn(at, rest.substr(0, slash), path);
    if (!next) { return tl::unexpected(next.error()); }
    at = *std::move(next);
    rest.erase(0, slash + 1);
  }
  return InFolder{std::move(at), std::move(rest)};
}

Result<net::Fd> TargetFolders::open(const std::string& path) const {
  const auto in = above(path);
  return in ? openFolderIn(in->folder, in->name, path) : tl::unexpected(in.error());
}

Result<bool> TargetFolders::isThere(const std::string& path) const {
  const auto in = above(path);
  if (!in && in.error().code == Code::NotFound) { return false; }
  if (!in) { return tl::unexpected(in.error()); }
  if (::faccessat(in->folder.get(), in->name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) { return true; }
  if (errno == ENOENT) { return false; }
  return systemSaid("access", path, errno);
}

Result<bool> TargetFolders::isBare(const std::string& path) const {
  const auto folder = open(path);
  if (!folder) { return tl::unexpected(folder.error()); }
  struct statx is {};
  if (::statx(folder->get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, &is) != 0) {
    return systemSaid("statx", path, errno);
  }
  if ((is.stx_attributes & is.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) { return false; }
  std::error_code error;
  const bool is_empty = std::filesystem::is_empty(byFd(*folder), error);
  if (error) { return systemSaid("read", path, error.value()); }
  return is_empty;
}

Status TargetFolders::make(const std::string& path) const {
  const auto in = above(path);
  if (!in && in.error().code == Code::NotFound) {
    return fail(
        Code::Conflict,
        fmt::format("target_path {}: the folder above it, which the kubelet makes, is not there", path));
  }
  if (!in) { return tl::unexpected(in.error()); }
  if (::mkdirat(in->folder.get(), in->name.c_str(), 0750) != 0 && errno != EEXIST) {
    return systemSaid("mkdir", path, errno);
  }
  const auto made = openFolderIn(in->folder, in->name, path);
  return made ? Status{} : tl::unexpected(made.error());
}

Status TargetFolders::remove(const std::string& path) const {
  const auto in = above(path);
  if (!in) { return in.error().code == Code::NotFound ? Status{} : tl::unexpected(in.error()); }
  if (::unlinkat(in->folder.get(), in->name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) { return {}; }
  if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) {
    return fail(Code::Conflict, fmt::format("{} is no empty folder, and so stays; look what is in it", path));
  }
  if (errno == EBUSY) { return fail(Code::Unavailable, fmt::format("{} is in use, try again", path)); }
  return systemSaid("rmdir", path, errno);
}

}  // namespace gs::csi
