#include "sched/ledger/shares.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "sched/doors/door.h"
#include "sched/ledger/quota.h"

namespace gs::sched {
namespace {

constexpr std::size_t kMostSubsets = 8;  // pods in flight on one device; with more nothing is certain there

bool isUntouched(const FreeShare& d) { return d.milli == kWholeMilli; }
bool hasRoom(const FreeShare& d, const ContainerShare& asked) {
  return d.milli >= asked.milli && d.mib >= asked.mib;
}
void take(FreeShare& d, const Amount& amount) {
  d.milli = amount.shared ? std::max<std::int64_t>(0, d.milli - amount.milli) : 0;
  d.mib = amount.shared ? std::max<std::int64_t>(0, d.mib - amount.mib) : 0;
}

/// A sharer without amounts may use all of it.
Amount counted(const Amount& a) { return a.milli == 0 && a.mib == 0 ? Amount{} : a; }

template <class Counts>
std::vector<FreeShare> freeBut(const NodeState& n, const Counts& counts) {
  std::vector<FreeShare> free(static_cast<std::size_t>(n.share_devices));
  for (std::size_t id = 0; id < free.size(); ++id) {
    free[id] = {static_cast<int>(id), kWholeMilli, n.share_mib};
  }
  for (const DeviceState& d : n.devices) {
    if (d.facts.id < 0 || d.facts.id >= n.share_devices) { continue; }
    FreeShare& left = free[static_cast<std::size_t>(d.facts.id)];
    for (const Holder& h : d.holders) {
      if (counts(h.uid)) { take(left, counted(h.amount)); }
    }
    if (d.listed && (!d.givable() || d.facts.id_moved)) { take(left, {}); }  // it is told by its id
  }
  return free;
}

/// Whether the pod in flight is an unbound member of that gang. (A bound pod counts by its BoundPod, which
/// names no gang.)
bool isMember(const InFlight& flight, const std::string& gang) {
  return !gang.empty() && flight.source == Source::Reservation && flight.gang == gang;
}

/// One node's devices as the kubelet has left them, and the shares on their way to each.
class Prospect {
 public:
  /// `landed`: of this gang, unbound members count as taken already; "": nobody does.
  Prospect(const NodeState& n, const model::Uid& self, const std::string& landed = {})
      : flights_(static_cast<std::size_t>(n.share_devices)) {
    const std::vector<const InFlight*> on_the_way = onTheWay(n, self, landed);
    const auto isOnTheWay = [&](const model::Uid& uid) {
      const auto at =
          std::lower_bound(on_the_way.begin(), on_the_way.end(), uid,
                           [](const auto* flight, const auto& wanted) { return flight->uid < wanted; });
      return at != on_the_way.end() && (*at)->uid == uid;
    };
    settled_ = freeBut(n, [&](const model::Uid& uid) { return uid != self && !isOnTheWay(uid); });
    for (const InFlight* flight : on_the_way) {
      add(flight->picks, *flight);
      shapes_.push_back(shapeOf(flight->picks));
    }
  }

  [[nodiscard]] bool isCertain(const SharePicks& wanted) {
    if (unknown_) { return false; }
    if (shares_.empty() && whole_ == 0) { return true; }
    return isServedInOnePiece(wanted) && enoughWhole(wanted) && ownHold(wanted) && othersHold(wanted);
  }
  /// Pods in flight that are not of this gang get what was chosen for them, whatever its members do.
  [[nodiscard]] bool sparesOthers(const SharePicks& wanted, const std::string& gang) {
    std::erase_if(shares_, [&](const Share& share) { return isMember(*share.flight, gang); });
    return othersHold(wanted);
  }

 private:
  struct Share {
    ContainerShare asked;
    int id = 0;
    const InFlight* flight = nullptr;
  };

  /// By uid.
  static std::vector<const InFlight*> onTheWay(const NodeState& n, const model::Uid& self,
                                               const std::string& landed) {
    std::vector<const InFlight*> out;
    for (auto it = n.in_flight.begin(); it != n.in_flight.end(); ++it) {
      const auto next = std::next(it);
      const bool overruled = next != n.in_flight.end() && next->uid == it->uid;
      if (it->uid != self && !overruled && !isMember(*it, landed)) { out.push_back(&*it); }
    }
    return out;
  }

  /// What the kubelet says of a pod: how much each of its containers asks for, in their order.
  using Shape = std::vector<std::int64_t>;
  static Shape shapeOf(const SharePicks& picks) {
    Shape shape;
    for (const auto& pick : picks) {
      if (pick.asked != ContainerShare{}) {
        shape.push_back(pick.asked.whole > 0 ? pick.asked.whole * kWholeMilli : pick.asked.milli);
      }
    }
    return shape;
  }
  /// Whether gpu-manager may serve a container of one pod in place of one of the other, so that a pod of
  /// several containers is left half done.
  static bool mixUp(const Shape& a, const Shape& b) {
    if ((a.size() < 2 && b.size() < 2) || a == b) { return false; }
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  }
  [[nodiscard]] bool isServedInOnePiece(const SharePicks& wanted) const {
    const Shape own = shapeOf(wanted);
    return std::none_of(shapes_.begin(), shapes_.end(),
                        [&](const Shape& other) { return mixUp(own, other); });
  }

  [[nodiscard]] bool exists(int id) const { return id >= 0 && id < static_cast<int>(settled_.size()); }
  static FreeShare& at(std::vector<FreeShare>& devices, int id) {
    return devices[static_cast<std::size_t>(id)];
  }

  void add(const SharePicks& picks, const InFlight& flight) {
    for (const auto& [id, amount] : amountsOf(picks)) {
      if (exists(id) && amount.shared) { flights_[static_cast<std::size_t>(id)].push_back(amount); }
    }
    for (const auto& pick : picks) {
      whole_ += pick.asked.whole;
      if (pick.asked.whole > 0 || pick.asked == ContainerShare{}) { continue; }
      if (pick.ids.size() == 1 && exists(pick.ids[0])) {
        shares_.push_back({pick.asked, pick.ids[0], &flight});
      } else {
        unknown_ = true;
      }
    }
  }

  /// Could device `d`, with some of its flights landed, be picked for `asked` instead of `chosen`?
  [[nodiscard]] bool mayBePreferred(const FreeShare& d, const ContainerShare& asked,
                                    const FreeShare& chosen) const {
    const auto& flights = flights_[static_cast<std::size_t>(d.id)];
    if (flights.size() > kMostSubsets) { return true; }
    for (std::uint32_t landed = 0; landed < (1U << flights.size()); ++landed) {
      FreeShare left = d;
      for (std::size_t i = 0; i < flights.size(); ++i) {
        if ((landed >> i & 1U) != 0) { take(left, flights[i]); }
      }
      if (hasRoom(left, asked) && isTighter(left, chosen)) { return true; }
    }
    return false;
  }
  [[nodiscard]] bool isPicked(const std::vector<FreeShare>& devices, const ContainerShare& asked,
                              int id) const {
    const FreeShare& chosen = devices[static_cast<std::size_t>(id)];
    return std::none_of(devices.begin(), devices.end(),
                        [&](const FreeShare& d) { return d.id != id && mayBePreferred(d, asked, chosen); });
  }

  /// Whether enough whole devices are left. Which ones does not matter: gpu-manager may have given a device
  /// that was meant for a pod in flight to another pod.
  [[nodiscard]] bool enoughWhole(const SharePicks& wanted) const {
    std::int64_t asked = whole_;
    for (const auto& pick : wanted) { asked += pick.asked.whole; }
    return asked <= std::count_if(settled_.begin(), settled_.end(), isUntouched);
  }

  /// The pod's own containers, one after the other, get what was chosen.
  [[nodiscard]] bool ownHold(const SharePicks& wanted) const {
    std::vector<FreeShare> devices = settled_;
    for (const auto& pick : wanted) {
      if (pick.asked.whole > 0 || pick.ids.empty()) { continue; }
      FreeShare& chosen = at(devices, pick.ids[0]);
      if (whole_ > 0 && isUntouched(chosen)) { return false; }
      if (!isPicked(devices, pick.asked, chosen.id)) { return false; }
      take(chosen, {true, pick.asked.milli, pick.asked.mib});
    }
    return true;
  }

  /// Those in flight get what was chosen for them, this pod being one more of them.
  [[nodiscard]] bool othersHold(const SharePicks& wanted) {
    const auto untouched = [&](const Share& share) { return isUntouched(at(settled_, share.id)); };
    const bool takes_whole =
        std::any_of(wanted.begin(), wanted.end(), [](const auto& p) { return p.asked.whole > 0; });
    if (takes_whole && std::any_of(shares_.begin(), shares_.end(), untouched)) { return false; }
    const std::vector<Share> others = shares_;
    const InFlight self;
    add(wanted, self);
    shares_ = others;
    const auto keeps_pick = [&](const Share& share, const FreeShare& d) {
      return d.id == share.id || !mayBePreferred(d, share.asked, at(settled_, share.id));
    };
    const std::vector<DeviceShare> own = amountsOf(wanted);
    return std::all_of(own.begin(), own.end(), [&](const DeviceShare& d) {
      return std::all_of(others.begin(), others.end(),
                         [&](const Share& share) { return keeps_pick(share, at(settled_, d.id)); });
    });
  }

  std::vector<FreeShare> settled_;
  std::vector<std::vector<Amount>> flights_;  // by device, one for each pod
  std::vector<Share> shares_;                 // of all pods in flight
  std::vector<Shape> shapes_;                 // of each
  std::int64_t whole_ = 0;                    // devices for whole ones in flight
  bool unknown_ = false;                      // some takes a share of we do not know which
};

}  // namespace

std::vector<FreeShare> freeShares(const NodeState& n, const model::Uid& self) {
  return freeBut(n, [&](const model::Uid& uid) { return uid != self; });
}

std::vector<DeviceShare> amountsOf(const SharePicks& picks) {
  std::map<int, Amount> sums;
  for (const auto& pick : picks) {
    for (const int id : pick.ids) {
      const auto [sum, fresh] =
          sums.try_emplace(id, Amount{pick.asked.whole == 0, pick.asked.milli, pick.asked.mib});
      if (fresh) { continue; }
      sum->second.shared = sum->second.shared && pick.asked.whole == 0;
      sum->second.milli += pick.asked.milli;
      sum->second.mib += pick.asked.mib;
    }
  }
  std::vector<DeviceShare> out;
  out.reserve(sums.size());  // equivalent: without it, slower
  for (const auto& [id, amount] : sums) { out.push_back({id, amount.shared ? amount : Amount{}}); }
  return out;
}

bool haveRoom(const NodeState& n, const model::Uid& self, const SharePicks& picks) {
  const std::vector<FreeShare> free = freeShares(n, self);
  const std::vector<DeviceShare> held = amountsOf(picks);
  return std::all_of(held.begin(), held.end(), [&](const DeviceShare& d) {
    if (d.id < 0 || d.id >= static_cast<int>(free.size())) { return false; }
    const FreeShare& left = free[static_cast<std::size_t>(d.id)];
    return d.amount.shared ? left.milli >= d.amount.milli && left.mib >= d.amount.mib
                           : left.milli == kWholeMilli;
  });
}

SharePicks movedToUntouched(const NodeState& n, const model::Uid& self, SharePicks picks) {
  std::set<int> left;
  for (const FreeShare& d : freeShares(n, self)) {
    if (isUntouched(d)) { left.insert(d.id); }
  }
  std::vector<int*> taken;
  for (SharePick& pick : picks) {
    for (int& id : pick.ids) {
      if (left.erase(id) == 0 && pick.asked.whole > 0) { taken.push_back(&id); }
    }
  }
  for (int* id : taken) {
    if (!left.empty()) { *id = left.extract(left.begin()).value(); }
  }
  for (SharePick& pick : picks) { std::sort(pick.ids.begin(), pick.ids.end()); }
  return picks;
}

bool isComplete(const SharePicks& picks) {
  return std::all_of(picks.begin(), picks.end(), [](const SharePick& pick) {
    const bool is_share = pick.asked.milli > 0;  // equivalent: a share has at least 10
    const std::set<int> ids{pick.ids.begin(), pick.ids.end()};
    return static_cast<std::int64_t>(ids.size()) == (is_share ? 1 : pick.asked.whole) &&
           ids.size() == pick.ids.size();
  });
}

SharePicks picksOf(const std::vector<ContainerShare>& asked, const ShareChoice& choice) {
  GS_CHECK(asked.size() == choice.size(), "{} containers, {} choices", asked.size(), choice.size());
  SharePicks picks;
  for (std::size_t i = 0; i < asked.size(); ++i) { picks.push_back({asked[i], choice[i]}); }
  return picks;
}

namespace {

/// Nothing but unbound members of its own gang is in the way, and they will not be taken before this one has
/// a node too.
bool waitsInVain(const NodeState& n, const model::Uid& self, const std::string& gang,
                 const SharePicks& picks) {
  const bool any = std::any_of(n.in_flight.begin(), n.in_flight.end(),
                               [&](const InFlight& flight) { return isMember(flight, gang); });
  return any && Prospect{n, self, gang}.isCertain(picks) && Prospect{n, self}.sparesOthers(picks, gang);
}

}  // namespace

Verdict<ShareChoice> fitShares(const NodeState& n, const PodRequest& r, const model::Uid& self) {
  const auto refused = [](Reason reason, const char* detail = "") {
    return tl::unexpected(Misfit{reason, detail, 0, 0});
  };
  if (r.quota && !passesQuota(n.node, r.quota->terms)) { return refused(Reason::ExceedsQuota); }
  if (n.share_devices == 0) { return refused(Reason::NoGpu); }
  if (r.door == nullptr || !isKeptBy(r.door, n.enforcer)) {
    return refused(Reason::ManagedByOther, enforcerName(n.enforcer));
  }
  auto choice = tightestFit(freeShares(n, self), r.shares);
  if (!choice) { return refused(Reason::TooFewFree); }
  const SharePicks picks = picksOf(r.shares, *choice);
  const bool fits =
      !r.only_certain || Prospect{n, self}.isCertain(picks) || waitsInVain(n, self, r.gang, picks);
  if (!fits) { return refused(Reason::NotTakenYet); }
  return *std::move(choice);
}

}  // namespace gs::sched
