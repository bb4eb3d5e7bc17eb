// The CDI files of this node (/etc/cdi, /var/run/cdi), read and followed: a look at the directories now and
// then, which reads again what changed by its inode, size or times. Files are *.json and *.yaml in the
// directories themselves; none that begins with a dot. A link counts as the file that it leads to.
//
// What cannot be read is said by its name in Index::broken(), and takes nothing else along. Bounded: files,
// bytes of one and of all. A directory that is not there is an empty one. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "enforce/cdi/edits.h"
#include "enforce/cdi/index.h"

namespace gs::noderim {

inline constexpr std::size_t kMostCdiFiles = 4096;                   // of a directory
inline constexpr std::size_t kMostCdiBytes = std::size_t{16} << 20;  // of all files together

class CdiDirs {
 public:
  /// Later directories win, as in the container runtime's `cdi_spec_dirs`.
  explicit CdiDirs(std::vector<std::string> directories, std::size_t most_bytes = kMostCdiBytes)
      : directories_{std::move(directories)}, most_bytes_{most_bytes} {}

  /// All devices as they are now, when that is not as it was at the look before; the first look always gives
  /// an index.
  [[nodiscard]] std::optional<enforce::cdi::Index> look();

 private:
  /// What tells one state of a file from another.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified = 0;  // ns
    std::int64_t changed = 0;   // ns
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Known {
    Stamp stamp;
    enforce::cdi::SpecPtr spec;  // nullptr: `mistake`
    std::string mistake;
  };
  struct Seen {
    std::map<std::string, Known> files;  // by path
    std::vector<enforce::cdi::SpecFile> specs;
    std::vector<std::string> broken;
    std::size_t bytes = 0;
  };

  void lookInto(std::size_t directory, Seen& seen) const;
  void lookAt(const std::string& path, std::size_t directory, Seen& seen) const;
  /// As it was at the last look, when nothing changed.
  [[nodiscard]] Known fileAt(const std::string& path, const Stamp& stamp) const;

  std::vector<std::string> directories_;
  std::size_t most_bytes_;
  std::optional<Seen> last_;
};

/// The device nodes among these paths of the host, for enforce::cdi::writtenOut(). What is no device node, or
/// not there, is left out; links are not followed. `root`: where the host's files are, as in "/host"; "" when
/// they are this process's own.
[[nodiscard]] enforce::cdi::Stats statNodes(const std::vector<std::string>& paths, const std::string& root);

}  // namespace gs::noderim
