#include "cacherim/disk/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/hash.h"

namespace gs::cacherim {
namespace {

constexpr std::size_t kCopyPiece = std::size_t{256} << 10;
constexpr int kDeepestFolder = 128;

tl::unexpected<Error> diskError(const char* call, const std::string& name, int error) {
  const std::string text = fmt::format("{} {}: {}", call, name, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) { return fail(Code::NotFound, text); }
  if (error == EEXIST || error == ENOTEMPTY) { return fail(Code::Conflict, text); }
  if (error == EFBIG || error == ELOOP) { return fail(Code::Invalid, text); }
  return fail(Code::Unavailable, text);
}

/// Of a file's bytes. Some that the disk has lost will not come by themselves another time.
tl::unexpected<Error> readError(const char* call, const std::string& name, int error) {
  const bool is_lost = error == EIO || error == EUCLEAN || error == EBADMSG;
  auto out = diskError(call, name, error);
  if (is_lost) { out.value().code = Code::Invalid; }
  return out;
}

Disk::Entry entryOf(std::string name, const struct stat& is) {
  const auto changed = std::chrono::seconds{is.st_mtim.tv_sec} + std::chrono::nanoseconds{is.st_mtim.tv_nsec};
  return {std::move(name),
          is.st_mode,
          static_cast<std::uint64_t>(is.st_size),
          static_cast<std::uint64_t>(is.st_nlink),
          static_cast<std::uint64_t>(is.st_ino),
          Wall{std::chrono::duration_cast<std::chrono::microseconds>(changed)}};
}

/// 0, or errno.
int copyBytes(int from, int to) {
  while (true) {
    const ssize_t put = ::copy_file_range(from, nullptr, to, nullptr, std::size_t{1} << 30, 0);
    if (put == 0) { return 0; }
    if (put < 0 && errno != EINTR) { return errno; }
  }
}

int asErrno(int returned) { return returned == 0 ? 0 : errno; }

}  // namespace

Result<FileSystem> fileSystemOf(const std::string& folder) {
  std::error_code error;
  std::filesystem::path at = folder;
  while (!std::filesystem::exists(at, error) && at.has_relative_path()) { at = at.parent_path(); }
  struct statvfs about {};
  if (::statvfs(at.c_str(), &about) != 0) { return diskError("statvfs", at.string(), errno); }
  return FileSystem{std::uint64_t{about.f_blocks} * about.f_frsize, about.f_files};
}

int writeBytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) { return errno; }
    if (put > 0) { bytes.remove_prefix(static_cast<std::size_t>(put)); }
  }
  return 0;
}

template <class Call>
Status Disk::change(const char* name_of_call, const std::string& name, const Call& call) const {
  int error = fault_ ? fault_(name_of_call) : 0;
  if (error == 0) { error = call(); }
  if (error != 0) { return diskError(name_of_call, name, error); }
  return {};
}

Result<Fd> Disk::openFolder(int at, const std::string& name) {
  Fd fd{::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!fd.valid()) { return diskError("open", name, errno); }
  return fd;
}

Result<Disk::Entry> Disk::look(int at, const std::string& name) {
  struct stat is {};
  if (::fstatat(at, name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) { return diskError("stat", name, errno); }
  return entryOf(name, is);
}

Result<Disk::Entry> Disk::lookAt(int fd, const std::string& name) {
  struct stat is {};
  if (::fstat(fd, &is) != 0) { return diskError("stat", name, errno); }
  return entryOf(name, is);
}

Result<Disk::Below> Disk::below(int root, const std::string& path) {
  auto folder = openFolder(root, ".");
  if (!folder) { return tl::unexpected<Error>(folder.error()); }
  Below out{*std::move(folder), path};
  for (auto slash = out.name.find('/'); slash != std::string::npos; slash = out.name.find('/')) {
    auto next = openFolder(out.folder.get(), out.name.substr(0, slash));
    if (!next) { return tl::unexpected<Error>(next.error()); }
    out.folder = *std::move(next);
    out.name.erase(0, slash + 1);
  }
  return out;
}

Result<std::vector<Disk::Entry>> Disk::list(int folder) {
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> open{own < 0 ? nullptr : ::fdopendir(own), ::closedir};
  if (open == nullptr) { return diskError("list", "a folder", errno); }
  std::vector<Entry> out;
  for (errno = 0; const dirent* one = ::readdir(open.get()); errno = 0) {
    const std::string name = one->d_name;
    if (name == "." || name == "..") { continue; }
    auto entry = look(folder, name);
    if (!entry && entry.error().code == Code::NotFound) { continue; }  // gone meanwhile
    if (!entry) { return tl::unexpected<Error>(std::move(entry.error())); }
    out.push_back(std::move(*entry));
  }
  if (errno != 0) { return diskError("list", "a folder", errno); }
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return out;
}

Result<std::string> Disk::readLink(int at, const std::string& name) {
  std::array<char, 4096> text{};
  const ssize_t size = ::readlinkat(at, name.c_str(), text.data(), text.size());
  if (size < 0) { return diskError("readlink", name, errno); }
  return std::string{text.data(), static_cast<std::size_t>(size)};
}

// ---- the bytes of a file

/// 0, or the errno that a test wants.
int Disk::readFault(std::string_view call, int fd) const {
  struct stat is {};
  if (!read_fault_ || ::fstat(fd, &is) != 0) { return 0; }
  return read_fault_(call, is.st_ino);
}

/// Gives every piece of a file; 0, or errno.
template <class Take>
int Disk::readPieces(int fd, const Take& take) const {
  if (const int error = readFault("read", fd); error != 0) { return error; }
  const auto piece = std::make_unique<std::array<char, kCopyPiece>>();
  while (true) {
    const ssize_t got = ::read(fd, piece->data(), piece->size());
    if (got == 0) { return 0; }
    if (got < 0 && errno != EINTR) { return errno; }
    if (got > 0 && !take(std::string_view{piece->data(), static_cast<std::size_t>(got)})) { return EFBIG; }
  }
}

Result<Fd> Disk::openFile(int at, const std::string& name) const {
  Fd fd{::openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
  if (!fd.valid()) { return readError("open", name, errno); }
  struct stat is {};
  if (::fstat(fd.get(), &is) != 0) { return readError("stat", name, errno); }
  if (!S_ISREG(is.st_mode)) { return fail(Code::Invalid, name + " is no file"); }
  if (const int error = readFault("open", fd.get()); error != 0) { return readError("open", name, error); }
  return fd;
}

Result<std::size_t> Disk::readSome(int fd, const std::string& name, std::string& into) const {
  if (const int error = readFault("read", fd); error != 0) { return readError("read", name, error); }
  while (true) {
    const ssize_t got = ::read(fd, into.data(), into.size());
    if (got >= 0) { return static_cast<std::size_t>(got); }
    if (errno != EINTR) { return readError("read", name, errno); }
  }
}

Result<std::string> Disk::readAll(int at, const std::string& name, std::size_t max_bytes) const {
  const auto fd = openFile(at, name);
  if (!fd) { return tl::unexpected<Error>(fd.error()); }
  std::string out;
  const int error = readPieces(fd->get(), [&](std::string_view piece) {
    out += piece;
    return out.size() <= max_bytes;
  });
  if (error != 0) { return readError("read", name, error); }
  return out;
}

Result<std::string> Disk::hash(int at, const std::string& name) const {
  const auto fd = openFile(at, name);
  if (!fd) { return tl::unexpected<Error>(fd.error()); }
  Sha256 hash;
  const int error = readPieces(fd->get(), [&](std::string_view piece) {
    hash.update(piece);
    return true;
  });
  if (error != 0) { return readError("read", name, error); }
  return hash.hex();
}

// ---- what changes something

Status Disk::makeFolder(int at, const std::string& name) const {
  Status out = change("mkdir", name, [&] { return asErrno(::mkdirat(at, name.c_str(), 0755)); });
  if (!out && out.error().code == Code::Conflict) { return {}; }
  return out;
}

Result<Fd> Disk::folder(int at, const std::string& name) const {
  if (auto open = openFolder(at, name)) { return open; }
  if (Status made = makeFolder(at, name); !made) { return tl::unexpected<Error>(std::move(made.error())); }
  return openFolder(at, name);
}

Result<Fd> Disk::ownFolder(int at, const std::string& name) const {
  if (auto open = openFolder(at, name)) { return open; }
  if (Status gone = removeUnlessFolder(at, name); !gone) { return tl::unexpected<Error>(gone.error()); }
  return folder(at, name);
}

Result<Fd> Disk::create(int at, const std::string& name, mode_t mode) const {
  Fd fd;
  Status out = change("create", name, [&] {
    fd = Fd{::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    return fd.valid() ? asErrno(::fchmod(fd.get(), mode)) : errno;
  });
  if (!out) { return tl::unexpected<Error>(std::move(out.error())); }
  return fd;
}

Status Disk::write(int fd, std::string_view bytes) const {
  return change("write", "a file", [&] { return writeBytes(fd, bytes); });
}

Status Disk::writeFile(int at, const std::string& name, std::string_view bytes, mode_t mode) const {
  const auto file = create(at, name, mode);
  if (!file) { return tl::unexpected<Error>(file.error()); }
  if (Status out = write(file->get(), bytes); !out) { return out; }
  return change("fsync", name, [&] { return flush_ ? asErrno(::fsync(file->get())) : 0; });
}

Status Disk::setMode(int at, const std::string& name, mode_t mode) const {
  return change("chmod", name, [&] { return asErrno(::fchmodat(at, name.c_str(), mode, 0)); });
}

Status Disk::setTime(int at, const std::string& name, Wall changed) const {
  const auto micros = changed.time_since_epoch().count();
  const timespec time{static_cast<time_t>(micros / 1'000'000), static_cast<long>(micros % 1'000'000 * 1000)};
  const std::array<timespec, 2> both{time, time};
  return change("utimens", name,
                [&] { return asErrno(::utimensat(at, name.c_str(), both.data(), AT_SYMLINK_NOFOLLOW)); });
}

Status Disk::hardLink(int from_at, const std::string& from, int to_at, const std::string& to) const {
  return change("link", to, [&] { return asErrno(::linkat(from_at, from.c_str(), to_at, to.c_str(), 0)); });
}

bool Disk::isTooManyLinks(const Error& error) {
  return error.code == Code::Unavailable && error.message.ends_with(std::strerror(EMLINK));
}

Status Disk::copy(int from_at, const std::string& from, int to_at, const std::string& to, mode_t mode) const {
  const auto source = openFile(from_at, from);
  if (!source) { return tl::unexpected<Error>(source.error()); }
  return change("copy", to, [&] {
    const Fd target{::openat(to_at, to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!target.valid()) { return errno; }
    if (const int error = copyBytes(source->get(), target.get()); error != 0) { return error; }
    return asErrno(::fchmod(target.get(), mode));
  });
}

Status Disk::symbolicLink(const std::string& target, int at, const std::string& name) const {
  return change("symlink", name, [&] { return asErrno(::symlinkat(target.c_str(), at, name.c_str())); });
}

Status Disk::rename(int from_at, const std::string& from, int to_at, const std::string& to) const {
  return change("rename", to, [&] { return asErrno(::renameat(from_at, from.c_str(), to_at, to.c_str())); });
}

Status Disk::takePlace(int from_at, const std::string& from, int to_at, const std::string& to) const {
  Status out = rename(from_at, from, to_at, to);
  if (out) { return out; }
  const auto mine = look(from_at, from);
  const auto there = look(to_at, to);
  if (!mine || !there || mine->isFolder() == there->isFolder()) { return out; }
  Status gone = removeAll(to_at, to);
  return gone ? rename(from_at, from, to_at, to) : gone;
}

Status Disk::remove(int at, const std::string& name) const {
  return change("unlink", name, [&] {
    const int error = asErrno(::unlinkat(at, name.c_str(), 0));
    return error == ENOENT ? 0 : error;
  });
}

Status Disk::removeFolder(int at, const std::string& name) const {
  return change("rmdir", name, [&] { return asErrno(::unlinkat(at, name.c_str(), AT_REMOVEDIR)); });
}

Status Disk::removeAll(int at, const std::string& name) const {
  const auto remove_below = [this](const auto& self, int in, const std::string& what, int depth) -> Status {
    const auto entry = look(in, what);
    if (!entry) {
      return entry.error().code == Code::NotFound ? Status{} : tl::unexpected<Error>(entry.error());
    }
    if (!entry->isFolder()) { return remove(in, what); }
    if (depth == 0) { return fail(Code::Invalid, what + ": folders too deep"); }
    const auto folder = openFolder(in, what);
    if (!folder) { return tl::unexpected<Error>(folder.error()); }
    const auto entries = list(folder->get());
    if (!entries) { return tl::unexpected<Error>(entries.error()); }
    for (const Entry& one : *entries) {
      if (Status out = self(self, folder->get(), one.name, depth - 1); !out) { return out; }
    }
    return removeFolder(in, what);
  };
  return remove_below(remove_below, at, name, kDeepestFolder);
}

Status Disk::removeUnlessFolder(int at, const std::string& name) const {
  const auto is = look(at, name);
  return is && !is->isFolder() ? remove(at, name) : Status{};
}

Status Disk::syncFolder(int folder) const {
  return change("fsync", "a folder", [&] { return flush_ ? asErrno(::fsync(folder)) : 0; });
}

Status Disk::sync(int at) const {
  return change("syncfs", "the store", [&] { return flush_ ? asErrno(::syncfs(at)) : 0; });
}

}  // namespace gs::cacherim
