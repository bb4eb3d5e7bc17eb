// Shares: how many bytes the caches of each namespace may have on a node, so that one namespace with many or
// large ones does not take the disk from all others.
//
// With a quota of Q bytes and n namespaces that want caches here (the cluster's own count as one), a namespace
// may have Q/n, while all together have no more than 2Q; and more than that while all together have no more
// than Q. So one that is alone may have all of it, and who comes later, with little, still gets it. What is
// there stays, whatever others take: a share is asked for only when an image comes.
// An image counts with all of its bytes as they are unpacked, once in each namespace that has it and once for
// all together; that images share files is not looked at.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "kcache/image/digest.h"

namespace gs::cacherim {

class Shares {
 private:
  struct Board;

 public:
  /// What one image that comes has so far. Goes with the last who has it.
  class Coming {
   public:
    Coming(const Shares& shares, std::string ns) : board_{shares.board_}, ns_{std::move(ns)} {}
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;
    ~Coming();
    /// So many more bytes. Error Unavailable: they are too many, and why; they do not count then.
    [[nodiscard]] Status add(std::uint64_t bytes);
    /// What add() would say.
    [[nodiscard]] Status couldAdd(std::uint64_t bytes) const;

   private:
    const std::shared_ptr<Board> board_;
    const std::string ns_;
    std::uint64_t bytes_ = 0;
  };

  /// 0: no limit.
  explicit Shares(std::uint64_t quota) : board_{std::make_shared<Board>(quota)} {}

  /// What is there: the bytes of each image, by namespace, with those that want something and have nothing.
  using Here = std::map<std::string, std::map<kcache::Digest, std::uint64_t>>;
  void areHere(const Here& here);

 private:
  struct Board {
    explicit Board(std::uint64_t of) : quota{of} {}
    [[nodiscard]] Status allows(const std::string& ns, std::uint64_t bytes) const GS_REQUIRES(mutex);

    const std::uint64_t quota;
    mutable Mutex mutex;
    std::map<std::string, std::uint64_t> here GS_GUARDED_BY(mutex);
    std::map<std::string, std::uint64_t> coming GS_GUARDED_BY(mutex);
    std::uint64_t all_here GS_GUARDED_BY(mutex) = 0;
    std::uint64_t all_coming GS_GUARDED_BY(mutex) = 0;
  };
  const std::shared_ptr<Board> board_;  // with all that comes
};

}  // namespace gs::cacherim
