#include "enforce/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "enforce/cdi_annotations.h"
#include "enforce/given.h"
#include "enforce/holder.h"
#include "enforce/injection.h"
#include "enforce/moves.h"

namespace gs::enforce {
namespace {

constexpr std::size_t kShownOfAName = 200;

/// A plan for one container. Lives for one call.
class Planner {
 public:
  Planner(const Asked& asked, const Knowledge& known)
      : asked_{asked},
        known_{known},
        table_{known.record},
        uid_{asked.pod.uid},
        label_{labelOf(asked)},
        reading_{asked.container, table_, known.index, isPrivileged(asked.container)} {}

  Planned make();

 private:
  [[nodiscard]] bool isTrusted() const;
  /// Notes the annotation of NVIDIA's plugin.
  tl::expected<void, Refusal> readAnnotation(const std::vector<model::DeviceId>& own);
  /// Says whose container has that device though its pod was given nothing by us.
  void noteForeignUser(model::DeviceId id);
  Planned ofHolder(const std::vector<model::DeviceId>& own);
  Planned ofOther();
  Planned ofOtherWith(const Given& given);
  /// For each device that it may not have one that is free.
  tl::expected<std::vector<model::DeviceId>, Refusal> placed(const Given& given);
  [[nodiscard]] std::optional<model::DeviceId> inPlaceOf(model::DeviceId id,
                                                         const std::set<model::DeviceId>& taken) const;
  [[nodiscard]] bool isFree(const NodeDevice& device, const std::set<model::DeviceId>& taken) const;
  [[nodiscard]] bool mayHave(model::DeviceId id) const;
  /// A pod whose leases were not read yet says that it has some of it: so it may be.
  [[nodiscard]] bool isClaimed(model::DeviceId id) const;
  void note(Remark remark, std::string_view what);

  const Asked& asked_;
  const Knowledge& known_;
  DeviceTable table_;
  model::Uid uid_;
  std::string label_;
  Reading reading_;
  Plan plan_;
};

void Planner::note(Remark remark, std::string_view what) {
  plan_.notes.push_back({remark, fmt::format("{} {}", label_, what)});
}

bool Planner::isTrusted() const { return known_.facts.trusted_namespaces.contains(asked_.pod.ns); }

tl::expected<void, Refusal> Planner::readAnnotation(const std::vector<model::DeviceId>& own) {
  const CdiAnnotation found = cdiAnnotation(asked_.pod, asked_.container.name, own, table_, known_.index);
  if (!found.is_there) { return {}; }
  if (!found.not_its_own.empty()) {
    return refuse(Reason::CdiAnnotation,
                  fmt::format("{}: its pod's annotation {} names {}, a GPU that is not the pod's; remove the "
                              "annotation",
                              label_, found.key, utf8Prefix(found.not_its_own, kShownOfAName)));
  }
  note(Remark::CdiAnnotation, fmt::format("has annotation {} of NVIDIA's NRI plugin", found.key));
  return {};
}

void Planner::noteForeignUser(model::DeviceId id) {
  const auto& all = known_.containers.all();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    const Has& has = one.second;
    return has.pod != uid_ && !known_.record.holdings.contains(has.pod) &&
           std::any_of(has.devices.begin(), has.devices.end(), [&](auto its) { return overlap(its, id); });
  });
  if (it == all.end()) { return; }
  note(Remark::StillInUse, fmt::format("is given GPU {}, which container {} of pod uid '{}' has as well",
                                       print(id), it->first, it->second.pod.text));
}

Planned Planner::ofHolder(const std::vector<model::DeviceId>& own) {
  if (reading_.is_privileged) {
    note(Remark::Privileged,
         fmt::format("is privileged: it is given GPUs {}, and sees all of the node", listed(own)));
  }
  for (const model::DeviceId id : own) { noteForeignUser(id); }
  const Given put = given(reading_);
  if (auto done = inject(own, {reading_, put, known_.facts, label_}, plan_); !done) {
    return tl::unexpected<Refusal>(std::move(done.error()));
  }
  note(Remark::Adjusted, fmt::format("is given GPUs {}", listed(own)));
  return std::move(plan_);
}

bool Planner::mayHave(model::DeviceId id) const {
  return !heldByOther(known_.record, id, {}) && !known_.containers.isLent(id, uid_);
}

bool Planner::isClaimed(model::DeviceId id) const {
  return std::any_of(known_.record.holdings.begin(), known_.record.holdings.end(), [&](const auto& one) {
    const Holding& holding = one.second;
    return holding.hold == Hold::Unverified &&
           std::any_of(holding.devices.begin(), holding.devices.end(),
                       [&](auto claimed) { return overlap(claimed, id); });
  });
}

bool Planner::isFree(const NodeDevice& device, const std::set<model::DeviceId>& taken) const {
  const model::DeviceId id = device.id;
  return id.isWhole() && !device.uuid.empty() && !table_.isSplit(id.gpu) && !taken.contains(id) &&
         !heldByOther(known_.record, id, {}) && !isClaimed(id);
}

std::optional<model::DeviceId> Planner::inPlaceOf(model::DeviceId id,
                                                  const std::set<model::DeviceId>& taken) const {
  const NodeDevice* device = table_.byId(id);
  if (device == nullptr || !id.isWhole()) { return std::nullopt; }
  const auto before = known_.containers.movedTo(id, uid_);
  if (before) {
    const NodeDevice* same = table_.byId(*before);
    const bool is_ours_alone = !known_.containers.userOf(*before, uid_).has_value();
    if (same != nullptr && is_ours_alone && isFree(*same, taken)) { return before; }
  }
  for (const NodeDevice& one : known_.record.devices) {
    if (one.vendor == device->vendor && isFree(one, taken) && !known_.containers.userOf(one.id)) {
      return one.id;
    }
  }
  return std::nullopt;
}

tl::expected<std::vector<model::DeviceId>, Refusal> Planner::placed(const Given& given) {
  std::set<model::DeviceId> taken = given.devices;  // none of them is given in the place of another
  std::vector<model::DeviceId> out;
  for (const model::DeviceId id : given.devices) {
    const bool may_have = mayHave(id);
    if (may_have && isClaimed(id)) {
      return refuse(
          Reason::Unverified,
          fmt::format("{}: the device plugin gave it GPU {} of node {}, which another pod says that "
                      "it holds, and the lease was not read yet; the kubelet tries again",
                      label_, print(id), known_.record.node));
    }
    if (may_have) {
      out.push_back(id);
      continue;
    }
    const auto other = inPlaceOf(id, taken);
    if (!other) {
      return refuse(
          Reason::NoneFree,
          fmt::format(
              "{}: the device plugin gave it GPU {} of node {}, which another pod holds, and "
              "{}; the kubelet tries again",
              label_, print(id), known_.record.node,
              id.isWhole() ? "no GPU is free" : "a partition has none in its place, since sizes differ"));
    }
    taken.insert(*other);
    plan_.moves.push_back({id, *other});
    out.push_back(*other);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Planned Planner::ofOtherWith(const Given& given) {
  if (!known_.record.knows_pods) {
    return refuse(
        Reason::NotKnown,
        fmt::format("{}: the device plugin gave it GPUs, and the agent of node {} does not know yet "
                    "which ones pods hold; the kubelet tries again",
                    label_, known_.record.node));
  }
  auto devices = placed(given);
  if (!devices) { return tl::unexpected<Refusal>(std::move(devices.error())); }
  if (plan_.moves.empty() && (!given.wants_all || reading_.is_privileged)) {
    plan_.devices = std::move(*devices);
    return std::move(plan_);
  }
  if (auto done = inject(*devices, {reading_, given, known_.facts, label_}, plan_); !done) {
    return tl::unexpected<Refusal>(std::move(done.error()));
  }
  if (!plan_.moves.empty()) {
    plan_.adjustment.annotations[kMovedAnnotation] = printMoves(plan_.moves, table_);
  }
  for (const Move& move : plan_.moves) {
    note(Remark::Moved, fmt::format("is given GPU {} in the place of {}, which the device plugin gave it and "
                                    "another pod holds",
                                    print(move.to), print(move.from)));
  }
  return std::move(plan_);
}

Planned Planner::ofOther() {
  const Given put = given(reading_);
  if (reading_.is_privileged) {
    note(Remark::Privileged, "is privileged: it sees all GPUs of the node, whoever holds them");
  } else if (!put.unknown.empty()) {
    return refuse(Reason::UnknownDevice,
                  fmt::format("{}: it was given '{}', which is no GPU that the agent of node {} knows; the "
                              "kubelet tries again",
                              label_, put.unknown.front(), known_.record.node));
  }
  if (!put.devices.empty()) { return ofOtherWith(put); }
  if (!put.wants_all || reading_.is_privileged) { return std::move(plan_); }
  if (auto done = hideAll({reading_, put, known_.facts, label_}, plan_); !done) {
    return tl::unexpected<Refusal>(std::move(done.error()));
  }
  note(Remark::Hidden, "asks for all GPUs by NVIDIA_VISIBLE_DEVICES and was given none: it gets none");
  return std::move(plan_);
}

Planned Planner::make() {
  if (known_.record.by_driver) { return std::move(plan_); }
  auto held = heldBy(asked_.pod, known_.record, label_);
  if (!held) { return tl::unexpected<Refusal>(std::move(held.error())); }
  const bool is_holder = held->has_value();
  if (!is_holder && isTrusted()) {
    note(Remark::Trusted, "is of a namespace that is let alone");
    return std::move(plan_);
  }
  const std::vector<model::DeviceId> own = is_holder ? **held : std::vector<model::DeviceId>{};
  if (auto done = readAnnotation(own); !done) { return tl::unexpected<Refusal>(std::move(done.error())); }
  return is_holder ? ofHolder(own) : ofOther();
}

}  // namespace

std::string labelOf(const Asked& asked) {
  return fmt::format("container {} of pod {}/{}", asked.container.name, asked.pod.ns, asked.pod.name);
}

Planned plan(const Asked& asked, const Knowledge& known) { return Planner{asked, known}.make(); }

}  // namespace gs::enforce
