#include "sched/policy/best_set.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gs::sched {
namespace {

/// C(n, k), as far as kExactSets + 1.
std::int64_t setsOf(int n, int k) {
  k = std::min(k, n - k);
  std::int64_t sets = 1;
  for (int i = 1; i <= k && sets <= kExactSets; ++i) { sets = sets * (n - k + i) / i; }
  return std::min(sets, kExactSets + 1);
}

/// There are few, and trying all takes what is left at most. (Of nearly all devices each set is found at the
/// end of a long way.)
bool mayTryAll(int n, int k, const Meter* meter) {
  const std::int64_t sets = setsOf(n, k);
  const std::int64_t steps = sets * (2 * k <= n ? k : std::int64_t{n} * n / 4);
  return sets <= kExactSets && static_cast<std::uint64_t>(steps) <= stepsLeft(meter);
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
/// better any more. Of each candidate it keeps how it is connected to the set so far, so that the last device
/// of a set costs one comparison.
class ExactSearch {
 public:
  ExactSearch(const Topology& t, Mask candidates) : t_{t}, candidates_{ascending(candidates)} {
    fastest_from_.resize(candidates_.size() + 1);
    for (std::size_t a = candidates_.size(); a-- > 0;) {
      fastest_from_[a] = fastest_from_[a + 1];
      for (std::size_t b = a + 1; b < candidates_.size(); ++b) {
        fastest_from_[a] = std::max(fastest_from_[a], gbps(a, b));
      }
    }
    steps_ = candidates_.size() * candidates_.size() / 2;
  }

  Mask run(const Growing& start, int missing) {
    Joining joining;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      joining.at(i) = Growing{start.set, {kNoPair, 0}}.with(t_, candidates_[i]).c;
    }
    grow(start, joining, 0, static_cast<std::size_t>(missing));
    return best_.set;
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  using Joining = std::array<Connection, kMaxDevices>;  // by candidate: its pairs with all of the set

  [[nodiscard]] std::int64_t gbps(std::size_t a, std::size_t b) const {
    return t_.gbps(candidates_[a], candidates_[b]);
  }

  /// `missing` more, out of the candidates from `from` on.
  void grow(const Growing& g, const Joining& joining, std::size_t from, std::size_t missing) {
    steps_ += candidates_.size() - from;
    if (missing > 1) { return growOn(g, joining, from, missing); }
    for (std::size_t i = from; i < candidates_.size(); ++i) {
      const Connection c{std::min(g.c.worst, joining[i].worst), g.c.sum + joining[i].sum};
      if (best_.set == 0 || c > best_.c) { best_ = {g.set | bit(candidates_[i]), c}; }
    }
  }

  void growOn(const Growing& g, const Joining& joining, std::size_t from, std::size_t missing) {
    for (std::size_t i = from; i + missing <= candidates_.size(); ++i) {
      const Growing with{g.set | bit(candidates_[i]),
                         {std::min(g.c.worst, joining[i].worst), g.c.sum + joining[i].sum}};
      ++steps_;
      if (best_.set != 0 && with.c.worst < best_.c.worst) { continue; }
      Joining next;
      Connection most{0, 0};  // that one of those that are left adds
      for (std::size_t j = i + 1; j < candidates_.size(); ++j) {
        const std::int64_t pair = gbps(i, j);
        next[j] = {std::min(joining[j].worst, pair), joining[j].sum + pair};
        most = {std::max(most.worst, next[j].worst), std::max(most.sum, next[j].sum)};
      }
      if (best_.set != 0 && !canBeat(with, most, i + 1, static_cast<std::int64_t>(missing - 1))) {
        steps_ += candidates_.size() - i;
        continue;
      }
      grow(with, next, i + 1, missing - 1);
    }
  }

  [[nodiscard]] bool canBeat(const Growing& g, const Connection& most, std::size_t from,
                             std::int64_t missing) const {
    const std::int64_t worst = std::min(g.c.worst, most.worst);
    if (worst != best_.c.worst) { return worst > best_.c.worst; }
    const std::int64_t among_them = missing * (missing - 1) / 2;
    return g.c.sum + missing * most.sum + among_them * fastest_from_[from] > best_.c.sum;
  }

  const Topology& t_;
  const std::vector<int> candidates_;
  std::vector<std::int64_t> fastest_from_;  // of the pairs among the candidates from there on
  Growing best_;
  std::uint64_t steps_ = 0;
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

Mask greedySearch(const Topology& t, const Growing& start, Mask candidates, int count, Meter* meter) {
  const auto devices = static_cast<std::uint64_t>(countOf(candidates));
  const std::uint64_t steps = devices * static_cast<std::uint64_t>(count);
  if (start.set != 0) {
    addSteps(meter, steps);
    return greedySet(t, start, candidates, count);
  }
  const std::uint64_t starts = std::clamp<std::uint64_t>(stepsLeft(meter) / steps, 1, devices);
  const std::uint64_t apart = (devices + starts - 1) / starts;
  Mask best = 0;
  Connection best_c;
  std::uint64_t at = 0;
  for (Mask m = candidates; m != 0; m &= m - 1) {
    if (at++ % apart != 0) { continue; }
    addSteps(meter, steps);
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

std::optional<Mask> bestSet(const Topology& t, Mask within, int count, Mask must, Meter* meter) {
  const int missing = count - countOf(must);
  const Mask candidates = within & ~must;
  if (missing < 0 || countOf(candidates) < missing) { return std::nullopt; }
  if (missing == 0) { return must; }
  if (t.isEven(within)) { return must | lowest(candidates, missing); }
  Growing start;
  for (Mask m = must; m != 0; m &= m - 1) { start = start.with(t, lowestOf(m)); }
  if (!mayTryAll(countOf(candidates), missing, meter)) {
    return greedySearch(t, start, candidates, count, meter);
  }
  ExactSearch search{t, candidates};
  const Mask best = search.run(start, missing);
  addSteps(meter, search.steps());
  return best;
}

}  // namespace gs::sched
