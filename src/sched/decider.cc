#include "sched/decider.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "sched/choice_memo.h"
#include "sched/node_ranking.h"

namespace gs::sched {
namespace {

using NodeIndex = Ledger::NodeIndex;

std::size_t mix(std::size_t h, std::size_t v) { return (h ^ v) * 0x100000001b3ULL; }
std::size_t mix(std::size_t h, const std::string& v) { return mix(h, std::hash<std::string>{}(v)); }

std::size_t hashOf(const PodRequest& r) {
  std::size_t h = mix(static_cast<std::size_t>(r.door), static_cast<std::size_t>(r.resources.cpu_milli));
  h = mix(h, static_cast<std::size_t>(r.resources.memory));
  for (const auto& [name, amount] : r.resources.extended) {
    h = mix(mix(h, name), static_cast<std::size_t>(amount));
  }
  for (const auto& [key, value] : r.node_selector) { h = mix(mix(h, key), value); }
  for (const auto& [key, value] : r.match_labels) { h = mix(mix(h, key), value); }
  for (const auto& t : r.tolerations) { h = mix(mix(h, t.key), t.value); }
  if (r.quota) { h = mix(h, r.quota->ns); }
  for (const auto& t : r.kept_away_by) { h = mix(h, static_cast<std::size_t>(t)); }
  return r.devices ? mix(mix(h, static_cast<std::size_t>(r.devices->count)),
                         static_cast<std::size_t>(r.devices->policy))
                   : h;
}

/// Places of nodes by name, shared by all orders. Their relative order only changes when an index is given to
/// another node.
class NameRanks {
 public:
  [[nodiscard]] const NodeRanking::Ranks& ranks() const { return ranks_; }
  /// Grows whenever the ranks changed.
  [[nodiscard]] std::size_t epoch() const { return position_; }

  void catchUp(const Ledger& ledger) {
    const auto& namings = ledger.namings();
    if (position_ == namings.size()) { return; }
    const std::vector<NodeIndex> renamed{namings.begin() + static_cast<std::ptrdiff_t>(position_),
                                         namings.end()};
    position_ = namings.size();
    ranks_.resize(ledger.size());
    std::vector<bool> moves(ledger.size(), false);
    for (const NodeIndex i : renamed) { moves[i] = true; }
    std::erase_if(by_name_, [&](NodeIndex i) { return moves[i]; });
    const auto before = [&](NodeIndex a, NodeIndex b) {
      return ledger.at(a).node.name < ledger.at(b).node.name;
    };
    const auto kept = static_cast<std::ptrdiff_t>(by_name_.size());
    for (NodeIndex i = 0; i < moves.size(); ++i) {
      if (moves[i] && !ledger.at(i).node.name.empty()) { by_name_.push_back(i); }
    }
    std::sort(by_name_.begin() + kept, by_name_.end(), before);
    std::inplace_merge(by_name_.begin(), by_name_.begin() + kept, by_name_.end(), before);
    for (std::uint32_t rank = 0; rank < by_name_.size(); ++rank) { ranks_[by_name_[rank]] = rank; }
  }

 private:
  std::vector<NodeIndex> by_name_;
  NodeRanking::Ranks ranks_;
  std::size_t position_ = 0;
};

/// How all nodes stand for one class.
struct Order {
  NodeRanking ranking;
  std::vector<std::uint64_t> seen;     // NodeState::version that the key is from; 0: never
  std::vector<std::uint8_t> facts_ok;  // refuseFacts() had nothing to say at that version
  std::uint64_t position = 0;          // in the ledger's change log
  std::size_t epoch = 0;               // of the ranks
};

struct Class {
  PodRequest request;
  ChoiceMemo::ShapeId shape = 0;
  std::unique_ptr<Order> order;
  std::unique_ptr<RefusalBoard> board;  // once it was refused; goes with the order
  std::uint64_t used = 0;
};

}  // namespace

struct Decider::Impl {
  explicit Impl(const Ledger& l) : ledger{l} {}

  Class& at(ClassId id) {
    const auto it = classes.find(id);
    GS_CHECK(it != classes.end(), "no class {}", id);
    return it->second;
  }

  void dropOldestOrder() {
    Class* oldest = nullptr;
    for (auto& [id, c] : classes) {
      if (c.order && (oldest == nullptr || c.used < oldest->used)) { oldest = &c; }
    }
    forgetOrder(*oldest);
  }

  void forgetOrder(Class& c) {
    orders -= c.order ? 1 : 0;
    c.order.reset();
    c.board.reset();
  }

  [[nodiscard]] std::size_t mostOrders() const {
    return std::clamp<std::size_t>(kMaxOrderedNodes / std::max<std::size_t>(1, ledger.size()), 8, kMaxOrders);
  }

  /// The choice on that node, by the rules of fitOn().
  std::optional<Choice> offer(const Class& c, const NodeState& n) {
    const PodRequest& r = c.request;
    if (refuseUse(n, r) || refuseCounted(n, r)) { return std::nullopt; }
    if (!takesDevices(n, r)) { return r.door == Door::Claim ? std::nullopt : std::optional{Choice{}}; }
    if (r.devices->shared || n.isWide()) {
      const auto placed = tryPlace(n, *r.devices);
      return placed ? std::optional{Choice{0, placed->score}} : std::nullopt;
    }
    return offerWhole(n, n.held, r.devices->count, [&](const Topology& t, Mask free) {
      return memo.choose(c.shape, *r.devices, t, free);
    });
  }

  NodeRanking::Key keyOf(Class& c, NodeIndex i) {
    const NodeState& n = ledger.at(i);
    Order& order = *c.order;
    if (n.facts_version > order.seen[i]) { order.facts_ok[i] = refuseFacts(n, c.request) ? 0 : 1; }
    order.seen[i] = n.version;
    if (order.facts_ok[i] == 0) { return {}; }
    const auto choice = offer(c, n);
    const auto free = static_cast<std::int32_t>(
        std::min<std::int64_t>(n.free_devices, std::numeric_limits<std::int32_t>::max()));
    return choice ? NodeRanking::Key{choice->score, free, true} : NodeRanking::Key{};
  }

  void scanAll(Class& c) {
    Order& order = *c.order;
    for (NodeIndex i = 0; i < ledger.size(); ++i) {
      if (order.seen[i] != ledger.at(i).version) { order.ranking.prepare(i, keyOf(c, i)); }
    }
    order.ranking.rebuild(names.ranks());
  }

  void readChanges(Class& c) {
    Order& order = *c.order;
    for (std::uint64_t p = order.position; p < ledger.changesEnd(); ++p) {
      const NodeIndex i = ledger.changedAt(p);
      if (order.seen[i] != ledger.at(i).version) { order.ranking.set(i, keyOf(c, i), names.ranks()); }
    }
  }

  /// Brings a class up to the ledger's present state.
  const Order& catchUp(Class& c) {
    c.used = ++uses;
    names.catchUp(ledger);
    if (!c.order) {
      if (orders >= mostOrders()) { dropOldestOrder(); }
      c.order = std::make_unique<Order>();
      ++orders;
    }
    Order& order = *c.order;
    const bool moved = order.epoch != names.epoch() || order.ranking.size() == 0;
    if (moved) {
      order.ranking.resize(ledger.size());
      order.seen.resize(ledger.size());
      order.facts_ok.resize(ledger.size());
      order.epoch = names.epoch();
    }
    const bool behind =
        order.position < ledger.changesBegin() || ledger.changesEnd() - order.position > ledger.size();
    if (moved || behind) {
      scanAll(c);
    } else {
      readChanges(c);
    }
    order.position = ledger.changesEnd();
    return order;
  }

  Refusal refusal(Class& c) {
    (void)catchUp(c);  // counts the board among the orders that are kept
    if (!c.board) { c.board = std::make_unique<RefusalBoard>(); }
    return c.board->explain(ledger, c.request);
  }

  std::optional<Placed> decide(Class& c) {
    const auto best = catchUp(c).ranking.best();
    if (!best) { return std::nullopt; }
    const NodeState& n = ledger.at(*best);
    Placed placed{n.node.name, {}, c.order->ranking.key(*best).score};
    if (!takesDevices(n, c.request)) { return placed; }
    if (c.request.devices->shared || n.isWide()) {
      placed.ids = tryPlace(n, *c.request.devices)->ids;
    } else {
      placed.ids = n.topology->ids(offer(c, n)->set);
    }
    return placed;
  }

  const Ledger& ledger;
  NameRanks names;
  ChoiceMemo memo;
  std::unordered_map<ClassId, Class> classes;
  std::unordered_multimap<std::size_t, ClassId> by_hash;
  ClassId next = 0;
  std::size_t orders = 0;
  std::uint64_t uses = 0;
};

Decider::Decider(const Ledger& ledger) : impl_{std::make_unique<Impl>(ledger)} {}
Decider::~Decider() = default;

ClassId Decider::classOf(const PodRequest& request) {
  GS_CHECK(!request.devices || request.devices->count > 0, "a request for {} devices",
           request.devices->count);
  const std::size_t hash = hashOf(request);
  const auto [begin, end] = impl_->by_hash.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (impl_->at(it->second).request == request) { return it->second; }
  }
  const ClassId id = impl_->next++;
  Class c{request, 0, nullptr, nullptr, 0};
  if (request.devices) { c.shape = impl_->memo.join(*request.devices); }
  impl_->classes.emplace(id, std::move(c));
  impl_->by_hash.emplace(hash, id);
  return id;
}

const PodRequest& Decider::request(ClassId id) const { return impl_->at(id).request; }

void Decider::retire(ClassId id) {
  const auto it = impl_->classes.find(id);
  if (it == impl_->classes.end()) { return; }
  const PodRequest& request = it->second.request;
  const auto [begin, end] = impl_->by_hash.equal_range(hashOf(request));
  impl_->by_hash.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == id; }));
  if (request.devices) { impl_->memo.leave(*request.devices); }
  impl_->forgetOrder(it->second);
  impl_->classes.erase(it);
}

std::size_t Decider::classes() const { return impl_->classes.size(); }

void Decider::retireAllBut(const std::function<bool(ClassId)>& wanted) {
  std::vector<ClassId> unwanted;
  for (const auto& [id, c] : impl_->classes) {
    if (!wanted(id)) { unwanted.push_back(id); }
  }
  for (const ClassId id : unwanted) { retire(id); }
}

bool Decider::followQuotas(const BoundOf& bound) {
  bool changed = false;
  for (auto& [id, c] : impl_->classes) {
    if (!c.request.quota) { continue; }
    const auto now = bound(c.request.quota->ns, c.request.quota->milli);
    if (!now || now->terms == c.request.quota->terms) {
      continue;
    }  // without a quota: its pods get another class
    c.request.quota->terms = now->terms;
    impl_->forgetOrder(c);
    changed = true;
  }
  return changed;
}

Refusal Decider::refusal(ClassId id) { return impl_->refusal(impl_->at(id)); }
std::optional<Placed> Decider::decide(ClassId id) { return impl_->decide(impl_->at(id)); }
bool Decider::fits(ClassId id) { return impl_->catchUp(impl_->at(id)).ranking.best().has_value(); }

}  // namespace gs::sched
