#include "cacherim/keeper/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gs::cacherim {

Shares::Shares(std::uint64_t quota) : board_{std::make_shared<Board>(quota)} {}

void Shares::areHere(Here here, std::uint64_t on_disk) {
  const MutexLock lock{board_->mutex};
  board_->sums.clear();
  board_->each.clear();
  for (const auto& [ns, images] : here) {
    std::uint64_t& mine = board_->sums[ns];
    for (const auto& [image, bytes] : images) { mine += bytes; }
    board_->each.insert(images.begin(), images.end());
  }
  board_->all_here = 0;
  for (const auto& [image, bytes] : board_->each) { board_->all_here += bytes; }
  board_->here = std::move(here);
  board_->on_disk = on_disk;
}

std::uint64_t Shares::Board::share() const {
  const std::uint64_t n = std::max<std::uint64_t>(1, here.size());
  return quota / (n * (n + 1));
}

Status Shares::Board::allows(const Coming& who, std::uint64_t bytes) const {
  if (quota == 0) { return {}; }
  // Of an image that comes more than once the most counts, and of one that is here nothing more.
  std::map<kcache::Digest, std::uint64_t> of_ns;
  std::map<kcache::Digest, std::uint64_t> of_all;
  const auto mine_here = here.find(who.ns_);
  for (const Coming* one : coming) {
    const std::uint64_t has = one == &who ? bytes : one->counts_;
    if (!each.contains(one->image_)) { of_all[one->image_] = std::max(of_all[one->image_], has); }
    const bool counts =
        one->ns_ == who.ns_ && (mine_here == here.end() || !mine_here->second.contains(one->image_));
    if (counts) { of_ns[one->image_] = std::max(of_ns[one->image_], has); }
  }
  const auto sum = sums.find(who.ns_);
  const std::uint64_t mine_now = sum == sums.end() ? 0 : sum->second;
  std::uint64_t mine = mine_now;
  std::uint64_t all = all_here;
  for (const auto& [image, has] : of_ns) { mine += has; }
  for (const auto& [image, has] : of_all) { all += has; }
  const bool has_room = all <= 2 * quota && on_disk <= 2 * quota;
  if (has_room && (all <= quota || mine <= share())) { return {}; }
  return fail(
      Code::Unavailable,
      fmt::format(
          "no room on this node: {} have {} bytes here, and {} or more with what comes; while all "
          "caches have more than the quota (--cache-quota), a namespace may have {}: delete caches, "
          "or raise the quota",
          who.ns_.empty() ? "the cluster's caches" : fmt::format("the caches of namespace {}", who.ns_),
          mine_now, mine, share()));
}

Shares::Coming::Coming(const Shares& shares, std::string ns, const kcache::Digest& image)
    : board_{shares.board_}, ns_{std::move(ns)}, image_{image} {
  const MutexLock lock{board_->mutex};
  board_->coming.insert(this);
}

Shares::Coming::~Coming() {
  const MutexLock lock{board_->mutex};
  board_->coming.erase(this);
}

Status Shares::Coming::reserve(std::uint64_t bytes) {
  needed_ = std::max(needed_, bytes);
  const MutexLock lock{board_->mutex};
  if (bytes <= counts_) { return {}; }
  if (Status may = board_->allows(*this, bytes); !may) { return may; }
  counts_ = bytes;
  return {};
}

Status Shares::Coming::add(std::uint64_t bytes) {
  if (Status may = reserve(has_ + bytes); !may) { return may; }
  has_ += bytes;
  return {};
}

}  // namespace gs::cacherim
