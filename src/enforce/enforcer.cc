#include "enforce/enforcer.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "enforce/given.h"
#include "enforce/matters.h"
#include "enforce/moves.h"

namespace gs::enforce {
namespace {

std::vector<Move> movesOf(const rpc::nri::Container& container, const DeviceTable& table) {
  const auto it = container.annotations.find(kMovedAnnotation);
  return it == container.annotations.end() ? std::vector<Move>{} : readMoves(it->second, table);
}

/// What it may have, by what it shows: nobody else is given that.
std::vector<model::DeviceId> mayHave(const Seen& seen) {
  std::set<model::DeviceId> ids(seen.devices.begin(), seen.devices.end());
  ids.insert(seen.told.begin(), seen.told.end());
  return {ids.begin(), ids.end()};
}

/// Those that are there, ascending.
std::vector<model::DeviceId> thoseOf(const std::vector<std::string>& names, const DeviceTable& table) {
  std::set<model::DeviceId> ids;
  for (const std::string& name : names) {
    if (const NodeDevice* device = table.byName(name)) { ids.insert(device->id); }
  }
  return {ids.begin(), ids.end()};
}

/// What is kept of one that we answered for: what it has is known.
rpc::nri::Container briefly(const rpc::nri::Container& container) {
  rpc::nri::Container out = whatMatters(container);
  out.env.clear();
  out.devices.clear();
  out.annotations.clear();
  std::erase_if(out.mounts, [](const auto& mount) { return listedByMount(mount.destination).has_value(); });
  return out;
}

}  // namespace

Enforcer::Enforcer(RuntimeFacts facts)
    : facts_{std::move(facts)},
      record_{std::make_shared<const NodeRecord>()},
      index_{std::make_shared<const cdi::Index>()} {}

void Enforcer::setFacts(RuntimeFacts facts) {
  facts_ = std::move(facts);
  lookAgain();
}

void Enforcer::setRecord(NodeRecordPtr record) {
  GS_CHECK(record != nullptr, "an enforcer without a record");
  const bool same_devices = record_->devices == record->devices;
  record_ = std::move(record);
  if (!same_devices) { lookAgain(); }
}

void Enforcer::setIndex(IndexPtr index) {
  GS_CHECK(index != nullptr, "an enforcer without a CDI index");
  index_ = std::move(index);
  lookAgain();
}

void Enforcer::lookAgain() {
  const DeviceTable table{*record_};
  for (const auto& [id, known] : known_) {
    auto devices = known.was_answered ? thoseOf(known.devices, table) : mayHave(seenOf(id, known, table));
    containers_.set(id, {model::Uid{known.pod.uid}, std::move(devices), movesOf(known.container, table)});
  }
}

bool Enforcer::keep(const std::string& id, Known known) {
  if (!known_.contains(id) && known_.size() >= Containers::kMost) { return false; }
  known_[id] = std::move(known);
  return true;
}

bool Enforcer::keepAnswered(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container,
                            const Plan& plan) {
  Known known{whatMatters(pod), briefly(container), true, {}};
  const auto moved = plan.adjustment.annotations.find(kMovedAnnotation);
  if (moved != plan.adjustment.annotations.end()) { known.container.annotations.insert(*moved); }
  if (!plan.devices.empty()) {
    const DeviceTable table{*record_};
    for (const model::DeviceId id : plan.devices) { known.devices.push_back(table.nameOf(id)); }
  }
  return keep(container.id, std::move(known)) &&
         containers_.set(container.id, {model::Uid{pod.uid}, plan.devices, plan.moves});
}

void Enforcer::synchronize(const std::vector<rpc::nri::PodSandbox>& pods,
                           const std::vector<rpc::nri::Container>& containers) {
  containers_.clear();
  known_.clear();
  said_.clear();
  std::map<std::string, const rpc::nri::PodSandbox*> by_id;
  for (const auto& pod : pods) { by_id.emplace(pod.id, &pod); }
  const rpc::nri::PodSandbox nobody;
  for (const auto& container : containers) {
    if (container.state == rpc::nri::ContainerState::Stopped) { continue; }
    const auto it = by_id.find(container.pod_sandbox_id);
    const rpc::nri::PodSandbox& pod = it == by_id.end() ? nobody : *it->second;
    if (!keep(container.id, {whatMatters(pod), whatMatters(container), false, {}})) { break; }
  }
  lookAgain();
}

void Enforcer::count(const Plan& plan) {
  for (const Note& note : plan.notes) { ++counts_.remarked.at(static_cast<std::size_t>(note.remark)); }
}

Planned Enforcer::createContainer(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) {
  ++counts_.answered;
  removeContainer(container.id);
  const Asked asked{pod, container};
  Planned planned = plan(asked, {*record_, *index_, facts_, containers_});
  if (planned) {
    const bool is_kept = keepAnswered(pod, container, *planned);
    if (!is_kept) { removeContainer(container.id); }
    if (!is_kept && !planned->devices.empty()) {  // one without devices is nobody's business
      planned = tl::unexpected<Refusal>(Refusal{
          Reason::TooMany,
          fmt::format("{}: this node has more than {} containers", labelOf(asked), Containers::kMost)});
    }
  }
  if (planned) {
    count(*planned);
  } else {
    ++counts_.refused.at(static_cast<std::size_t>(planned.error().reason));
  }
  return planned;
}

bool Enforcer::needsIndex(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) const {
  if (record_->by_driver) { return false; }
  const bool says_so = std::any_of(pod.annotations.begin(), pod.annotations.end(),
                                   [](const auto& one) { return readsAnnotation(one.first); });
  if (says_so || record_->holdings.contains(model::Uid{pod.uid})) { return true; }
  const DeviceTable table{*record_};
  const Given put = given({container, table, *index_, isPrivileged(container)});
  return put.wants_all || !put.devices.empty() || !put.unknown.empty();
}

void Enforcer::removeContainer(const std::string& id) {
  containers_.remove(id);
  known_.erase(id);
  said_.erase(id);
}

Seen Enforcer::seenOf(const std::string& id, const Known& known, const DeviceTable& table) const {
  if (!known.was_answered) { return seen(known.container, table, *index_, facts_); }
  Seen out;
  if (isPrivileged(known.container)) { out.unsure = "is privileged and sees all of the node"; }
  if (const auto it = containers_.all().find(id); it != containers_.all().end()) {
    out.devices = it->second.devices;
    out.told = out.devices;
  }
  for (const std::string& name : known.devices) {
    if (!out.unsure.empty() || table.byName(name) != nullptr) { continue; }
    out.unsure = fmt::format("was given {}, which the driver does not list now", name);
  }
  return out;
}

std::vector<Mismatch> Enforcer::audit() {
  std::vector<Mismatch> out;
  const DeviceTable table{*record_};
  for (const auto& [id, known] : known_) {
    const Seen seen = seenOf(id, known, table);
    for (Mismatch& one : enforce::audit(known.pod, known.container, seen, *record_, facts_)) {
      const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(one.wrong));
      if ((said_[id] & bit) == 0) { ++counts_.wrong.at(static_cast<std::size_t>(one.wrong)); }
      said_[id] |= bit;
      out.push_back(std::move(one));
    }
  }
  return out;
}

}  // namespace gs::enforce
