#include "sched/placement/wishes.h"

#include <algorithm>
#include <limits>

namespace gs::sched {
namespace {

constexpr std::int64_t kMostScore = 100;

constexpr std::int64_t kTaints = 3;
constexpr std::int64_t kNodeAffinity = 2;
constexpr std::int64_t kSpread = 2;
constexpr std::int64_t kPodAffinity = 2;

/// The least and the most of some numbers; of none: most < least.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  void take(std::int64_t n) {
    least = std::min(least, n);
    most = std::max(most, n);
  }
};

struct Ranges {
  Range avoided;
  Range liked;
  Range beside;  // of nodes that are counted
  Range near;
};

Ranges rangesOf(const std::vector<NodeWish>& nodes) {
  Ranges out;
  for (const NodeWish& node : nodes) {
    out.avoided.take(node.avoided);
    out.liked.take(node.liked);
    if (node.near.is_counted) { out.beside.take(node.near.beside); }
    out.near.take(node.near.liked);
  }
  return out;
}

std::int64_t shareOf(std::int64_t n, std::int64_t most) { return most <= 0 ? 0 : kMostScore * n / most; }

/// All the same: nobody gets any.
std::int64_t nearScore(std::int64_t n, const Range& range) {
  const std::int64_t width = range.most - range.least;
  if (width <= 0) { return 0; }
  const double share = static_cast<double>(n - range.least) / static_cast<double>(width);
  return static_cast<std::int64_t>(static_cast<double>(kMostScore) * share);
}

std::int64_t spreadScore(const NearWish& wish, const Range& range) {
  if (!wish.is_counted) { return 0; }
  if (range.most <= 0) { return kMostScore; }
  return kMostScore * (range.most + range.least - wish.beside) / range.most;
}

}  // namespace

std::vector<std::int64_t> weigh(const std::vector<NodeWish>& nodes) {
  const Ranges ranges = rangesOf(nodes);
  std::vector<std::int64_t> out;
  out.reserve(nodes.size());
  for (const NodeWish& node : nodes) {
    out.push_back(kTaints * (kMostScore - shareOf(node.avoided, ranges.avoided.most)) +
                  kNodeAffinity * shareOf(node.liked, ranges.liked.most) +
                  kSpread * spreadScore(node.near, ranges.beside) +
                  kPodAffinity * nearScore(node.near.liked, ranges.near));
  }
  return out;
}

}  // namespace gs::sched
