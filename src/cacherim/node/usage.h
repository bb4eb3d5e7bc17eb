// Usage: which volumes have a cache mounted, as the CSI driver tells the agent. One small file per volume, in
// a folder that does not outlive the node's boot, as mounts do not:
//
//   /run/gkm/usage/volumes/<SHA-256 of the volume's id>.json
//   /run/gkm/usage/lock
//   /run/gkm/usage/volumes/complete   the boot's id, when the files are all that is mounted
//
// The rule that no tree goes while it is mounted: who mounts writes the file before the mount, and takes it
// away after the unmount; between looking up which tree it is (present.h) and having written it, it holds the
// lock shared. Who takes trees away holds the lock alone from reading all files until it is certain that no
// new mount can find the tree. A file that cannot be read counts for everything: nothing is taken away then.
// Blocking. Any thread and process; two calls for one volume come one after the other. Errors: Unavailable,
// the disk said no; Invalid, a file that is not as printUse() writes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cacherim/disk/disk.h"
#include "cacherim/store/store_records.h"

namespace gs::cacherim {

struct VolumeUse {
  std::string volume_id;  // as the kubelet made it
  std::string target;     // where it is mounted
  CacheName cache;
  kcache::Digest image;
  std::string pod_ns;
  std::string pod_name;  // "" where it is not known any more
  std::string pod_uid;
  bool is_read_only = false;
  friend bool operator==(const VolumeUse&, const VolumeUse&) = default;
};

[[nodiscard]] std::string printUse(const VolumeUse& use);
/// Error Invalid: not what printUse() writes.
[[nodiscard]] Result<VolumeUse> parseUse(std::string_view text);

class Usage {
 public:
  /// Makes what is missing. Error Unavailable.
  [[nodiscard]] static Result<Usage> open(const std::string& folder, Disk disk);

  /// Held until it goes.
  class Lock {
   public:
    explicit Lock(Fd fd) : fd_{std::move(fd)} {}

   private:
    Fd fd_;
  };
  enum class Hold : std::uint8_t { Shared, Alone };
  /// Error Deadline: somebody else has it for longer than `limit`.
  [[nodiscard]] Result<Lock> lock(Hold hold, Duration limit) const;

  /// One that is there is replaced.
  [[nodiscard]] Status add(const VolumeUse& use) const;
  /// None there: fine.
  [[nodiscard]] Status remove(const std::string& volume_id) const;
  /// Error NotFound: there is none.
  [[nodiscard]] Result<VolumeUse> find(const std::string& volume_id) const;
  /// All, by volume. An error when one of them cannot be read: then nobody knows.
  [[nodiscard]] Result<std::vector<VolumeUse>> all() const;
  /// The files are all that is mounted, from now on. Said by the CSI driver once it has looked at what is.
  [[nodiscard]] Status sayComplete() const;
  /// That was said since this machine was started, and the folder is the same as then. While it is not so,
  /// nobody knows what is mounted: nothing is taken away. Error Unavailable.
  [[nodiscard]] Result<bool> isComplete() const;
  /// For who knows all that is mounted, and adds it anew under the same lock: takes away the files that
  /// cannot be read. Their names.
  [[nodiscard]] Result<std::vector<std::string>> dropUnreadable() const;

 private:
  Usage(Disk disk, std::string folder) : disk_{std::move(disk)}, folder_{std::move(folder)} {}
  [[nodiscard]] Result<Fd> opened() const;
  [[nodiscard]] Result<Fd> volumes() const;
  Disk disk_;
  std::string folder_;  // opened anew for each call: somebody may empty /run meanwhile
};

}  // namespace gs::cacherim
