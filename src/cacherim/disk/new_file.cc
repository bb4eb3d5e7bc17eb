#include "cacherim/disk/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cacherim/disk/disk.h"

namespace gs::cacherim {
namespace {

tl::unexpected<Error> cannotWriteFile(const std::string& path) {
  return fail(Code::Unavailable, fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
}

}  // namespace

Result<NewFile> NewFile::in(const std::string& folder) {
  std::string path = folder + "/.new.XXXXXX";
  net::Fd file{::mkostemp(path.data(), O_CLOEXEC)};
  if (!file.valid() || ::fchmod(file.get(), 0644) != 0) { return cannotWriteFile(path); }
  return NewFile{std::move(path), std::move(file)};
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_{std::exchange(other.path_, "")}, file_{std::move(other.file_)} {}

NewFile::~NewFile() {
  if (!path_.empty()) { ::unlink(path_.c_str()); }
}

Status NewFile::write(std::string_view bytes) {
  errno = writeBytes(file_.get(), bytes);
  return errno == 0 ? Status{} : cannotWriteFile(path_);
}

Status NewFile::publish(const std::string& path) {
  if (::fsync(file_.get()) != 0 || ::rename(path_.c_str(), path.c_str()) != 0) {
    return cannotWriteFile(path);
  }
  path_.clear();
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const net::Fd above{::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return above.valid() && ::fsync(above.get()) == 0 ? Status{} : cannotWriteFile(path);
}

Status writeNewFile(const std::string& path, std::string_view bytes) {
  const std::size_t at = path.rfind('/');
  auto file = NewFile::in(at == std::string::npos ? "." : path.substr(0, at + 1));
  if (!file) { return tl::unexpected(file.error()); }
  if (Status done = file->write(bytes); !done) { return done; }
  return file->publish(path);
}

}  // namespace gs::cacherim
