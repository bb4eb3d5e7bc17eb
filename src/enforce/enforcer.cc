#include "enforce/enforcer.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "base/check.h"
#include "model/annotations.h"

namespace gs::enforce {
namespace {

/// Without what nobody reads: labels, and annotations of others.
rpc::nri::PodSandbox whatMattersOf(const rpc::nri::PodSandbox& pod) {
  rpc::nri::PodSandbox out;
  out.id = pod.id;
  out.name = pod.name;
  out.uid = pod.uid;
  out.ns = pod.ns;
  for (const char* key : {model::kAllocatedKey, model::kReservationKey}) {
    if (const auto it = pod.annotations.find(key); it != pod.annotations.end()) {
      out.annotations.insert(*it);
    }
  }
  return out;
}

/// What it may have: nobody else is given that.
Has mayHave(const rpc::nri::PodSandbox& pod, const Seen& seen) {
  std::set<model::DeviceId> ids(seen.devices.begin(), seen.devices.end());
  ids.insert(seen.told.begin(), seen.told.end());
  return {model::Uid{pod.uid}, {ids.begin(), ids.end()}, {}};
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
    if (!known.was_answered) { containers_.set(id, mayHave(known.pod, seenOf(id, known, table))); }
  }
}

bool Enforcer::keep(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container,
                    bool was_answered) {
  const bool is_new = !known_.contains(container.id);
  if (is_new && known_.size() >= Containers::kMost) { return false; }
  known_[container.id] = {whatMattersOf(pod), whatMatters(container), was_answered};
  return true;
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
    if (!keep(pod, container, false)) { break; }
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
    const bool is_kept =
        keep(pod, container, true) &&
        containers_.set(container.id, {model::Uid{pod.uid}, planned->devices, planned->moves});
    if (!is_kept) {
      removeContainer(container.id);
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
