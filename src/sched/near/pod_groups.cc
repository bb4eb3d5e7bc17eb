#include "sched/near/pod_groups.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/mix.h"

namespace gs::sched {
namespace {

template <class On>
auto placeOf(On& on, NearNode node) {
  return std::lower_bound(on.begin(), on.end(), node,
                          [](const PodGroup::OnNode& at, NearNode wanted) { return at.node < wanted; });
}

}  // namespace

std::size_t labelHash(std::string_view key, std::string_view value) {
  const std::hash<std::string_view> hash;
  return mix(mix(std::size_t{0}, hash(key)), hash(value));
}

NearPods PodGroup::at(NearNode node) const {
  const auto it = placeOf(on, node);
  return it == on.end() || it->node != node ? NearPods{} : it->pods;
}

PodGroup* PodGroups::find(const std::string& ns, const model::PodLabels& labels) {
  const auto there = namespaces_.find(ns);
  if (there == namespaces_.end()) { return nullptr; }
  const auto it = there->second.by_labels.find(labels);
  return it == there->second.by_labels.end() ? nullptr : it->second.get();
}

PodGroups::Added PodGroups::add(const std::string& ns, const model::PodLabels& labels, NearNode node,
                                bool leaving) {
  const auto there = namespaces_.try_emplace(ns).first;
  auto& slot = there->second.by_labels[labels];
  Added out;
  out.is_new = slot == nullptr;
  if (out.is_new) {
    slot = std::make_unique<PodGroup>();
    slot->ns = &there->first;
    slot->labels = labels;
    labels.each([&](std::string_view key, std::string_view value) {
      slot->bits |= labelBits(labelHash(key, value));
    });
    slot->place = static_cast<std::uint32_t>(there->second.groups.size());
    there->second.groups.push_back({slot->bits, slot.get()});
  }
  out.group = slot.get();
  auto& on = slot->on;
  auto at = placeOf(on, node);
  out.is_new_there = at == on.end() || at->node != node;
  if (out.is_new_there) { at = on.insert(at, PodGroup::OnNode{node, {}}); }
  ++at->pods.all;
  at->pods.leaving += leaving ? 1 : 0;
  return out;
}

bool PodGroups::take(PodGroup& group, NearNode node, bool leaving) {
  const auto at = placeOf(group.on, node);
  --at->pods.all;
  at->pods.leaving -= leaving ? 1 : 0;
  if (at->pods.all > 0) { return false; }
  group.on.erase(at);
  return true;
}

void PodGroups::drop(PodGroup& group) {
  const auto there = namespaces_.find(*group.ns);
  auto& groups = there->second.groups;
  const std::uint32_t place = group.place;
  groups[place] = groups.back();
  groups[place].group->place = place;
  groups.pop_back();
  const model::PodLabels labels = group.labels;
  there->second.by_labels.erase(labels);
  if (groups.empty()) { namespaces_.erase(there); }
}

}  // namespace gs::sched
