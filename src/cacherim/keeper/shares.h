// Shares: how many bytes the caches of each namespace may have on a node, so that one namespace with many or
// large ones does not take the disk from all others.
//
// With a quota of Q bytes an image comes while all together have no more than Q. Above that a namespace may
// still have Q/(n(n+1)), where n of them want caches here (the cluster's own count as one). So one that is
// alone may have all of it, and who comes later, with little, still gets it: whoever comes as the n-th finds
// at least n, and the sum of all those shares is below Q. Over 2Q, or with 2Q of files in the store, nothing
// comes.
// What is there stays, whatever others take: a share is asked for only when an image comes.
// An image counts with its files as they are unpacked, kPerFile more for each file and folder, once in each
// namespace that has it and once for all together; that images share files is not looked at.
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

class Shares {
 private:
  struct Board;

 public:
  static constexpr std::uint64_t kPerFile = 4096;  // what an inode and the end of a block cost, about

  /// What one image that comes for a namespace has so far. Goes with the last who has it. One thread at a
  /// time.
  class Coming {
   public:
    Coming(const Shares& shares, std::string ns, const kcache::Digest& image);
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;
    ~Coming();
    /// It will have at least so many: others do not get them meanwhile. Error Unavailable: they are too many.
    [[nodiscard]] Status reserve(std::uint64_t bytes);
    /// So many more bytes. Error Unavailable: they are too many, and why; they do not count then.
    [[nodiscard]] Status add(std::uint64_t bytes);
    /// What it is known to need by now.
    [[nodiscard]] std::uint64_t needed() const { return needed_; }

   private:
    friend class Shares;
    const std::shared_ptr<Board> board_;
    const std::string ns_;
    const kcache::Digest image_;
    std::uint64_t has_ = 0;
    std::uint64_t counts_ = 0;  // the board's: what it has, or has reserved
    std::uint64_t needed_ = 0;
  };

  /// 0: no limit.
  explicit Shares(std::uint64_t quota);

  /// What is there: the bytes of each image, by namespace, with those that want something and have nothing.
  using Here = std::map<std::string, std::map<kcache::Digest, std::uint64_t>>;
  /// `on_disk`: bytes of all files of the store, also of what nobody needs.
  void areHere(Here here, std::uint64_t on_disk);

 private:
  struct Board {
    explicit Board(std::uint64_t of) : quota{of} {}
    [[nodiscard]] std::uint64_t share() const GS_REQUIRES(mutex);
    /// That it has so many.
    [[nodiscard]] Status allows(const Coming& who, std::uint64_t bytes) const GS_REQUIRES(mutex);

    const std::uint64_t quota;
    mutable Mutex mutex;
    Here here GS_GUARDED_BY(mutex);
    std::map<std::string, std::uint64_t> sums GS_GUARDED_BY(mutex);     // of `here`
    std::map<kcache::Digest, std::uint64_t> each GS_GUARDED_BY(mutex);  // image of `here`
    std::uint64_t all_here GS_GUARDED_BY(mutex) = 0;                    // of `each`
    std::uint64_t on_disk GS_GUARDED_BY(mutex) = 0;
    std::set<const Coming*> coming GS_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Board> board_;  // with all that comes
};

}  // namespace gs::cacherim
