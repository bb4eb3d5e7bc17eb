// TargetFolders: folders below the target root, where the kubelet has its pods' volumes, one of them for
// each call. The root itself may be reached by links, as its owner wants it. Below it no symbolic link is
// followed: each folder is opened from the one above it. The kubelet owns those folders, and no pod can make
// a link there; so this guards against mistakes, and against folders that change hands while we work.
//
// Paths are clean and below the root (request_checks.h). Any thread. Errors: NotFound, a folder on the way is
// not there; Conflict, something else is in the way; Unavailable, the system said no, and later it may not.
#pragma once

#include <string>

#include "base/result.h"
#include "net/socket.h"

namespace gs::csi {

/// What a call of the system said of a path.
[[nodiscard]] tl::unexpected<Error> systemSaid(const char* call, const std::string& path, int error,
                                               Code code = Code::Unavailable);
/// By which others get to an open file or folder.
[[nodiscard]] std::string byFd(const net::Fd& fd);

/// The folder of a path below the root, and the path's last part.
struct InFolder {
  net::Fd folder;
  std::string name;
  [[nodiscard]] std::string path() const { return byFd(folder) + '/' + name; }
};

class TargetFolders {
 public:
  explicit TargetFolders(std::string root) : root_{std::move(root)} {}

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] Result<InFolder> above(const std::string& path) const;
  [[nodiscard]] Result<net::Fd> open(const std::string& path) const;
  [[nodiscard]] Result<bool> isThere(const std::string& path) const;
  /// It is empty, and no file system is mounted at it. (Kernels before 5.8 do not say that.)
  [[nodiscard]] Result<bool> isBare(const std::string& path) const;
  /// An empty folder in one that is there (Conflict else). There already: fine.
  [[nodiscard]] Status make(const std::string& path) const;
  /// The folder, when it is empty; Conflict: it is not, or is none. None there: fine.
  [[nodiscard]] Status remove(const std::string& path) const;

 private:
  const std::string root_;
};

}  // namespace gs::csi
