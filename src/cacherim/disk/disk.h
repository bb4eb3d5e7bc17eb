// Disk: the few calls by which the store changes files. Each takes a folder that is open and one name in it:
// no path is walked, no symbolic link followed. Before each call that changes something a test may let it
// fail: what is on the disk then is what a crash at this place leaves. So it may when a file is read.
//
// Errors: NotFound; Conflict, it is there already; Invalid, it is too large, a link or no file, or the disk
// has lost the bytes that are to be read (EIO, EUCLEAN, EBADMSG); Unavailable else: that may be another time.
// They name the call and the name.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/because.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/socket.h"

namespace gs::cacherim {

using net::Fd;

/// All of these bytes. 0, or errno.
[[nodiscard]] int writeBytes(int fd, std::string_view bytes);

struct FileSystem {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;  // that it can have; 0: it makes them as they are needed, as btrfs does
};
/// The file system that a folder is in, or will be. Error Unavailable.
[[nodiscard]] Result<FileSystem> fileSystemOf(const std::string& folder);

class Disk {
 public:
  /// 0, or the errno to fail with. `call` as the system names it.
  using Fault = std::function<int(std::string_view call)>;
  /// The same for a file that is opened to be read, and each time that it is read.
  using ReadFault = std::function<int(std::string_view call, std::uint64_t inode)>;
  /// `flush` false, for tests: asks as always, but leaves to the system when bytes are on the disk.
  explicit Disk(Fault fault = {}, bool flush = true, ReadFault read_fault = {})
      : fault_{std::move(fault)}, flush_{flush}, read_fault_{std::move(read_fault)} {}

  struct Entry {
    std::string name;
    mode_t mode = 0;  // with its type
    std::uint64_t size = 0;
    std::uint64_t links = 0;
    std::uint64_t inode = 0;
    Wall changed{};  // of its bytes
    [[nodiscard]] bool isFolder() const { return S_ISDIR(mode); }
    [[nodiscard]] bool isFile() const { return S_ISREG(mode); }
    [[nodiscard]] bool isLink() const { return S_ISLNK(mode); }
  };

  [[nodiscard]] static Result<Fd> openFolder(int at, const std::string& name);
  [[nodiscard]] static Result<Entry> look(int at, const std::string& name);
  /// By name. What goes meanwhile is in it or not.
  [[nodiscard]] static Result<std::vector<Entry>> list(int folder);
  [[nodiscard]] static Result<std::string> readLink(int at, const std::string& name);
  /// Of a file that is open.
  [[nodiscard]] static Result<Entry> lookAt(int fd, const std::string& name);
  /// The folder of `path` below an open one, and the last part of it.
  struct Below {
    Fd folder;
    std::string name;
  };
  [[nodiscard]] static Result<Below> below(int root, const std::string& path);

  /// To be read.
  [[nodiscard]] Result<Fd> openFile(int at, const std::string& name) const;
  [[nodiscard]] Result<std::string> readAll(int at, const std::string& name, std::size_t max_bytes) const;
  /// The next bytes of a file that is open, as many as there is room for; 0 at its end.
  [[nodiscard]] Result<std::size_t> readSome(int fd, const std::string& name, std::string& into) const;
  /// The digits of SHA-256 of its bytes.
  [[nodiscard]] Result<std::string> hash(int at, const std::string& name) const;

  /// There already: fine. Mode 0755.
  [[nodiscard]] Status makeFolder(int at, const std::string& name) const;
  /// makeFolder(), open.
  [[nodiscard]] Result<Fd> folder(int at, const std::string& name) const;
  /// The same, where nobody but us has anything: what stands there and is no folder goes.
  [[nodiscard]] Result<Fd> ownFolder(int at, const std::string& name) const;
  /// A new file to write to, with this mode whatever the process lets new files be.
  [[nodiscard]] Result<Fd> create(int at, const std::string& name, mode_t mode) const;
  [[nodiscard]] Status write(int fd, std::string_view bytes) const;
  /// A new file of these bytes, on the disk when this returns.
  [[nodiscard]] Status writeFile(int at, const std::string& name, std::string_view bytes, mode_t mode) const;
  [[nodiscard]] Status setMode(int at, const std::string& name, mode_t mode) const;
  [[nodiscard]] Status setTime(int at, const std::string& name, Wall changed) const;
  [[nodiscard]] Status hardLink(int from_at, const std::string& from, int to_at, const std::string& to) const;
  /// Of its bytes, when it has as many links as there may be. (The kernel shares them where it can.)
  [[nodiscard]] Status copy(int from_at, const std::string& from, int to_at, const std::string& to,
                            mode_t mode) const;
  [[nodiscard]] Status symbolicLink(const std::string& target, int at, const std::string& name) const;
  [[nodiscard]] Status rename(int from_at, const std::string& from, int to_at, const std::string& to) const;
  /// The same, where nobody but us has anything: a folder in a file's place goes, and the other way round.
  [[nodiscard]] Status takePlace(int from_at, const std::string& from, int to_at,
                                 const std::string& to) const;
  /// None there: fine.
  [[nodiscard]] Status remove(int at, const std::string& name) const;
  /// Only an empty one: Conflict else.
  [[nodiscard]] Status removeFolder(int at, const std::string& name) const;
  /// A file, link or folder with all that is in it. None there: fine.
  [[nodiscard]] Status removeAll(int at, const std::string& name) const;
  /// What is there and is no folder. None there: fine.
  [[nodiscard]] Status removeUnlessFolder(int at, const std::string& name) const;
  /// The names in this folder are on the disk as they are.
  [[nodiscard]] Status syncFolder(int folder) const;
  /// All that was written so far to this file system is on the disk.
  [[nodiscard]] Status sync(int at) const;

  /// The link limit of the file system was met, says an error of hardLink().
  [[nodiscard]] static bool isTooManyLinks(const Error& error);

 private:
  template <class Call>
  [[nodiscard]] Status change(const char* name_of_call, const std::string& name, const Call& call) const;
  template <class Take>
  [[nodiscard]] int readPieces(int fd, const Take& take) const;
  [[nodiscard]] int readFault(std::string_view call, int fd) const;
  Fault fault_;
  bool flush_;
  ReadFault read_fault_;
};

}  // namespace gs::cacherim
