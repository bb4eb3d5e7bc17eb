#include "sched/ledger/ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "sched/ledger/derive.h"

namespace gs::sched {
namespace {

constexpr std::size_t kLeastChangesKept = 1024;
// Whose word on the amount counts, first to last; positions are those of the bits of Source.
constexpr std::array<std::size_t, 5> kAuthority{1, 2, 0, 3, 4};

std::uint8_t bitsOf(Source s) { return static_cast<std::uint8_t>(s); }
std::size_t positionOf(Source s) { return static_cast<std::size_t>(std::countr_zero(bitsOf(s))); }

Amount amountOf(const Holder& h) {
  for (const std::size_t at : kAuthority) {
    if ((h.sources >> at & 1U) != 0) { return h.said[at]; }
  }
  return {};
}

/// Whether they differ at most in what no decision looks at.
bool sameForDecisions(const model::Node& a, const model::Node& b) {
  return a.unschedulable == b.unschedulable && a.ready == b.ready &&
         a.allocatable_pods == b.allocatable_pods && a.share_capacity == b.share_capacity &&
         a.allocatable == b.allocatable && a.taints == b.taints && a.labels == b.labels &&
         a.features == b.features;
}

bool sameForDecisions(const model::Device& a, const model::Device& b) {
  return a.id == b.id && a.health == b.health && a.partitioned == b.partitioned && a.id_moved == b.id_moved &&
         a.island == b.island && a.bandwidth_gbps == b.bandwidth_gbps && a.links == b.links;
}

auto deviceAt(std::vector<DeviceState>& devices, int id) {
  return std::lower_bound(devices.begin(), devices.end(), id,
                          [](const DeviceState& d, int wanted) { return d.facts.id < wanted; });
}

auto holderAt(std::vector<Holder>& holders, const model::Uid& uid) {
  return std::lower_bound(holders.begin(), holders.end(), uid,
                          [](const Holder& h, const model::Uid& wanted) { return h.uid < wanted; });
}

DeviceState unlistedDevice(int id) {
  DeviceState d;
  d.facts.id = id;
  return d;
}

/// The node's status lists these now, and no others. True: no decision would look at what that changes. Both
/// are in the order of ids, so one walk over both does, however many there are.
bool listDevices(std::vector<DeviceState>& devices, const std::vector<model::Device>& listed) {
  bool same = true;
  std::vector<DeviceState> fresh;
  auto at = devices.begin();
  const auto unlist_up_to = [&](auto until) {
    for (; at != until; ++at) {
      if (!at->listed) { continue; }
      same = false;
      at->listed = at->twice = false;
      at->facts = unlistedDevice(at->facts.id).facts;
    }
  };
  for (const auto& facts : listed) {
    unlist_up_to(std::find_if(at, devices.end(), [&](const auto& d) { return d.facts.id >= facts.id; }));
    const bool known = at != devices.end() && at->facts.id == facts.id;
    same = same && known && at->listed && sameForDecisions(at->facts, facts);
    DeviceState& d = known ? *at++ : fresh.emplace_back();
    d.listed = true;
    d.facts = facts;
  }
  unlist_up_to(devices.end());
  std::erase_if(devices, [](const DeviceState& d) { return !d.listed && d.holders.empty(); });
  const auto kept = static_cast<std::ptrdiff_t>(devices.size());
  devices.insert(devices.end(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  std::inplace_merge(devices.begin(), devices.begin() + kept, devices.end(),
                     [](const auto& a, const auto& b) { return a.facts.id < b.facts.id; });
  return same;
}

}  // namespace

// ---- Reservation

Reservation::Reservation(Reservation&& o) noexcept
    : ledger_{std::exchange(o.ledger_, nullptr)},
      node_{std::move(o.node_)},
      uid_{std::move(o.uid_)},
      ids_{std::move(o.ids_)} {}

Reservation& Reservation::operator=(Reservation&& o) noexcept {
  if (this != &o) {
    release();
    ledger_ = std::exchange(o.ledger_, nullptr);
    node_ = std::move(o.node_);
    uid_ = std::move(o.uid_);
    ids_ = std::move(o.ids_);
  }
  return *this;
}

void Reservation::release() {
  if (Ledger* ledger = std::exchange(ledger_, nullptr)) {
    // From the last: a node's devices are kept in one list.
    for (auto id = ids_.rbegin(); id != ids_.rend(); ++id) {
      ledger->release(node_, *id, uid_, Source::Reservation);
    }
    ledger->setInFlight(node_, uid_, Source::Reservation, {});
    ledger->unusePod(node_, uid_, Source::Reservation);
  }
}

// ---- Nodes and their indexes

const NodeState* Ledger::find(const model::NodeName& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : nodes_[it->second].get();
}

std::optional<Ledger::NodeIndex> Ledger::indexOf(const model::NodeName& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? std::nullopt : std::optional{it->second};
}

NodeState* Ledger::known(const model::NodeName& name, NodeIndex& i) {
  const auto it = index_.find(name);
  if (it == index_.end()) { return nullptr; }
  i = it->second;
  return nodes_[i].get();
}

Ledger::NodeIndex Ledger::indexFor(const model::NodeName& name) {
  const auto [it, fresh] = index_.try_emplace(name, static_cast<NodeIndex>(nodes_.size()));
  if (!fresh) { return it->second; }
  if (vacant_.empty()) {
    nodes_.push_back(std::make_unique<NodeState>());
    uses_.emplace_back();
    draining_.emplace_back();
  } else {
    it->second = vacant_.back();
    vacant_.pop_back();
  }
  const NodeIndex i = it->second;
  nodes_[i]->index = i;
  nodes_[i]->node.name = name;
  factsChanged(i);
  return i;
}

/// Nothing is known of it any more: the index is free for another node.
void Ledger::forgetIfNothing(NodeIndex i) {
  NodeState& n = *nodes_[i];
  if (n.exists || n.has_status || n.agent_stale || !n.devices.empty() || !uses_[i].empty() ||
      !draining_[i].empty() || !n.in_flight.empty()) {
    return;
  }
  index_.erase(n.node.name);
  n = NodeState{};
  vacant_.push_back(i);
  factsChanged(i);
}

std::size_t Ledger::mostChanges() const { return std::max(kLeastChangesKept, 4 * nodes_.size()); }

void Ledger::changed(NodeIndex i) {
  deriveFree(*nodes_[i]);
  nodes_[i]->version = ++version_;
  changes_.append(i, mostChanges());
}

void Ledger::factsChanged(NodeIndex i) {
  deriveFacts(*nodes_[i], doors_);
  changed(i);
  nodes_[i]->facts_version = version_;
}

void Ledger::upsertNode(const model::Node& node) {
  const NodeIndex i = indexFor(node.name);
  NodeState& n = *nodes_[i];
  const bool same = n.exists && sameForDecisions(n.node, node);
  if (!n.exists) {
    ++existing_;
    comings_.append(i, mostChanges());
  }
  n.exists = true;
  if (same) {
    n.node = node;
    return;
  }
  chargeAll(i, modelOf(n), -1);
  leaveName(i);
  n.node = node;
  takeName(i);
  chargeAll(i, modelOf(n), +1);
  factsChanged(i);
}

void Ledger::removeNode(const model::NodeName& name) {
  NodeIndex i = 0;
  NodeState* n = known(name, i);
  if (n == nullptr || !n->exists) { return; }
  --existing_;
  comings_.append(i, mostChanges());
  chargeAll(i, modelOf(*n), -1);
  leaveName(i);
  n->exists = false;
  n->awaits_status = false;
  n->node = model::Node{};
  n->node.name = name;
  chargeAll(i, "", +1);
  factsChanged(i);
  forgetIfNothing(i);
}

void Ledger::upsertStatus(const model::GpuNodeStatus& status) {
  const NodeIndex i = indexFor(status.node);
  NodeState& n = *nodes_[i];
  const bool enforces =
      status.enforcement == model::Enforcement::Devices || status.enforcement == model::Enforcement::Dra;
  bool same = n.has_status && n.enforces == enforces && n.dra_resource == status.dra_resource;
  n.has_status = true;
  n.enforces = enforces;
  n.dra_resource = status.dra_resource;
  same = listDevices(n.devices, status.devices) && same;
  const std::int64_t anonymous = n.anonymous;
  deriveAnonymous(n);  // of users, too
  if (same && n.anonymous == anonymous) { return; }
  deriveDevices(n, &topologies_);
  factsChanged(i);
}

void Ledger::publishedAnew(const model::NodeName& name) {
  NodeIndex i = 0;
  const NodeState* n = known(name, i);
  if (n != nullptr && !n->dra_resource.empty()) { factsChanged(i); }
}

void Ledger::volumesChanged(NodeIndex i) { factsChanged(i); }

void Ledger::removeStatus(const model::NodeName& name) {
  NodeIndex i = 0;
  NodeState* n = known(name, i);
  if (n == nullptr || !n->has_status) { return; }
  model::GpuNodeStatus none;
  none.node = name;
  upsertStatus(none);
  n->has_status = false;
  factsChanged(i);
  forgetIfNothing(i);
}

void Ledger::setAgentStale(const model::NodeName& name, bool stale) {
  NodeIndex i = 0;
  if (known(name, i) == nullptr && !stale) { return; }
  i = indexFor(name);
  if (nodes_[i]->agent_stale == stale) { return; }
  nodes_[i]->agent_stale = stale;
  deriveDevices(*nodes_[i], &topologies_);
  factsChanged(i);
  forgetIfNothing(i);
}

void Ledger::setAwaitsStatus(const model::NodeName& name, bool awaits) {
  NodeIndex i = 0;
  NodeState* n = known(name, i);
  if (n == nullptr || !n->exists || n->awaits_status == awaits) { return; }
  n->awaits_status = awaits;
  if (!n->has_status) { factsChanged(i); }
}

void Ledger::setAwaitsLook(const model::NodeName& name, bool awaits) {
  NodeIndex i = 0;
  NodeState* n = known(name, i);
  if (n == nullptr || n->awaits_look == awaits) { return; }
  n->awaits_look = awaits;
  changed(i);
}

void Ledger::setTwice(const model::NodeName& name, const std::set<int>& ids) {
  NodeIndex i = 0;
  NodeState* n = known(name, i);
  if (n == nullptr) { return; }
  bool differs = false;
  for (auto& d : n->devices) {
    const bool twice = d.listed && ids.contains(d.facts.id);
    differs = std::exchange(d.twice, twice) != twice || differs;
  }
  if (!differs) { return; }
  deriveAnonymous(*n);  // of what may be given
  deriveDevices(*n, &topologies_);
  factsChanged(i);
}

// ---- Holdings

/// What its holders name of the counted devices is added, or (`sign` -1) taken off: before and after they
/// change.
void Ledger::countNamed(NodeState& n, const DeviceState& d, int sign) {
  if (n.counted.empty()) { return; }
  for (const auto& holder : d.holders) {
    const auto it = countedAt(n.counted, holder.uid);
    if (it == n.counted.end() || it->uid != holder.uid || !isNamedBy(d, holder)) { continue; }
    n.anonymous -= it->anonymous();
    it->named += sign;
    n.anonymous += it->anonymous();
  }
}

/// The pod has so many devices there by their number, as the first of these says that speaks of it: BoundPod,
/// Reservation; and no fewer than are Draining.
void Ledger::recount(NodeIndex i, const model::Uid& uid) {
  const Uses& uses = uses_[i];
  auto use = uses.find(UseKeyRef{uid, Source::BoundPod});
  if (use == uses.end()) { use = uses.find(UseKeyRef{uid, Source::Reservation}); }
  const auto draining = draining_[i].find(uid);
  const std::int64_t devices = std::max(use == uses.end() ? 0 : use->second.counted,
                                        draining == draining_[i].end() ? 0 : draining->second);
  NodeState& n = *nodes_[i];
  auto it = countedAt(n.counted, uid);
  const bool there = it != n.counted.end() && it->uid == uid;
  if (there && devices > 0) {
    n.anonymous -= it->anonymous();
    it->devices = devices;
    n.anonymous += it->anonymous();
  } else if (there) {
    n.anonymous -= it->anonymous();
    n.counted.erase(it);
  } else if (devices > 0) {
    Counted fresh{uid, devices, 0};
    for (const auto& d : n.devices) {
      const auto h =
          std::lower_bound(d.holders.begin(), d.holders.end(), uid,
                           [](const Holder& a, const model::Uid& wanted) { return a.uid < wanted; });
      if (h != d.holders.end() && h->uid == uid && isNamedBy(d, *h)) { ++fresh.named; }
    }
    n.anonymous += fresh.anonymous();
    n.counted.insert(it, std::move(fresh));
  }
}

/// One device more has holders, or (`sign` -1) one less.
void Ledger::countHeld(NodeState& n, const DeviceState& d, int sign) {
  n.with_holders += sign;
  if (d.givable()) { n.untouched -= sign; }
}

/// Holders of one device came, went or changed their amounts.
void Ledger::holdersChanged(NodeIndex i, DeviceState& d) {
  NodeState& n = *nodes_[i];
  if (d.bit >= 0) { n.held = d.holders.empty() ? n.held & ~bit(d.bit) : n.held | bit(d.bit); }
  changed(i);
}

void Ledger::hold(const model::NodeName& node, int id, const model::Uid& uid, Source source,
                  const Amount& amount) {
  const NodeIndex i = indexFor(node);
  auto device = deviceAt(nodes_[i]->devices, id);
  if (device == nodes_[i]->devices.end() || device->facts.id != id) {
    device = nodes_[i]->devices.insert(device, unlistedDevice(id));
  }
  auto holder = holderAt(device->holders, uid);
  const bool fresh = holder == device->holders.end() || holder->uid != uid;
  const DeviceUse use_before = device->use();
  NodeState& n = *nodes_[i];
  const std::int64_t anonymous = n.anonymous;
  countNamed(n, *device, -1);
  if (fresh) {
    if (device->holders.empty()) { countHeld(n, *device, +1); }
    holder = device->holders.insert(holder, Holder{uid, 0, {}, {}});
  }
  const bool was_sure = holder->isSure();
  holder->sources |= bitsOf(source);
  holder->said[positionOf(source)] = amount;
  const Amount counted = amountOf(*holder);
  countNamed(n, *device, +1);
  const bool sure_changed = counted.shared && holder->isSure() != was_sure;  // isShareable() asks
  const bool matters = fresh || counted != holder->amount || sure_changed || device->use() != use_before ||
                       n.anonymous != anonymous;
  holder->amount = counted;
  if (matters) { holdersChanged(i, *device); }
}

void Ledger::release(const model::NodeName& node, int id, const model::Uid& uid, Source source) {
  NodeIndex i = 0;
  NodeState* n = known(node, i);
  if (n == nullptr) { return; }
  auto device = deviceAt(n->devices, id);
  if (device == n->devices.end() || device->facts.id != id) { return; }
  auto holder = holderAt(device->holders, uid);
  if (holder == device->holders.end() || holder->uid != uid || (holder->sources & bitsOf(source)) == 0) {
    return;
  }
  const DeviceUse use_before = device->use();
  const std::int64_t anonymous = n->anonymous;
  countNamed(*n, *device, -1);
  const bool was_sure = holder->isSure();
  holder->sources &= static_cast<std::uint8_t>(~bitsOf(source));
  holder->said[positionOf(source)] = {};
  const Amount counted = amountOf(*holder);
  const bool sure_changed = counted.shared && holder->isSure() != was_sure;
  bool matters = holder->sources == 0 || counted != holder->amount || sure_changed;
  holder->amount = counted;
  if (holder->sources == 0) {
    device->holders.erase(holder);
    if (device->holders.empty()) { countHeld(*n, *device, -1); }
  }
  countNamed(*n, *device, +1);
  matters = matters || device->use() != use_before || n->anonymous != anonymous;
  if (matters) { holdersChanged(i, *device); }
  if (device->holders.empty() && !device->listed) {
    n->devices.erase(device);
    forgetIfNothing(i);
  }
}

// ---- Reservations

/// CHECKs that there is the room that the decision saw: nothing came in between, so less would be a bug.
void Ledger::checkRoom(const NodeState& n, const model::Uid& uid, const PodRequest& r,
                       const std::vector<int>& ids) const {
  const bool as_given = !n.has_status && r.devices && !r.devices->exact.empty();
  for (const int id : ids) {
    const DeviceState* d = n.device(id);
    if (d == nullptr && as_given) { continue; }
    GS_CHECK(d != nullptr && (d->listed || as_given), "{}: device {} is not there", n.node.name.text, id);
    const bool shared = r.devices && r.devices->shared;
    std::size_t others = 0;
    for (const auto& h : d->holders) {
      others += h.uid == uid ? 0 : 1;
      GS_CHECK(h.uid == uid || (shared && h.amount.shared), "{}: device {} is held by {}", n.node.name.text,
               id, h.uid.text);
    }
    GS_CHECK(others < model::kMaxSharers, "{}: device {} has {} holders", n.node.name.text, id, others);
  }
  const model::Resources& have = n.node.allocatable;
  const model::Resources& want = r.resources;
  const auto enough = [](std::int64_t asked, std::int64_t there, std::int64_t used) {
    return asked <= 0 || asked <= there - used;
  };
  bool fits = n.used_pods < n.node.allocatable_pods &&
              enough(want.cpu_milli, have.cpu_milli, n.used.cpu_milli) &&
              enough(want.memory, have.memory, n.used.memory) &&
              enough(want.ephemeral, have.ephemeral, n.used.ephemeral);
  for (const auto& [name, asked] : want.extended) {
    fits = fits && (name == n.dra_resource || enough(asked, have.get(name), n.used.get(name)));
  }
  GS_CHECK(fits, "{}: no room for the resources of {}", n.node.name.text, uid.text);
  for (const auto& port : r.host_ports) {
    GS_CHECK(!n.takesPort(port), "{}: port {} that {} asks for is taken", n.node.name.text, port.port,
             uid.text);
  }
}

Reservation Ledger::setAside(const model::NodeName& node, const model::Uid& uid, const PodRequest& request,
                             const std::vector<int>& ids, const GpuCharge& charge) {
  const NodeIndex i = indexFor(node);
  GS_CHECK(!uses_[i].contains(UseKeyRef{uid, Source::Reservation}), "{}: {} is reserved there already",
           node.text, uid.text);
  for (const int id : ids) {
    hold(node, id, uid, Source::Reservation, Amount{request.devices && request.devices->shared, 0, 0});
  }
  const std::int64_t counted = ids.empty() ? request.resources.get(model::kNvidiaGpu) : 0;
  usePod(node, uid, Source::Reservation, request.resources, counted, charge, request.host_ports);
  Reservation r;
  r.ledger_ = this;
  r.node_ = node;
  r.uid_ = uid;
  r.ids_ = ids;
  return r;
}

Reservation Ledger::reserve(const model::NodeName& node, const model::Uid& uid, const PodRequest& request,
                            const std::vector<int>& ids, const GpuCharge& charge) {
  const NodeState* n = find(node);
  GS_CHECK(n != nullptr && n->exists, "node {} is not there", node.text);
  checkRoom(*n, uid, request, ids);
  return setAside(node, uid, request, ids, charge);
}

Reservation Ledger::adopt(const model::NodeName& node, const model::Uid& uid, const PodRequest& request,
                          const std::vector<int>& ids, const GpuCharge& charge) {
  return setAside(node, uid, request, ids, charge);
}

}  // namespace gs::sched
