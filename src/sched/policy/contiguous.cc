#include "sched/policy/contiguous.h"

#include "sched/policy/best_set.h"

namespace gs::sched {
namespace {

/// Keeps the better-connected set, the one with the lower ids of equals.
class Best {
 public:
  Best(const Topology& t, Meter* meter) : t_{t}, meter_{meter} {}
  void offer(Mask set) {
    const auto devices = static_cast<std::uint64_t>(countOf(set));
    addSteps(meter_, devices * devices / 2);
    const Connection c = t_.connectionOf(set);
    if (!set_ || c > connection_ || (c == connection_ && idsBefore(set, *set_))) {
      set_ = set;
      connection_ = c;
    }
  }
  [[nodiscard]] const std::optional<Mask>& set() const { return set_; }
  [[nodiscard]] bool meets(const Terms& terms) const { return set_ && terms.metBy(connection_); }

 private:
  const Topology& t_;
  Meter* meter_;
  std::optional<Mask> set_;
  Connection connection_;
};

bool isWindow(const Topology& t, Mask run) { return (run & (run - 1) & ~t.joined()) == 0; }

Best bestWindow(const Topology& t, Mask free, const Terms& terms, Mask must) {
  Best best{t, terms.meter};
  const int count = terms.count;
  const Mask run = count >= kMaxDevices ? ~Mask{0} : bit(count) - 1;
  for (int i = 0; i + count <= t.size(); ++i) {
    const Mask window = run << i;
    if ((window & ~free) == 0 && (must & ~window) == 0 && isWindow(t, window)) { best.offer(window); }
  }
  return best;
}

Best bestInIsland(const Topology& t, Mask free, const Terms& terms, Mask must) {
  Best best{t, terms.meter};
  for (const Mask island : t.islands()) {
    if ((must & ~island) != 0) { continue; }
    if (const auto set = bestSet(t, free & island, terms.count, must, terms.meter)) { best.offer(*set); }
  }
  return best;
}

Best bestAnywhere(const Topology& t, Mask free, const Terms& terms, Mask must) {
  Best best{t, terms.meter};
  if (const auto set = bestSet(t, free, terms.count, must, terms.meter)) { best.offer(*set); }
  return best;
}

}  // namespace

Layout layoutOf(const Topology& t, Mask set) {
  if (!t.inOneIsland(set)) { return Layout::Scattered; }
  const Mask rest = set & (set - 1);  // each must follow its predecessor, and that one must be in the set
  return (rest & ~t.joined()) == 0 && (rest & ~(set << 1)) == 0 ? Layout::Consecutive : Layout::OneIsland;
}

std::optional<Mask> contiguous(const Topology& t, Mask free, const Terms& terms, Mask must) {
  const Best window = bestWindow(t, free, terms, must);
  if (window.meets(terms)) { return window.set(); }
  const Best island = bestInIsland(t, free, terms, must);
  if (island.meets(terms)) { return island.set(); }
  if (terms.required) { return std::nullopt; }
  const Best anywhere = bestAnywhere(t, free, terms, must);
  if (anywhere.meets(terms)) { return anywhere.set(); }
  return window.set() ? window.set() : island.set() ? island.set() : anywhere.set();
}

}  // namespace gs::sched
