#include "cacherim/keeper/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gs::cacherim {
namespace {

/// Bytes or inodes, each with its own quota.
struct Kind {
  std::uint64_t Room::*of;
  const char* name;
  const char* flag;
};
constexpr Kind kKinds[] = {{&Room::bytes, "bytes", "--cache-quota"},
                           {&Room::inodes, "inodes (files and folders)", "--cache-inodes"}};

}  // namespace

Room& Room::operator+=(const Room& more) {
  bytes += more.bytes;
  inodes += more.inodes;
  return *this;
}

Room Room::max(const Room& one, const Room& other) {
  return {std::max(one.bytes, other.bytes), std::max(one.inodes, other.inodes)};
}

Shares::Shares(const Room& quota) : board_{std::make_shared<Board>(quota)} {}

void Shares::areHere(Here here, const Room& on_disk) {
  const MutexLock lock{board_->mutex};
  board_->sums.clear();
  board_->each.clear();
  for (const auto& [ns, images] : here) {
    Room& mine = board_->sums[ns];
    for (const auto& [image, room] : images) { mine += room; }
    board_->each.insert(images.begin(), images.end());
  }
  board_->all_here = {};
  for (const auto& [image, room] : board_->each) { board_->all_here += room; }
  board_->here = std::move(here);
  board_->on_disk = on_disk;
}

Status Shares::Board::allows(const Coming& who, const Room& room) const {
  // Of an image that comes more than once the most counts, and of one that is here nothing more.
  std::map<kcache::Digest, Room> of_ns;
  std::map<kcache::Digest, Room> of_all;
  const auto mine_here = here.find(who.ns_);
  for (const Coming* one : coming) {
    const Room& has = one == &who ? room : one->counts_;
    if (!each.contains(one->image_)) { of_all[one->image_] = Room::max(of_all[one->image_], has); }
    const bool counts =
        one->ns_ == who.ns_ && (mine_here == here.end() || !mine_here->second.contains(one->image_));
    if (counts) { of_ns[one->image_] = Room::max(of_ns[one->image_], has); }
  }
  const auto sum = sums.find(who.ns_);
  const Room mine_now = sum == sums.end() ? Room{} : sum->second;
  Room mine = mine_now;
  Room all = all_here;
  for (const auto& [image, has] : of_ns) { mine += has; }
  for (const auto& [image, has] : of_all) { all += has; }
  const std::uint64_t n = std::max<std::uint64_t>(1, here.size());
  for (const Kind& kind : kKinds) {
    const std::uint64_t most = quota.*kind.of;
    const std::uint64_t share = most / (n * (n + 1));
    const bool has_room = all.*kind.of <= 2 * most && on_disk.*kind.of <= 2 * most;
    if (most == 0 || (has_room && (all.*kind.of <= most || mine.*kind.of <= share))) { continue; }
    const std::string whose =
        who.ns_.empty() ? "the cluster's caches" : fmt::format("the caches of namespace {}", who.ns_);
    return fail(Code::Unavailable,
                fmt::format("no room on this node: {} have {} {} here, and {} or more with what comes; while "
                            "all caches have more than the quota ({}), a namespace may have {}: delete "
                            "caches, or raise the quota",
                            whose, mine_now.*kind.of, kind.name, mine.*kind.of, kind.flag, share));
  }
  return {};
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

Status Shares::Coming::reserve(const Room& room) {
  needed_ = Room::max(needed_, room);
  const MutexLock lock{board_->mutex};
  const Room now = Room::max(counts_, room);
  if (now == counts_) { return {}; }
  if (Status may = board_->allows(*this, now); !may) { return may; }
  counts_ = now;
  return {};
}

Status Shares::Coming::add(const Room& more) {
  if (Status may = reserve(has_ + more); !may) { return may; }
  has_ += more;
  return {};
}

}  // namespace gs::cacherim
