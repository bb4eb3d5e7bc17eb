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
 public:
  /// What one image that comes has so far. Goes with the last who has it; the Shares outlive it.
  class Coming {
   public:
    Coming(Shares& shares, std::string ns) : shares_{shares}, ns_{std::move(ns)} {}
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;
    ~Coming();
    /// So many more bytes. Error Unavailable: they are too many, and why; they do not count then.
    [[nodiscard]] Status add(std::uint64_t bytes);
    /// What add() would say.
    [[nodiscard]] Status couldAdd(std::uint64_t bytes) const;

   private:
    Shares& shares_;
    const std::string ns_;
    std::uint64_t bytes_ = 0;
  };

  /// 0: no limit.
  explicit Shares(std::uint64_t quota) : quota_{quota} {}

  /// What is there: the bytes of each image, by namespace, with those that want something and have nothing.
  using Here = std::map<std::string, std::map<kcache::Digest, std::uint64_t>>;
  void areHere(const Here& here);

 private:
  [[nodiscard]] Status allows(const std::string& ns, std::uint64_t bytes) const GS_REQUIRES(mutex_);

  const std::uint64_t quota_;
  mutable Mutex mutex_;
  std::map<std::string, std::uint64_t> here_ GS_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> coming_ GS_GUARDED_BY(mutex_);
  std::uint64_t all_here_ GS_GUARDED_BY(mutex_) = 0;
  std::uint64_t all_coming_ GS_GUARDED_BY(mutex_) = 0;
};

}  // namespace gs::cacherim
