#include "sched/preemption/budgets.h"

namespace gs::sched {

void Budgets::put(model::Ptr<model::DisruptionBudget> budget) {
  OfNamespace& of = namespaces_[budget->key.ns];
  Slot& slot = of.by_name[budget->key.name];
  size_ += slot == nullptr ? 1 : 0;
  if (slot == nullptr || slot->pods != budget->pods) { of.epoch = ++epochs_; }
  slot = std::move(budget);
}

void Budgets::remove(const model::ObjectKey& key) {
  const auto of = namespaces_.find(key.ns);
  if (of == namespaces_.end() || of->second.by_name.erase(key.name) == 0) { return; }
  --size_;
  of->second.epoch = ++epochs_;
  if (of->second.by_name.empty()) { namespaces_.erase(of); }
}

const std::vector<const Budgets::Slot*>& Budgets::protectorsOf(const model::Pod& pod, const OfNamespace& of) {
  const auto last = known_.find(pod.uid);
  if (last != known_.end()) {
    Known& known = last->second;
    if (known.epoch == of.epoch && known.revision == pod.revision) { return known.protectors; }
    remembered_ -= 1 + known.protectors.size();
    known_.erase(last);
  }
  if (remembered_ >= kMostRemembered) {
    known_.clear();
    remembered_ = 0;
  }
  Known& known = known_[pod.uid];
  known = {pod.revision, of.epoch, {}};
  cost_ += of.by_name.size();
  for (const auto& [name, slot] : of.by_name) {
    if (slot->protects(pod)) { known.protectors.push_back(&slot); }
  }
  remembered_ += 1 + known.protectors.size();
  return known.protectors;
}

std::vector<bool> Budgets::broken(const std::vector<const model::Pod*>& pods) {
  std::vector<bool> out(pods.size());
  std::unordered_map<const Slot*, std::int64_t> left;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const model::Pod& pod = *pods[i];
    const auto of = namespaces_.find(pod.key.ns);
    if (of == namespaces_.end()) { continue; }
    const auto& protectors = protectorsOf(pod, of->second);
    cost_ += protectors.size() / kProtectorsPerCost;
    for (const Slot* slot : protectors) {
      if ((*slot)->countsAsGone(pod)) { continue; }
      const auto it = left.try_emplace(slot, (*slot)->allowed).first;
      out[i] = --it->second < 0 || out[i];
    }
  }
  return out;
}

}  // namespace gs::sched
