#include "enforce/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "enforce/holder.h"
#include "enforce/plan.h"
#include "enforce/variables.h"

namespace gs::enforce {
namespace {

using Ids = std::vector<model::DeviceId>;

bool has(const Ids& ids, model::DeviceId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

Ids withoutThoseOf(const Ids& ids, const Ids& others) {
  Ids out;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(out), [&](auto id) { return !has(others, id); });
  return out;
}

/// By UUID alone: a number is right inside some containers and wrong in others.
void readUuids(const rpc::nri::Container& container, const char* variable, const DeviceTable& table,
               std::set<model::DeviceId>& out) {
  const auto value = lastOf(container.env, variable);
  if (!value) { return; }
  for (const std::string& name : commaList(*value)) {
    const NodeDevice* device = table.byName(name);
    if (device != nullptr && device->uuid == name) { out.insert(device->id); }
  }
}

std::string unsureOf(const Given& nodes, const Given& all, bool is_privileged, bool by_names) {
  if (is_privileged) { return "is privileged and sees all of the node"; }
  const Given& judged = by_names ? all : nodes;
  if (judged.unknown.empty()) { return ""; }
  return fmt::format("has '{}', which is no GPU that the agent knows", judged.unknown.front());
}

/// What is wrong with one container, sentence by sentence.
class Auditor {
 public:
  Auditor(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container, const Seen& seen,
          const NodeRecord& record)
      : pod_{pod}, container_{container}, seen_{seen}, record_{record}, uid_{pod.uid} {}

  std::vector<Mismatch> run() {
    const auto own = heldBy(pod_, record_, labelOf({pod_, container_}));
    if (!own) {
      judgeUnsure(own.error());
    } else if (!seen_.unsure.empty()) {
      add(Wrong::Unjudged, {}, seen_.unsure);
    } else if (!record_.knows_pods && !seen_.devices.empty()) {
      add(Wrong::Unjudged, seen_.devices, "has GPUs, and it is not known yet which ones pods hold");
    } else {
      judge(own->value_or(Ids{}), own->has_value());
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] Ids heldElsewhere(const Ids& ids, const Ids& own) const {
    Ids out;
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(out), [&](model::DeviceId id) {
      return !has(own, id) && heldByOther(record_, id, uid_).has_value();
    });
    return out;
  }

  void judge(const Ids& own, bool is_holder) {
    const Ids anothers = heldElsewhere(seen_.devices, own);
    if (!anothers.empty()) { sayAnothers(anothers); }
    if (is_holder) { judgeHolder(own, anothers); }
    const Ids told = withoutThoseOf(heldElsewhere(seen_.told, own), anothers);
    if (!told.empty() || (seen_.told_all && !record_.held.empty())) {
      add(Wrong::ToldOthers, told,
          fmt::format("is told {} by a variable, and leases of other pods hold {}",
                      seen_.told_all ? "all GPUs" : "GPUs " + listed(told),
                      seen_.told_all ? "some" : "them"));
    }
  }

  void judgeHolder(const Ids& own, const Ids& anothers) {
    const Ids more = withoutThoseOf(withoutThoseOf(seen_.devices, own), anothers);
    if (!more.empty()) {
      add(Wrong::HasMore, more, fmt::format("has GPUs {} beside its pod's {}", listed(more), listed(own)));
    }
    const Ids lacking = withoutThoseOf(own, seen_.devices);
    if (seen_.devices.empty() && withoutThoseOf(own, seen_.told).empty()) {
      add(Wrong::Unjudged, own,
          fmt::format("is told its pod's GPUs {}, and nothing shows whether it has them", listed(own)));
    } else if (!lacking.empty()) {
      add(Wrong::LacksOwn, lacking,
          fmt::format("does not have GPUs {} of its pod's {}", listed(lacking), listed(own)));
    }
  }

  /// What its pod holds is not known; that another pod holds what it has may be.
  void judgeUnsure(const Refusal& refusal) {
    Ids anothers;
    for (const model::DeviceId id : seen_.devices) {
      const auto holder = heldByOther(record_, id, uid_);
      if (holder && !holder->pod.empty() && isSureOfOthers(refusal.reason)) { anothers.push_back(id); }
    }
    if (!anothers.empty()) { sayAnothers(anothers); }
    push(Wrong::Unjudged, seen_.devices, refusal.text);
  }
  static bool isSureOfOthers(Reason reason) {
    return reason == Reason::Refuted || reason == Reason::Differs || reason == Reason::HeldByOther;
  }
  void sayAnothers(const Ids& anothers) {
    add(Wrong::HasAnothers, anothers,
        fmt::format("has GPUs {} of node {}, which leases of other pods hold", listed(anothers),
                    record_.node));
  }
  void add(Wrong wrong, Ids devices, std::string_view what) {
    push(wrong, std::move(devices), fmt::format("{} {}", labelOf({pod_, container_}), what));
  }
  void push(Wrong wrong, Ids devices, std::string text) {
    out_.push_back({wrong, container_.id, uid_, pod_.ns, pod_.name, std::move(devices), std::move(text)});
  }

  const rpc::nri::PodSandbox& pod_;
  const rpc::nri::Container& container_;
  const Seen& seen_;
  const NodeRecord& record_;
  model::Uid uid_;
  std::vector<Mismatch> out_;
};

}  // namespace

Seen seen(const rpc::nri::Container& container, const DeviceTable& table, const cdi::Index& index,
          const RuntimeFacts& facts) {
  const Reading reading{container, table, index, isPrivileged(container)};
  const Given all = givenInTheEnd(reading);
  Given nodes;
  readNodes(reading, nodes);
  const bool by_names = facts.is_nvidia_runtime;
  std::set<model::DeviceId> told = all.devices;
  readUuids(container, kCudaVariable, table, told);
  const auto& devices = by_names ? all.devices : nodes.devices;
  Seen out;
  out.devices.assign(devices.begin(), devices.end());
  out.told.assign(told.begin(), told.end());
  out.told_all = all.wants_all;
  out.unsure = unsureOf(nodes, all, reading.is_privileged, by_names);
  if (by_names && all.wants_all) {
    out.devices.clear();
    for (const NodeDevice& device : table.record().devices) { out.devices.push_back(device.id); }
    std::sort(out.devices.begin(), out.devices.end());
  }
  return out;
}

const char* wrongName(Wrong wrong) {
  constexpr std::array<const char*, kWrongs> kNames{"has_anothers", "has_more", "lacks_own", "told_others",
                                                    "unjudged"};
  return kNames.at(static_cast<std::size_t>(wrong));
}

std::vector<Mismatch> audit(const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container,
                            const Seen& seen, const NodeRecord& record, const RuntimeFacts& facts) {
  const bool runs = container.state != rpc::nri::ContainerState::Stopped;
  if (!runs || record.by_driver) { return {}; }
  const bool is_ours = record.holdings.contains(model::Uid{pod.uid});
  if (!is_ours && facts.trusted_namespaces.contains(pod.ns)) { return {}; }
  return Auditor{pod, container, seen, record}.run();
}

}  // namespace gs::enforce
