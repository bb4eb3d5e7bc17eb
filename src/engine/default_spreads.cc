#include "engine/default_spreads.h"

#include <algorithm>

#include "kapi/kind.h"

namespace gs::engine {

void DefaultSpreads::put(Owners& owners, const std::string& name, const controller::Change& change) {
  const auto now = change.object.as<model::PodOwner>();
  const auto known = owners.find(name);
  const Owner before = known == owners.end() ? nullptr : known->second;
  if (now == nullptr) {
    owners.erase(name);
  } else {
    owners.insert_or_assign(name, now);
  }
  const auto pods = [](const Owner& owner) { return owner ? owner->pods : model::LabelSelector{}; };
  if (pods(before) != pods(now)) { near_pods_.touchWaitingIn(change.key.ns); }
}

void DefaultSpreads::controllerChanged(const controller::Change& change) {
  put(controllers_[change.key.ns], std::string{change.kind->name} + "/" + change.key.name, change);
}

/// All that what means the pod asks of labels; nothing: nobody does.
model::LabelSelector DefaultSpreads::likeOf(const model::Pod& pod) const {
  model::LabelSelector out;
  const auto add = [&](const model::LabelSelector& pods) {
    out.requirements.insert(out.requirements.end(), pods.requirements.begin(), pods.requirements.end());
  };
  if (const auto there = services_.find(pod.key.ns); there != services_.end()) {
    for (const auto& [name, service] : there->second) {
      const bool means_some = !service->pods.requirements.empty();
      if (means_some && service->pods.matches(pod.labels)) { add(service->pods); }
    }
  }
  if (const auto there = controllers_.find(pod.key.ns); there != controllers_.end()) {
    const auto controller = there->second.find(pod.controller);
    if (controller != there->second.end()) { add(controller->second->pods); }
  }
  std::sort(out.requirements.begin(), out.requirements.end());
  out.requirements.erase(std::unique(out.requirements.begin(), out.requirements.end()),
                         out.requirements.end());
  return out;
}

std::shared_ptr<const model::DefaultSpread> DefaultSpreads::of(const model::Pod& pod) const {
  if (!spread_.on() || !pod.spread.empty()) { return nullptr; }
  const model::LabelSelector like = likeOf(pod);
  if (like.requirements.empty()) { return nullptr; }
  model::DefaultSpread spread = spread_;
  for (auto& constraint : spread.constraints) { constraint.pods = like; }
  return std::make_shared<const model::DefaultSpread>(std::move(spread));
}

}  // namespace gs::engine
