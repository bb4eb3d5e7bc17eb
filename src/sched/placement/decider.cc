#include "sched/placement/decider.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "model/node_affinity.h"
#include "model/taints.h"
#include "sched/ledger/node_changes.h"
#include "sched/placement/choice_memo.h"
#include "sched/placement/decider_class.h"
#include "sched/placement/name_ranks.h"
#include "sched/placement/near_look.h"
#include "sched/placement/node_ranking.h"
#include "sched/placement/wishes_look.h"

namespace gs::sched {
namespace {

using NodeIndex = Ledger::NodeIndex;

/// The choice there is no function of topology and free devices that could be remembered (ChoiceMemo).
bool isPlacedWhole(const NodeState& n, const DeviceRequest& r) {
  return r.shared || r.selection != nullptr || n.isWide();
}

}  // namespace

struct Decider::Impl {
  using Order = decider::Order;
  using Few = decider::Few;
  using Found = decider::Found;
  using Class = decider::Class;
  Impl(const Ledger& l, std::size_t most) : ledger{l}, most_orders{most}, changes{l} {}

  Class& at(EquivalenceClass id) {
    const auto it = classes.find(id);
    GS_CHECK(it != classes.end(), "no class {}", id);
    return it->second;
  }

  // ---- Looking at nodes

  /// What all of it has cost so far (Decider::looks).
  [[nodiscard]] std::uint64_t looked() const { return looks + meter.steps / kStepsPerLook; }
  [[nodiscard]] std::uint64_t endOf(std::uint64_t most) const {
    return most > kAnyNumber - looked() ? kAnyNumber : looked() + most;
  }

  /// The choice on that node, by the rules of fitOn().
  std::optional<Choice> offer(const Class& c, const NodeState& n) {
    const PodRequest& r = c.request;
    if (refuseUse(n, r, c.parts) || refuseCounted(n, r) || awaitsLook(n, r)) { return std::nullopt; }
    if (!takesDevices(n, r)) { return needsIds(r) ? std::nullopt : std::optional{Choice{}}; }
    if (isPlacedWhole(n, *r.devices)) {
      const auto placed = tryPlace(n, *r.devices, {}, &meter);
      return placed ? std::optional{Choice{0, namesDevices(n, r) ? placed->score : 0}} : std::nullopt;
    }
    const auto choice = offerWhole(n, n.held, r.devices->count, [&](const Topology& t, Mask free) {
      return memo.choose(c.shape, *r.devices, t, free, &meter);
    });
    return choice && !namesDevices(n, r) ? std::optional{Choice{}} : choice;
  }

  NodeRanking::Key keyOf(const Class& c, const NodeState& n) {
    const auto choice = offer(c, n);
    if (!choice) { return {}; }
    const auto& wishes = c.request.better_with;
    const std::int32_t bonus = bonus_of && !wishes.empty() ? bonus_of(wishes, n.node.name) : 0;
    return {choice->score, NodeRanking::freeAfter(n.free_devices, bonus), true,
            model::avoidedOf(n.node.taints, c.request.tolerations)};
  }

  /// What only the node's facts decide.
  void readFacts(Class& c, NodeIndex i) {
    const model::Node& node = ledger.at(i).node;
    c.order->facts_ok[i] = refuseFacts(ledger.at(i), c.request, c.parts) ? 0 : 1;
    const model::NodeAffinity& affinity = c.request.node_affinity;
    if (affinity.preferred.empty()) { return; }
    const std::int64_t liked = model::preferredWeight(affinity, node.labels, node.name.text);
    c.order->liked[i] = static_cast<std::int32_t>(liked);
  }

  NodeRanking::Key orderedKeyOf(Class& c, NodeIndex i) {
    ++looks;
    const AskedInPart in_part{c.request};
    const NodeState& n = ledger.at(i);
    Order& order = *c.order;
    if (n.facts_version > order.seen[i]) { readFacts(c, i); }
    order.seen[i] = n.versionFor(c.request);
    return order.facts_ok[i] == 0 ? NodeRanking::Key{} : keyOf(c, n);
  }

  NodeRanking::Key singleKeyOf(const Class& c, NodeIndex i) {
    ++looks;
    const NodeRanking::Key key = keyOf(c, ledger.at(i));
    return key.fits && refuseFacts(ledger.at(i), c.request, c.parts) ? NodeRanking::Key{} : key;
  }

  // ---- Classes with NearRules

  /// Of a class without an order: whether the node takes it now. Of one that would, but for its cell, that is
  /// remembered.
  bool takesIt(Class& c, NodeIndex i, NearCellSet open) {
    const AskedInPart in_part{c.request};
    if (!singleKeyOf(c, i).fits) { return false; }
    if (standingOf(c) == nullptr || isOpen(open, *standingOf(c), i)) { return true; }
    c.near.held |= NearCellSet{1} << standingOf(c)->cells().at(i);
    return false;
  }

  [[nodiscard]] std::optional<NodeIndex> bestNow(const Class& c) const {
    const NodeRanking& ranking = c.order->ranking;
    return standingOf(c) == nullptr ? ranking.best()
                                    : ranking.bestIn(standingOf(c)->openCells(), names.ranks());
  }

  /// Its order is up to date, and no open cell has a node for it.
  void fitsNowhereInOrder(Class& c) {
    if (standingOf(c) != nullptr) {
      c.near.epoch = c.order->near_epoch;
      c.near.held = c.order->ranking.fitting(kAllNearCells, names.ranks());
    }
    fitsNowhere(c, c.order->moment);
  }

  // ---- Classes with an order

  [[nodiscard]] std::size_t mostOrders() const {
    const std::size_t room = kMaxOrderedNodes / std::max<std::size_t>(1, ledger.size());
    return std::min(most_orders, std::max<std::size_t>(8, room));
  }

  /// Those are to be looked at again whose model the quota allows now and did not, or the other way round; or
  /// all.
  void lookAgain(Class& c) {
    Order& order = *c.order;
    const auto is_meant = [&](const model::Labels& labels) {
      const auto model = labels.find(c.request.quota->terms.model_label);
      return model != labels.end() && order.models.contains(model->second);
    };
    for (NodeIndex i = 0; i < ledger.size(); ++i) {
      if (!order.all_anew && !is_meant(ledger.at(i).node.labels)) { continue; }
      order.seen[i] = 0;
      order.board.forget(i);
    }
    order.models.clear();
    order.all_anew = false;
    order.moment = 0;
  }

  /// A node gets its place: at once, or when all of them get theirs `anew`.
  void placeOne(Class& c, NodeIndex i, bool anew) {
    ++c.order->edits;
    if (anew) {
      c.order->ranking.prepare(i, orderedKeyOf(c, i));
    } else {
      c.order->ranking.set(i, orderedKeyOf(c, i), names.ranks());
    }
  }

  void placeAll(Order& order) {
    order.ranking.rebuild(names.ranks());
    ++order.edits;
    order.unbuilt = false;
    looks += ledger.size() / decider::kNumbersPerLook;
  }

  /// Nodes that changed since the order was brought up to date get their places. False: not all of them.
  bool placeChanged(Class& c, bool anew, std::uint64_t end) {
    Order& order = *c.order;
    const RecentChanges& recent = changes.of(c.request);
    RecentChanges::Moment moment = recent.now();
    bool done = true;
    recent.since(order.moment, [&](NodeIndex i, RecentChanges::Moment changed) {
      if (order.seen[i] == ledger.at(i).versionFor(c.request)) { return true; }
      done = looked() < end;
      if (!done) {
        moment = changed - 1;
        return false;
      }
      placeOne(c, i, anew);
      return true;
    });
    order.moment = moment;
    order.unbuilt = anew;
    if (done && anew) { placeAll(order); }
    return done;
  }

  [[nodiscard]] bool isMany(std::size_t changed) const { return changed > ledger.size() / kLogNodes; }

  /// Nodes that have another bonus now come to stand elsewhere.
  void followBonuses(Class& c) {
    Order& order = *c.order;
    if (c.request.better_with.empty()) { return; }
    const bool anew = isMany(bonuses.countSince(order.bonuses));
    bonuses.since(order.bonuses, [&](NodeIndex i, RecentChanges::Moment) {
      placeOne(c, i, anew);
      return true;
    });
    if (anew) { placeAll(order); }
    order.bonuses = bonuses.now();
  }

  /// Nodes are in cells as its standing says; in a new epoch all are to be looked at again.
  static void arrangeNear(Class& c) {
    if (standingOf(c) == nullptr) { return; }
    Order& order = *c.order;
    order.ranking.arrange(standingOf(c)->cells());
    const std::uint64_t epoch = nearEpochOf(c);
    if (std::exchange(order.near_epoch, epoch) == epoch) { return; }
    std::fill(order.seen.begin(), order.seen.end(), 0);
    order.moment = 0;
  }

  /// Brings an order up to the ledger's present state. False: some of the way; it goes on there the next
  /// time.
  bool catchUp(Class& c, std::uint64_t end) {
    names.catchUp(ledger);
    Order& order = *c.order;
    const bool moved = order.epoch != names.epoch() || order.ranking.size() < ledger.size() ||
                       order.near_epoch != nearEpochOf(c);
    if (moved) {
      const std::size_t room = std::bit_ceil(ledger.size());  // not anew for each node that somebody names
      order.ranking.resize(room);
      order.seen.resize(room);
      order.facts_ok.resize(room);
      if (!c.request.node_affinity.preferred.empty()) { order.liked.resize(room); }
      order.epoch = names.epoch();
      arrangeNear(c);
    }
    const bool is_otherwise = order.all_anew || !order.models.empty();
    if (is_otherwise) { lookAgain(c); }
    const std::size_t changed = changes.of(c.request).countSince(order.moment);
    const bool anew = moved || is_otherwise || order.unbuilt || isMany(changed);
    if (!placeChanged(c, anew, end)) { return false; }
    followBonuses(c);
    return true;
  }

  /// It is in `ordered`.
  void forgetOrder(Class& c) {
    const bool is_known = !c.order->unbuilt && !c.order->all_anew && c.order->models.empty() &&
                          c.order->near_epoch == nearEpochOf(c);
    if (is_known && !c.order->ranking.best()) { fitsNowhereInOrder(c); }
    c.order.reset();
    ordered.erase(c.place);
  }

  /// One order at a time is on the way that the class is to get.
  void beginOrder(EquivalenceClass id, Class& c) {
    dropUnfinished();
    unfinished = id;
    c.few.reset();
    c.order = std::make_unique<Order>();
    c.order->bonuses = bonuses.now();  // each node is looked at after that
  }
  void dropUnfinished() {
    if (unfinished) { at(*unfinished).order.reset(); }
    unfinished.reset();
  }

  /// Keeps the order that was just made for it, unless others need the room more.
  void keepOrder(EquivalenceClass id, Class& c, bool fits) {
    const bool full = ordered.size() >= mostOrders();
    if (full && !fits) {
      c.order.reset();
      return;
    }
    while (ordered.size() >= mostOrders()) { forgetOrder(at(ordered.back())); }
    ordered.push_front(id);
    c.place = ordered.begin();
  }

  Found bestInOrder(EquivalenceClass id, Class& c, std::uint64_t end) {
    if (!c.order) { beginOrder(id, c); }
    if (!catchUp(c, end)) { return {}; }
    const auto best = bestNow(c);
    c.looks = 0;
    if (!best) { fitsNowhereInOrder(c); }
    if (unfinished == id) {
      unfinished.reset();
      keepOrder(id, c, best.has_value());
    } else {
      ordered.splice(ordered.begin(), ordered, c.place);
    }
    return {true, best};
  }

  // ---- Classes without one

  static void fitsNowhere(Class& c, RecentChanges::Moment moment) {
    if (moment <= c.nowhere) { return; }
    c.nowhere = moment;
    if (c.request.quota && c.allowed != c.request.quota->terms.models) {
      c.allowed = c.request.quota->terms.models;
    }
  }

  /// Whether to look at the changed nodes only: few nodes changed since it fitted nowhere, so an order of all
  /// nodes would not have paid yet.
  [[nodiscard]] bool isFew(const Class& c) const {
    const std::size_t few = changes.of(c.request).countSince(c.nowhere);
    return few == 0 || (c.nowhere > 0 && c.looks + few <= ledger.size());
  }

  [[nodiscard]] bool isGood(const Class& c) const {
    const Few* few = c.few.get();
    return few != nullptr && few->bonuses == bonuses.now() &&
           (!few->best || few->version == ledger.at(*few->best).versionFor(c.request));
  }
  /// All of them were looked at: who prepared that is not to look at all nodes after it.
  [[nodiscard]] bool isKnown(const Class& c) const {
    return isGood(c) && changes.of(c.request).countSince(std::max(c.few->reached, c.nowhere)) == 0;
  }

  /// What is known of the best of them already.
  Few& fewOf(Class& c) {
    if (!isGood(c)) { c.few = std::make_unique<Few>(Few{c.nowhere, 0, bonuses.now(), {}, {}, 0}); }
    return *c.few;
  }

  Found bestOfFew(Class& c, std::uint64_t end) {
    names.catchUp(ledger);
    const NodeRanking::Ranks& ranks = names.ranks();
    const RecentChanges& recent = changes.of(c.request);
    Few& few = fewOf(c);
    bool done = true;
    recent.since(std::max(few.reached, c.nowhere), [&](NodeIndex i, RecentChanges::Moment moment) {
      done = looked() < end;
      if (!done) { return false; }
      ++c.looks;
      few.reached = moment;
      const NodeRanking::Key key = singleKeyOf(c, i);
      if (!key.fits) { return true; }
      if (!few.best) { few.nowhere = moment - 1; }
      if (!few.best || NodeRanking::isBetter(key, ranks[i], few.key, ranks[*few.best])) {
        few.best = i;
        few.key = key;
        few.version = ledger.at(i).versionFor(c.request);
      }
      return true;
    });
    if (!done) { return {}; }
    fitsNowhere(c, few.best ? few.nowhere : recent.now());
    return {true, few.best};
  }

  Standing lookAtChanged(Class& c, std::uint64_t end) {
    followNear(c);
    const NearCellSet open = standingOf(c) == nullptr ? kAllNearCells : standingOf(c)->openCells();
    const RecentChanges& recent = changes.of(c.request);
    Standing standing = Standing::Nowhere;
    RecentChanges::Moment nowhere = recent.now();
    recent.since(c.nowhere, [&](NodeIndex i, RecentChanges::Moment moment) {
      if (looked() >= end) {
        standing = Standing::Unknown;
      } else if (takesIt(c, i, open)) {
        standing = Standing::Fits;
      } else {
        return true;
      }
      nowhere = moment - 1;
      return false;
    });
    fitsNowhere(c, nowhere);
    return standing;
  }

  // ---- Classes of one node

  static bool isForOne(const Class& c) { return !c.request.on_node.empty(); }

  /// The one node that may take it, if it does. (When another one takes the name, both have changed.)
  std::optional<NodeIndex> namedIfItFits(Class& c) {
    const auto i = ledger.named(c.request.on_node);
    const std::uint64_t version = i ? ledger.at(*i).versionFor(c.request) : 0;
    if (version <= c.refused_at) {
      ++looks;
      return std::nullopt;
    }
    if (singleKeyOf(c, *i).fits) { return i; }
    c.refused_at = version;
    return std::nullopt;
  }

  // ---- Questions

  /// To answer for it.
  Class& asked(EquivalenceClass id) {
    Class& c = at(id);
    followVolumes(c);
    return c;
  }

  Standing look(EquivalenceClass id, std::uint64_t most) {
    Class& c = asked(id);
    if (isOverQuota(c.request)) { return Standing::Nowhere; }
    if (isForOne(c)) { return namedIfItFits(c) ? Standing::Fits : Standing::Nowhere; }
    changes.catchUp();
    if (!c.order) { return lookAtChanged(c, endOf(most)); }
    const Found found = bestInOrder(id, c, endOf(most));
    if (!found.done) { return Standing::Unknown; }
    return found.best ? Standing::Fits : Standing::Nowhere;
  }

  std::optional<Rejection> rejection(EquivalenceClass id, std::uint64_t most, RejectionBoard& so_far) {
    Class& c = asked(id);
    if (isForOne(c)) {
      looks += RejectionBoard::kLooksPerReason;
      return explainNamed(ledger, c.request);
    }
    changes.catchUp();
    const std::uint64_t end = endOf(most);
    const bool is_ordered = c.order && unfinished != id;
    if (is_ordered && !catchUp(c, end)) { return std::nullopt; }
    RejectionBoard& board = is_ordered ? c.order->board : so_far;
    const std::uint64_t before = board.looks();
    const bool done = board.catchUp(ledger, c.request, most);
    looks += board.looks() - before + ledger.size() / decider::kNumbersPerLook;
    if (!done) { return std::nullopt; }
    if (is_ordered) { c.order->refused = true; }
    return board.said(ledger, c.request);
  }

  Found bestOf(EquivalenceClass id, Class& c, std::uint64_t end) {
    if (isForOne(c)) { return {true, namedIfItFits(c)}; }
    changes.catchUp();
    if (c.order) { return bestInOrder(id, c, end); }
    if (!c.request.near && !hasWishes(c)) {
      return isFew(c) || isKnown(c) ? bestOfFew(c, end) : bestInOrder(id, c, end);
    }
    followNear(c);
    const bool is_nowhere = c.nowhere > 0 && changes.of(c.request).countSince(c.nowhere) == 0;
    return is_nowhere ? Found{true, std::nullopt} : bestInOrder(id, c, end);
  }

  /// And of equally good ones the one that it would like most.
  Found chosenOf(EquivalenceClass id, Class& c, std::uint64_t end) {
    Found found = bestOf(id, c, end);
    if (found.best && !isForOne(c) && hasWishes(c)) {
      found.best = decider::mostWished(c, *found.best, names.ranks(), looks);
    }
    return found;
  }

  bool prepare(EquivalenceClass id, std::uint64_t most) {
    Class& c = asked(id);
    if (isForOne(c) || isOverQuota(c.request)) { return true; }
    return chosenOf(id, c, endOf(most)).done;
  }

  std::optional<Placed> decide(EquivalenceClass id) {
    Class& c = asked(id);
    if (isOverQuota(c.request)) { return std::nullopt; }
    const auto best = chosenOf(id, c, kAnyNumber).best;
    if (!best) { return std::nullopt; }
    const NodeState& n = ledger.at(*best);
    Placed placed{n.node.name, {}, 0};
    if (!namesDevices(n, c.request)) { return placed; }
    if (isPlacedWhole(n, *c.request.devices)) {
      auto there = tryPlace(n, *c.request.devices, {}, &meter);
      if (!there) { return std::nullopt; }  // a selection that says something else now: its node changes then
      placed.ids = std::move(there->ids);
      placed.score = there->score;
    } else {
      const Choice choice = *offer(c, n);
      placed.ids = n.topology->ids(choice.set);
      placed.score = choice.score;
    }
    return placed;
  }

  static constexpr std::size_t kLogNodes = 12;  // a node's place in an order costs so much of a look at all

  const Ledger& ledger;
  const std::size_t most_orders;
  BonusOf bonus_of;
  NodeChanges changes;
  RecentChanges bonuses;  // nodes that have another one
  NameRanks names;
  ChoiceMemo memo;
  QuotaIndex quotas;
  std::unordered_map<EquivalenceClass, Class> classes;
  std::unordered_multimap<std::size_t, EquivalenceClass> by_hash;
  EquivalenceClass next = 0;                   // equivalent: an id says nothing, whatever the first one is
  std::list<EquivalenceClass> ordered;         // those with an order, the last used first
  std::optional<EquivalenceClass> unfinished;  // whose order is on the way, and not in `ordered`
  std::uint64_t looks = 0;
  Meter meter;  // of what looks at nodes took beside
};

Decider::Decider(const Ledger& ledger, std::size_t most_orders)
    : impl_{std::make_unique<Impl>(ledger, most_orders)} {}
Decider::~Decider() = default;

void Decider::setBonus(BonusOf bonus_of) {
  GS_CHECK(impl_->classes.empty(), "a bonus is given before the first request");
  impl_->bonus_of = std::move(bonus_of);
}

void Decider::bonusChanged(const model::NodeName& node) {
  if (const auto i = impl_->ledger.indexOf(node)) { impl_->bonuses.note(*i); }
}

EquivalenceClass Decider::classOf(const PodRequest& request) {
  const bool says_how_many =
      !request.devices || request.devices->count > 0 || request.devices->selection != nullptr;
  GS_CHECK(says_how_many, "a request for {} devices", request.devices->count);
  const std::size_t hash = hashOf(request);
  const auto [begin, end] = impl_->by_hash.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (impl_->at(it->second).request == request) { return it->second; }
  }
  const EquivalenceClass id = impl_->next++;
  Impl::Class c;
  c.request = request;
  c.parts = partsOf(request);
  if (NodeChanges::readsClosings(request)) { impl_->changes.watchClosings(); }
  if (request.volumes != nullptr) { c.volumes_moment = request.volumes->moment(); }
  if (request.quota) {
    c.allowed = request.quota->terms.models;
    impl_->quotas.add(id, *request.quota);
  }
  if (request.devices) { c.shape = impl_->memo.join(*request.devices); }
  impl_->classes.emplace(id, std::move(c));
  impl_->by_hash.emplace(hash, id);
  return id;
}

const PodRequest& Decider::request(EquivalenceClass id) const { return impl_->at(id).request; }

void Decider::retire(EquivalenceClass id) {
  const auto it = impl_->classes.find(id);
  if (it == impl_->classes.end()) { return; }
  const PodRequest& request = it->second.request;
  const auto [begin, end] = impl_->by_hash.equal_range(hashOf(request));
  impl_->by_hash.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; }));
  if (request.devices) { impl_->memo.leave(*request.devices); }
  if (request.quota) { impl_->quotas.remove(id, *request.quota); }
  if (impl_->unfinished == id) { impl_->dropUnfinished(); }
  if (it->second.order) { impl_->forgetOrder(it->second); }
  impl_->classes.erase(it);
}

std::size_t Decider::classes() const { return impl_->classes.size(); }

void Decider::retireAllBut(const std::function<bool(EquivalenceClass)>& wanted, std::size_t most) {
  std::vector<EquivalenceClass> unwanted;
  for (const auto& [id, c] : impl_->classes) {
    if (unwanted.size() == most) { break; }
    if (!wanted(id)) { unwanted.push_back(id); }
  }
  for (const EquivalenceClass id : unwanted) { retire(id); }
}

std::vector<EquivalenceClass> Decider::followQuotas(const QuotaIndex::RoomOf& room_of, bool all) {
  std::vector<EquivalenceClass> changed;
  impl_->quotas.follow(impl_->ledger, room_of, all, [&](EquivalenceClass id, const QuotaTerms& terms) {
    if (decider::bindTo(impl_->at(id), terms)) { changed.push_back(id); }
  });
  return changed;
}

void Decider::lookAnew(EquivalenceClass id) { decider::forgetFound(impl_->at(id)); }

std::uint64_t Decider::looks() const { return impl_->looked(); }
bool Decider::remembersRejection(EquivalenceClass id) const {
  const Impl::Class& c = impl_->at(id);
  return Impl::isForOne(c) || (c.order && c.order->refused);
}
Rejection Decider::rejection(EquivalenceClass id) {
  RejectionBoard once;
  return *impl_->rejection(id, kAnyNumber, once);
}
std::optional<Rejection> Decider::rejection(EquivalenceClass id, std::uint64_t most_looks,
                                            RejectionBoard& so_far) {
  return impl_->rejection(id, most_looks, so_far);
}
std::optional<Placed> Decider::decide(EquivalenceClass id) { return impl_->decide(id); }
bool Decider::prepare(EquivalenceClass id, std::uint64_t most_looks) {
  return impl_->prepare(id, most_looks);
}
Decider::Standing Decider::look(EquivalenceClass id, std::uint64_t most_looks) {
  return impl_->look(id, most_looks);
}

}  // namespace gs::sched
