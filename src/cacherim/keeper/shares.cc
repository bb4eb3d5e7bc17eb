#include "cacherim/keeper/shares.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::cacherim {

void Shares::areHere(const Here& here) {
  std::map<std::string, std::uint64_t> of_one;
  std::map<kcache::Digest, std::uint64_t> each;
  for (const auto& [ns, images] : here) {
    std::uint64_t& mine = of_one[ns];
    for (const auto& [image, bytes] : images) { mine += bytes; }
    each.insert(images.begin(), images.end());
  }
  std::uint64_t all = 0;
  for (const auto& [image, bytes] : each) { all += bytes; }
  const MutexLock lock{board_->mutex};
  board_->here = std::move(of_one);
  board_->all_here = all;
}

Status Shares::Board::allows(const std::string& ns, std::uint64_t bytes) const {
  const auto of = [&](const std::map<std::string, std::uint64_t>& each) {
    const auto it = each.find(ns);
    return it == each.end() ? 0 : it->second;
  };
  const std::uint64_t mine = of(here) + of(coming);
  const std::uint64_t all = all_here + all_coming;
  const std::uint64_t namespaces = std::max<std::uint64_t>(1, here.size());
  const std::uint64_t share = quota / namespaces;
  const bool may = quota == 0 || all + bytes <= quota || (mine + bytes <= share && all + bytes <= 2 * quota);
  if (may) { return {}; }
  return fail(
      Code::Unavailable,
      fmt::format("no room on this node: {} have {} bytes here, and with this image {} or more; all caches "
                  "have {}; the quota is {} (--cache-quota), and a share of it for each of {} namespaces "
                  "{}: delete caches, or raise the quota",
                  ns.empty() ? "the cluster's caches" : fmt::format("the caches of namespace {}", ns), mine,
                  mine + bytes, all, quota, namespaces, share));
}

Status Shares::Coming::couldAdd(std::uint64_t bytes) const {
  const MutexLock lock{board_->mutex};
  return board_->allows(ns_, bytes);
}

Status Shares::Coming::add(std::uint64_t bytes) {
  const MutexLock lock{board_->mutex};
  if (Status may = board_->allows(ns_, bytes); !may) { return may; }
  bytes_ += bytes;
  board_->coming[ns_] += bytes;
  board_->all_coming += bytes;
  return {};
}

Shares::Coming::~Coming() {
  const MutexLock lock{board_->mutex};
  board_->all_coming -= bytes_;
  const auto it = board_->coming.find(ns_);
  if (it == board_->coming.end()) { return; }  // nothing was added by anybody
  it->second -= bytes_;
  if (it->second == 0) { board_->coming.erase(it); }
}

}  // namespace gs::cacherim
