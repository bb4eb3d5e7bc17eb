#include "sandbox/serve/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace gs::sandbox {
namespace {

constexpr int kMaxLinks = 40;

tl::unexpected<Error> because(Code code, const std::string& what, const std::string& path) {
  return fail(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) { return false; }
    if (put > 0) { bytes.remove_prefix(static_cast<std::size_t>(put)); }
  }
  return true;
}

net::Fd openBeside(const std::string& beside) {
  return net::Fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
}

/// So that the rename is on the disk too.
void flushFolder(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const net::Fd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.valid()) { ::fsync(fd.get()); }
}

}  // namespace

Status replaceFile(const std::string& path, const std::string& bytes) {
  const std::string beside = path + ".new";
  {
    const net::Fd fd = openBeside(beside);
    if (!fd.valid()) { return because(Code::Unavailable, "write", beside); }
    if (!writeAll(fd.get(), bytes) || ::fsync(fd.get()) != 0) {
      return because(Code::Unavailable, "write", beside);
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) { return because(Code::Unavailable, "replace", path); }
  flushFolder(path);
  return {};
}

Status tryReplacing(const std::string& path) {
  const std::string beside = path + ".new";
  if (!openBeside(beside).valid()) { return because(Code::Unavailable, "write", beside); }
  ::unlink(beside.c_str());
  return {};
}

std::string behindLinks(std::string path) {
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(path, error);
    if (error) { break; }  // no link
    path = std::filesystem::path{path}.parent_path() / target;
  }
  return path;
}

Result<net::Fd> lockBeside(const std::string& path) {
  const std::string lock = path + ".lock";
  net::Fd fd{::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!fd.valid()) { return because(Code::Unavailable, "write", lock); }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) { return fd; }
  if (errno != EWOULDBLOCK) { return because(Code::Unavailable, "lock", lock); }
  return fail(Code::Invalid,
              fmt::format("{} belongs to another gpu-sandbox that runs (it holds {}); name another file, or "
                          "end that one first",
                          path, lock));
}

}  // namespace gs::sandbox
