// Shares: how much room the caches of each namespace may have on a node, so that one namespace with many or
// large ones does not take the disk from all others.
//
// Room is bytes, and inodes (files and folders): a file system has a number of them, and an image of empty
// folders takes no bytes. What follows is asked of each of the two.
//
// With a quota of Q an image comes while all together have no more than Q. Above that a namespace may
// still have Q/(n(n+1)), where n of them want caches here (the cluster's own count as one). So one that is
// alone may have all of it, and who comes later, with little, still gets it: whoever comes as the n-th finds
// at least n, and the sum of all those shares is below Q. Over 2Q, or with 2Q of files in the store, nothing
// comes.
// What is there stays, whatever others take: a share is asked for only when an image comes.
// An image counts with its files as they are unpacked, kPerFile bytes and an inode more for each file and
// folder, once in each namespace that has it and once for all together; that images share files is not looked
// at.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "kcache/image/digest.h"

namespace gs::cacherim {

/// On a file system.
struct Room {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;

  constexpr Room() = default;
  constexpr Room(std::uint64_t of_bytes, std::uint64_t of_inodes = 0) : bytes{of_bytes}, inodes{of_inodes} {}
  Room& operator+=(const Room& more);
  friend Room operator+(Room one, const Room& other) { return one += other; }
  friend bool operator==(const Room&, const Room&) = default;
  /// The larger of each.
  [[nodiscard]] static Room max(const Room& one, const Room& other);
};

class Shares {
 private:
  struct Board;

 public:
  static constexpr std::uint64_t kPerFile = 4096;  // bytes: what an inode and the end of a block cost, about
  /// So many files and folders that have so many bytes in all.
  [[nodiscard]] static constexpr Room roomOf(std::uint64_t bytes, std::uint64_t files_and_folders) {
    return {bytes + files_and_folders * kPerFile, files_and_folders};
  }

  /// What one image that comes for a namespace has so far. Goes with the last who has it. One thread at a
  /// time.
  class Coming {
   public:
    Coming(const Shares& shares, std::string ns, const kcache::Digest& image);
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;
    ~Coming();
    /// It will have at least so much: others do not get it meanwhile. Error Unavailable: they are too many.
    [[nodiscard]] Status reserve(const Room& room);
    /// So much more. Error Unavailable: it is too much, and why; it does not count then.
    [[nodiscard]] Status add(const Room& more);
    /// What comes now comes once more: it counts from nothing again, but no less for others.
    void beginAgain() { has_ = {}; }
    /// What it is known to need by now.
    [[nodiscard]] const Room& needed() const { return needed_; }

   private:
    friend class Shares;
    const std::shared_ptr<Board> board_;
    const std::string ns_;
    const kcache::Digest image_;
    Room has_;
    Room counts_;  // the board's: what it has, or has reserved
    Room needed_;
  };

  /// 0 of one: no limit of that.
  explicit Shares(const Room& quota);

  /// What is there: the room of each image, by namespace, with those that want something and have nothing.
  using Here = std::map<std::string, std::map<kcache::Digest, Room>>;
  /// `on_disk`: of all files of the store, also of what nobody needs.
  void areHere(Here here, const Room& on_disk);

 private:
  struct Board {
    explicit Board(const Room& of) : quota{of} {}
    /// That it has so much.
    [[nodiscard]] Status allows(const Coming& who, const Room& room) const GS_REQUIRES(mutex);

    const Room quota;
    mutable Mutex mutex;
    Here here GS_GUARDED_BY(mutex);
    std::map<std::string, Room> sums GS_GUARDED_BY(mutex);     // of `here`
    std::map<kcache::Digest, Room> each GS_GUARDED_BY(mutex);  // image of `here`
    Room all_here GS_GUARDED_BY(mutex);                        // of `each`
    Room on_disk GS_GUARDED_BY(mutex);
    std::set<const Coming*> coming GS_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Board> board_;  // with all that comes
};

}  // namespace gs::cacherim
