#include "cacherim/image/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "net/socket.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kPieceOfFile = std::size_t{256} << 10;

}  // namespace

Status readFileTo(const std::string& path, const ByteSink& sink) {
  const net::Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::vector<char> buffer(kPieceOfFile);
  for (;;) {
    const ssize_t got = file.valid() ? ::read(file.get(), buffer.data(), buffer.size()) : -1;
    if (got == 0) { return {}; }
    if (got < 0 && file.valid() && errno == EINTR) { continue; }
    if (got < 0) {
      return fail(errno == ENOENT || errno == ENOTDIR ? Code::NotFound : Code::Unavailable,
                  fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    }
    if (!sink({buffer.data(), static_cast<std::size_t>(got)})) {
      return fail(Code::Conflict, fmt::format("'{}': no more is wanted", path));
    }
  }
}

Status checkedTo(const kcache::Descriptor& blob, const std::string& name, const ReadTo& read,
                 const ByteSink& sink) {
  Sha256 hash;
  std::int64_t size = 0;
  bool is_longer = false;
  Status done = read([&](std::string_view piece) {
    hash.update(piece);
    size += static_cast<std::int64_t>(piece.size());
    is_longer = size > blob.size;
    return !is_longer && sink(piece);
  });
  if (is_longer || (done && size != blob.size)) {
    return fail(Code::Invalid, fmt::format("{}: {} bytes were to be there, and there are {}{}", name,
                                           blob.size, size, is_longer ? " or more" : ""));
  }
  if (done && hash.hex() != blob.digest.hex()) {
    return fail(Code::Invalid, fmt::format("{}: its bytes have the digest sha256:{}, and are to have {}",
                                           name, hash.hex(), blob.digest.text()));
  }
  return done;
}

}  // namespace gs::cacherim
