#include "sandbox/serve/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace gs::sandbox {
namespace {

constexpr int kMaxLinks = 40;

tl::unexpected<Error> because(Code code, const std::string& what, const std::string& path) {
  return fail(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

net::Fd openBeside(const std::string& beside) {
  return net::Fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
}

}  // namespace

Status tryReplacing(const std::string& path) {
  const std::string beside = besideOf(path);
  if (!openBeside(beside).valid()) { return because(Code::Unavailable, "write", path); }
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
