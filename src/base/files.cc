#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gs {
namespace {

/// Open while it lives.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags, unsigned mode = 0)
      : fd_{::open(path.c_str(), flags | O_CLOEXEC, mode)} {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (isOpen()) { ::close(fd_); }
  }
  [[nodiscard]] bool isOpen() const { return fd_ >= 0; }
  /// As read(2), but that a signal does not end it.
  template <class Buffer>
  ssize_t into(Buffer& buffer) {
    for (;;) {
      const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
      if (got >= 0 || errno != EINTR) { return got; }
    }
  }
  /// All of them; errno says why not.
  [[nodiscard]] bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
      if (put < 0 && errno != EINTR) { return false; }
      if (put > 0) { bytes.remove_prefix(static_cast<std::size_t>(put)); }
    }
    return true;
  }
  /// Whatever the process's umask is.
  [[nodiscard]] bool setMode(unsigned mode) const { return ::fchmod(fd_, mode) == 0; }
  /// What was written is on the disk.
  [[nodiscard]] bool flush() const { return ::fsync(fd_) == 0; }

 private:
  const int fd_;
};

tl::unexpected<Error> cannotRead(const std::string& path) {
  if (errno == EISDIR) {
    return fail(Code::Unavailable, fmt::format("cannot read {}: it is a folder; name a file", path));
  }
  const Code code = errno == ENOENT || errno == ENOTDIR ? Code::NotFound : Code::Unavailable;
  return fail(code, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
}

tl::unexpected<Error> cannotReplace(const std::string& path) {
  return fail(Code::Unavailable, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

/// With the slash at its end; "./" where the path has none.
std::string folderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

}  // namespace

Result<std::string> readFile(const std::string& path, std::size_t max_bytes) {
  OpenFile file{path, O_RDONLY};
  if (!file.isOpen()) { return cannotRead(path); }
  std::string text;
  std::array<char, std::size_t{64} << 10> piece{};
  for (;;) {
    const ssize_t got = file.into(piece);
    if (got == 0) { return text; }
    if (got < 0) { return cannotRead(path); }
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return fail(Code::Invalid, fmt::format("{} has more than {} bytes", path, max_bytes));
    }
  }
}

std::string besideOf(const std::string& path) {
  const std::string folder = folderOf(path);
  const auto name = path.find_last_of('/') + 1;  // npos + 1 is 0
  return folder + "." + path.substr(name) + ".new";
}

Status replaceFile(const std::string& path, std::string_view bytes, unsigned mode) {
  const std::string beside = besideOf(path);
  {
    // Not through a link that somebody put there.
    const OpenFile file{beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode};
    const bool is_there = file.isOpen() && file.setMode(mode) && file.write(bytes) && file.flush();
    if (!is_there) { return cannotReplace(path); }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) { return cannotReplace(path); }
  const OpenFile folder{folderOf(path), O_RDONLY | O_DIRECTORY};
  if (folder.isOpen()) { (void)folder.flush(); }  // so that the rename is on the disk too
  return {};
}

}  // namespace gs
