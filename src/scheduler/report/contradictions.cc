#include "scheduler/report/contradictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/mutant.h"
#include "engine/held_devices.h"
#include "kapi/kinds.h"

namespace gs::scheduler {
namespace {

constexpr const char* kInUseByOther = "GpuInUseByOther";
constexpr const char* kHeldByOther = "GpuHeldByOther";
constexpr const char* kUuidTwice = "GpuUuidTwice";

}  // namespace

const char* Contradictions::nameOf(Kind kind) {
  switch (kind) {
    case Kind::InUseByOther: return "in-use-by-other";
    case Kind::AllocatedTwice: return "allocated-twice";
    case Kind::UuidTwiceInNode: return "uuid-twice-in-node";
    case Kind::UuidOnTwoNodes: return "uuid-on-two-nodes";
  }
  return "?";
}

void Contradictions::warn(const model::Pod& pod, const char* reason, std::string note) {
  c_.events.send({kapi::kPod, pod.key, pod.uid, pod.revision, true, reason, "Watching", std::move(note)},
                 c_.now, c_.out);
}

void Contradictions::warn(const model::NodeName& name, const char* reason, std::string note) {
  const sched::NodeState* state = c_.engine.ledger().find(name);
  if (state == nullptr || !state->exists) { return; }
  const model::Node& node = state->node;
  c_.events.send(
      {kapi::kNode, {"", node.name.text}, node.uid, node.revision, true, reason, "Watching", std::move(note)},
      c_.now, c_.out);
}

std::string Contradictions::namesOf(const Pods& pods) const {
  std::vector<std::string> names;
  for (const auto& uid : pods) {
    if (names.size() == kNamed) {
      names.push_back(fmt::format("{} more", pods.size() - kNamed));
      break;
    }
    const model::Pod* pod = c_.cache().pod(uid);
    names.push_back(pod == nullptr ? uid.text : pod->key.text());
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

// ---- inUseBy against lease

/// nullptr: it does not run there, as far as is known.
const model::Pod* Contradictions::runningOn(const model::NodeName& node, const model::Uid& uid) const {
  const model::Pod* pod = c_.cache().pod(uid);
  return pod == nullptr || pod->finished() || pod->node != node ? nullptr : pod;
}

/// The devices of its leases there: those of their UUIDs, whatever ids the leases say; else of their ids. One
/// that has very many is asked about for each: they are read once.
const std::set<int>& Contradictions::leasedTo(const model::Uid& uid, const model::NodeName& node,
                                              const engine::DeviceIndex& devices, Leased& known) const {
  const auto [at, fresh] = known.try_emplace({uid, node});
  if (!fresh) { return at->second; }
  for (const auto& key : c_.cache().leasesOf(uid)) {
    const model::Lease& lease = *c_.cache().lease(key);
    if (lease.node != node) { continue; }
    if (const auto now = devices.idNow(lease.uuid, lease.gpu)) {
      at->second.insert(*now);
    } else if (!engine::isAnother(&devices, lease.gpu, lease.uuid)) {
      at->second.insert(lease.gpu);
    }
  }
  return at->second;
}

void Contradictions::see(const model::Pod& pod) {
  if (GS_MUTANT(HidesContradictions)) { return; }
  Leased leased;
  for (const int id : c_.engine.heldBy(pod)) { check({pod.node, id}, leased); }
  checkThoseOf(pod.uid, leased);
  if (c_.ours(pod)) { checkClaims(pod); }
}

void Contradictions::checkClaims(const model::Pod& pod) {
  std::map<Device, model::ObjectKey> now;
  const engine::DeviceIndex* devices = c_.cache().devices(pod.node);
  for (const int id : devices == nullptr ? std::vector<int>{} : c_.engine.heldBy(pod)) {
    const model::Device* facts = devices->device(id);
    if (facts == nullptr || facts->dra.device.empty()) { continue; }
    const model::ResourceClaim* own = nullptr;
    const model::ResourceClaim* other = nullptr;
    for (const auto* claim : c_.engine.allocatedClaims().holding(facts->dra)) {
      const auto& users = claim->reserved_for;
      const bool is_its = std::find(users.begin(), users.end(), pod.uid) != users.end();
      (is_its ? own : other) = claim;
    }
    if (own != nullptr && other != nullptr) { now.emplace(Device{pod.node, id}, other->key); }
  }
  const auto known = allocated_twice_.find(pod.uid);
  for (const auto& [device, other] : now) {
    const bool is_told = known != allocated_twice_.end() && known->second.contains(device);
    if (is_told) { continue; }
    warn(pod, kHeldByOther,
         fmt::format(
             "GPU {} of node {}, which this pod has, was allocated to ResourceClaim {} by somebody else "
             "after it: the driver may refuse to prepare it there, or both use it; delete one of them, "
             "and leave the GPUs of a node to one scheduler",
             device.second, device.first.text, other.text()));
  }
  if (now.empty()) {
    allocated_twice_.erase(pod.uid);
  } else {
    allocated_twice_[pod.uid] = std::move(now);
  }
}

void Contradictions::checkThoseOf(const model::Uid& uid, Leased& leased) {
  const auto known = of_pod_.find(uid);
  if (known == of_pod_.end()) { return; }
  for (const Device& device : std::set{known->second}) { check(device, leased); }
}

void Contradictions::check(const Device& device, Leased& leased) {
  const engine::DeviceIndex* devices = c_.cache().devices(device.first);
  const model::Device* facts = devices == nullptr ? nullptr : devices->device(device.second);
  const sched::NodeState* node = c_.engine.ledger().find(device.first);
  const sched::DeviceState* state = node == nullptr ? nullptr : node->device(device.second);
  if (facts == nullptr || state == nullptr || facts->in_use_by.empty()) { return over(device); }
  DoublyUsed found;
  for (const auto& holder : state->holders) {
    const bool may = (holder.sources & static_cast<unsigned>(sched::Source::Lease)) != 0;
    if (!may || runningOn(device.first, holder.uid) == nullptr) { continue; }
    const auto& its = leasedTo(holder.uid, device.first, *devices, leased);
    if (its.contains(device.second)) { found.leased.insert(holder.uid); }
  }
  if (found.leased.empty()) { return over(device); }
  for (const auto& uid : facts->in_use_by) {
    if (runningOn(device.first, uid) != nullptr && !found.leased.contains(uid)) { found.others.insert(uid); }
  }
  if (found.others.empty()) { return over(device); }
  DoublyUsed& known = doubly_used_[device];
  known.leased = std::move(found.leased);
  known.others = std::move(found.others);
  tell(device, known);
}

void Contradictions::tell(const Device& device, DoublyUsed& now) {
  const auto text = fmt::format("GPU {} of node {} has its lease for pod {}, and containers of pod {} use it",
                                device.second, device.first.text, namesOf(now.leased), namesOf(now.others));
  for (const Pods* pods : {&now.leased, &now.others}) {
    for (const auto& uid : *pods) {
      of_pod_[uid].insert(device);
      if (!now.told.insert(uid).second) { continue; }
      warn(*c_.cache().pod(uid), kInUseByOther,
           text +
               ": delete one of them; give pods with nvidia.com/gpu limits and pods with a claim nodes of "
               "their own while no agent enforces devices there");
    }
  }
  if (std::exchange(now.node_told, true)) { return; }
  warn(device.first, kInUseByOther,
       text +
           ": both may run out of its memory; delete one of them, and keep pods that the device plugin "
           "serves apart from pods with a claim");
}

void Contradictions::over(const Device& device) {
  const auto it = doubly_used_.find(device);
  if (it == doubly_used_.end()) { return; }
  for (const auto& uid : it->second.told) {
    const auto of = of_pod_.find(uid);
    if (of == of_pod_.end()) { continue; }
    of->second.erase(device);
    if (of->second.empty()) { of_pod_.erase(of); }
  }
  doubly_used_.erase(it);
}

void Contradictions::podEnded(const model::Uid& uid) {
  allocated_twice_.erase(uid);
  const auto known = of_pod_.find(uid);
  if (known == of_pod_.end()) { return; }
  Leased leased;
  for (const Device& device : std::set{known->second}) {
    check(device, leased);
    if (const auto it = doubly_used_.find(device); it != doubly_used_.end()) { it->second.told.erase(uid); }
  }
  of_pod_.erase(uid);
}

// ---- UUIDs that stand twice

void Contradictions::pump() {
  auto changed = c_.engine.uuids().takeChanged();
  if (std::exchange(is_fresh_, false)) {
    for (const auto& [uuid, places] : c_.engine.uuids().twice()) { changed.insert(uuid); }
  }
  to_tell_.merge(changed);
  for (int i = 0; i < kPerTurn && !to_tell_.empty(); ++i) {
    tellUuid(to_tell_.extract(to_tell_.begin()).value());
  }
}

void Contradictions::tellUuid(const std::string& uuid) {
  const auto twice = c_.engine.uuids().twice().find(uuid);
  if (twice == c_.engine.uuids().twice().end()) {
    if (const auto known = uuids_.extract(uuid)) {
      for (const auto& name : known.mapped().nodes_told) {
        if (--said_to_node_[name] == 0) { said_to_node_.erase(name); }
      }
    }
    return;
  }
  Twice& known = uuids_[uuid];
  const engine::Uuids::Places& places = twice->second;
  known.first = *places.begin();
  known.last = *places.rbegin();
  std::vector<std::string> names;
  for (const auto& [node, id] : places) {
    if (names.size() == kNamed) {
      names.push_back(fmt::format("{} more", places.size() - kNamed));
      break;
    }
    names.push_back(fmt::format("{}:{}", node.text, id));
  }
  const auto text =
      fmt::format("UUID {} stands at GPUs {}, which may be one: none of them is given to new pods", uuid,
                  fmt::join(names, " and "));
  int looks = 0;
  for (const auto& [name, id] : places) {
    if (++looks > kPerTurn) { break; }
    if (!known.nodes_told.contains(name) && said_to_node_[name] < kOfNode) {
      known.nodes_told.insert(name);
      ++said_to_node_[name];
      warn(name, kUuidTwice,
           text + "; delete the Node or the GpuNodeStatus that is wrong, or restart the agent of that node");
    }
    const sched::NodeState* node = c_.engine.ledger().find(name);
    const sched::DeviceState* device = node == nullptr ? nullptr : node->device(id);
    if (device == nullptr) { continue; }
    for (const auto& holder : device->holders) {
      const model::Pod* pod = runningOn(name, holder.uid);
      if (pod == nullptr || !known.told.insert(holder.uid).second) { continue; }
      warn(*pod, kUuidTwice, text + ", and this pod has one; another pod may have the same GPU");
    }
  }
}

void Contradictions::reset() {
  doubly_used_.clear();
  allocated_twice_.clear();
  of_pod_.clear();
  uuids_.clear();
  said_to_node_.clear();
  to_tell_.clear();
  is_fresh_ = true;
}

// ---- what lasts

std::array<std::size_t, Contradictions::kKinds> Contradictions::counts() const {
  std::array<std::size_t, kKinds> out{};
  out[static_cast<std::size_t>(Kind::InUseByOther)] = doubly_used_.size();
  for (const auto& [uid, devices] : allocated_twice_) {
    out[static_cast<std::size_t>(Kind::AllocatedTwice)] += devices.size();
  }
  for (const auto& [uuid, twice] : uuids_) {
    const bool in_one = twice.first.first == twice.last.first;
    ++out[static_cast<std::size_t>(in_one ? Kind::UuidTwiceInNode : Kind::UuidOnTwoNodes)];
  }
  return out;
}

std::string Contradictions::example() const {
  if (!doubly_used_.empty()) {
    const auto& [device, used] = *doubly_used_.begin();
    return fmt::format("GPU {} of node {} has its lease for pod {}, and containers of pod {} use it",
                       device.second, device.first.text, namesOf(used.leased), namesOf(used.others));
  }
  if (!allocated_twice_.empty()) {
    const auto& [uid, devices] = *allocated_twice_.begin();
    const auto& [device, other] = *devices.begin();
    return fmt::format("GPU {} of node {} was allocated to pod {}, and to ResourceClaim {} too",
                       device.second, device.first.text, namesOf({uid}), other.text());
  }
  if (uuids_.empty()) { return ""; }
  const auto& [uuid, twice] = *uuids_.begin();
  return fmt::format("UUID {} stands at {}:{} and {}:{}", uuid, twice.first.first.text, twice.first.second,
                     twice.last.first.text, twice.last.second);
}

}  // namespace gs::scheduler
