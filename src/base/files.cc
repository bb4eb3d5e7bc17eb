#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gs {
namespace {

/// Open for reading while it lives.
class Reading {
 public:
  explicit Reading(const std::string& path) : fd_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
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

}  // namespace

Result<std::string> readFile(const std::string& path, std::size_t max_bytes) {
  Reading file{path};
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

}  // namespace gs
