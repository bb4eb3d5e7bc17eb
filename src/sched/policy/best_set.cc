#include "sched/policy/best_set.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gs::sched {
namespace {

/// Is C(n, k) at most kExactSets?
bool fewSets(int n, int k) {
  k = std::min(k, n - k);
  std::int64_t sets = 1;
  for (int i = 1; i <= k; ++i) {
    sets = sets * (n - k + i) / i;
    if (sets > kExactSets) { return false; }
  }
  return true;
}

constexpr std::int64_t kNoPair = std::numeric_limits<std::int64_t>::max();

/// A set that grows; `c.worst` is kNoPair while it has no pair.
struct Growing {
  Mask set = 0;
  Connection c{kNoPair, 0};

  [[nodiscard]] Growing with(const Topology& t, int device) const {
    Growing g = *this;
    for (Mask m = set; m != 0; m &= m - 1) {
      const std::int64_t gbps = t.gbps(device, lowestOf(m));
      g.c.worst = std::min(g.c.worst, gbps);
      g.c.sum += gbps;
    }
    g.set |= bit(device);
    return g;
  }
};

/// Tries sets in the order of their ids, so that the first of equals is kept; leaves out what cannot be
/// better any more.
class ExactSearch {
 public:
  ExactSearch(const Topology& t, Mask candidates) : t_{t} {
    for (Mask a = candidates; a != 0; a &= a - 1) {
      for (Mask b = candidates; b != 0; b &= b - 1) {
        fastest_ = std::max(fastest_, t.gbps(lowestOf(a), lowestOf(b)));
      }
    }
  }

  void grow(const Growing& g, Mask candidates, int missing) {
    if (missing == 0) {
      if (best_.set == 0 || g.c > best_.c) { best_ = g; }
      return;
    }
    if (best_.set != 0 && !canBeat(g, missing)) { return; }
    for (Mask m = candidates; countOf(m) >= missing; m &= m - 1) {
      grow(g.with(t_, lowestOf(m)), m & (m - 1), missing - 1);
    }
  }

  [[nodiscard]] Mask best() const { return best_.set; }

 private:
  [[nodiscard]] bool canBeat(const Growing& g, int missing) const {
    if (g.c.worst != best_.c.worst) { return g.c.worst > best_.c.worst; }
    const std::int64_t have = countOf(g.set);
    const std::int64_t new_pairs = missing * have + missing * (missing - 1) / 2;
    return g.c.sum + new_pairs * fastest_ > best_.c.sum;
  }

  const Topology& t_;
  std::int64_t fastest_ = 0;
  Growing best_;
};

/// Adds the device that leaves the set best connected, until there are enough. O(devices * count).
Mask greedySet(const Topology& t, const Growing& start, Mask candidates, int count) {
  Mask set = start.set;
  std::array<Connection, kMaxDevices> joining{};  // of each candidate to all of the set
  for (Mask m = candidates; m != 0; m &= m - 1) {
    const Growing with = Growing{start.set, {kNoPair, 0}}.with(t, lowestOf(m));
    joining[static_cast<std::size_t>(lowestOf(m))] = with.c;
  }
  for (Mask left = candidates & ~set; countOf(set) < count;) {
    int best = -1;
    for (Mask m = left; m != 0; m &= m - 1) {
      const int i = lowestOf(m);
      if (best < 0 || joining[static_cast<std::size_t>(i)] > joining[static_cast<std::size_t>(best)]) {
        best = i;
      }
    }
    set |= bit(best);
    left &= ~bit(best);
    for (Mask m = left; m != 0; m &= m - 1) {
      Connection& c = joining[static_cast<std::size_t>(lowestOf(m))];
      c.worst = std::min(c.worst, t.gbps(best, lowestOf(m)));
      c.sum += t.gbps(best, lowestOf(m));
    }
  }
  return set;
}

Mask greedySearch(const Topology& t, const Growing& start, Mask candidates, int count) {
  if (start.set != 0) { return greedySet(t, start, candidates, count); }
  Mask best = 0;
  Connection best_c;
  for (Mask m = candidates; m != 0; m &= m - 1) {
    const Mask set = greedySet(t, Growing{}.with(t, lowestOf(m)), candidates, count);
    const Connection c = t.connectionOf(set);
    if (best == 0 || c > best_c || (c == best_c && idsBefore(set, best))) {
      best = set;
      best_c = c;
    }
  }
  return best;
}

}  // namespace

std::optional<Mask> bestSet(const Topology& t, Mask within, int count, Mask must) {
  const int missing = count - countOf(must);
  const Mask candidates = within & ~must;
  if (missing < 0 || countOf(candidates) < missing) { return std::nullopt; }
  if (missing == 0) { return must; }
  if (t.isEven(within)) { return must | lowest(candidates, missing); }
  Growing start;
  for (Mask m = must; m != 0; m &= m - 1) { start = start.with(t, lowestOf(m)); }
  if (!fewSets(countOf(candidates), missing)) { return greedySearch(t, start, candidates, count); }
  ExactSearch search{t, within};
  search.grow(start, candidates, missing);
  return search.best();
}

}  // namespace gs::sched
