#include "engine/near_pods.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "model/namespace.h"

namespace gs::engine {
namespace {

/// Those that it would say if it were bound.
std::vector<model::AntiAffinityTerm> keptAwayBy(const model::Pod& pod) {
  if (pod.bound()) { return pod.keeps_away; }
  std::vector<model::AntiAffinityTerm> out;
  for (const auto& term : pod.affinity->apart) {
    if (auto kept = model::keptAwayBy(term)) { out.push_back(*std::move(kept)); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Likewise.
std::vector<model::PreferredPodTerm> likedBy(const model::Pod& pod) {
  return pod.bound() ? pod.affinity->preferred : model::likedWhenThere(pod.affinity);
}

/// Whom these mean, in the form in which pods are compared with terms.
std::vector<model::AntiAffinityTerm> meantBy(const std::vector<model::PreferredPodTerm>& terms) {
  std::vector<model::AntiAffinityTerm> out;
  for (const auto& preferred : terms) {
    if (auto means = model::keptAwayBy(preferred.term)) { out.push_back(*std::move(means)); }
  }
  return out;
}

bool selectsNamespaces(const std::vector<model::PodTerm>& terms) {
  return std::any_of(terms.begin(), terms.end(), [](const model::PodTerm& term) {
    return term.namespace_selector && !term.namespace_selector->requirements.empty();
  });
}

}  // namespace

/// By what is known of it and of its reservation.
NearPods::There NearPods::thereNow(const model::Pod* pod) const {
  if (pod == nullptr || (pod->finished() && !GS_MUTANT(CountsEnded))) { return std::nullopt; }
  if (pod->bound()) { return sched::NearPod{pod->key.ns, pod->labels, pod->node, pod->deleting}; }
  const auto reserved = reserved_.find(pod->uid);
  if (reserved == reserved_.end()) { return std::nullopt; }
  return sched::NearPod{pod->key.ns, pod->labels, reserved->second, pod->deleting};
}

/// First where it is: what was counted and still is never seems to be away.
void NearPods::move(const model::Uid& uid, const There& was, const There& is) {
  if (was != is) {
    if (is) { near_.put(*is); }
    if (was) { near_.take(*was); }
  }
  if (is) { return; }
  anti_affinity_.remove(uid);
  near_.unlike(uid);
}

void NearPods::close(const model::Pod& pod, const model::NodeName& node) {
  const auto terms = keptAwayBy(pod);
  const bool is_first = anti_affinity_.put(pod.uid, pod.key.ns, node, terms);
  if (is_first && !GS_MUTANT(TellsNobody)) { touchMeantBy(pod, terms); }
  const auto liked = likedBy(pod);
  if (near_.like(pod.uid, pod.key.ns, node, liked)) { touchMeantBy(pod, meantBy(liked)); }
}

void NearPods::podChanged(const model::Pod* before, const model::Pod* after) {
  const model::Uid uid = after != nullptr ? after->uid : before->uid;
  const bool was_over = before != nullptr && before->finished() && !GS_MUTANT(CountsEnded);
  const bool was_bound = before != nullptr && before->bound() && !was_over;
  const auto reserved = by_reservation_.extract(uid);
  There was = was_bound ? thereNow(before) : std::nullopt;
  if (!was_bound && !reserved.empty()) { was = reserved.mapped(); }
  const There is = thereNow(after);
  const bool waits = after != nullptr && !after->finished() && !after->bound();
  const std::string& ns = (after != nullptr ? after : before)->key.ns;
  if (waits) {
    unbound_[ns].insert(uid);
  } else if (const auto there = unbound_.find(ns); there != unbound_.end()) {
    there->second.erase(uid);
    if (there->second.empty()) { unbound_.erase(there); }
  }
  if (waits && is) { by_reservation_.emplace(uid, *is); }
  move(uid, was, is);
  if (is) { close(*after, is->node); }
}

void NearPods::reserved(const model::NodeName& node, const model::Uid& uid, bool is) {
  if (GS_MUTANT(ForgetsReserved)) { return; }
  if (is) {
    reserved_.insert_or_assign(uid, node);
  } else {
    const auto it = reserved_.find(uid);
    if (it == reserved_.end() || it->second != node) { return; }
    reserved_.erase(it);
  }
  if (const model::Pod* pod = cache_.pod(uid)) { podChanged(pod, pod); }
}

void NearPods::nodeChanged(const model::NodeName& name) {
  anti_affinity_.nodeChanged(name);
  near_.nodeChanged(name);
}

void NearPods::namespaceChanged(const controller::Change& change) {
  const std::string& ns = change.key.name;
  const auto object = change.object.as<model::Namespace>();
  const model::Labels* known = near_.labelsOf(ns);
  const model::Labels before = known == nullptr ? model::Labels{} : *known;
  near_.namespaceChanged(ns, object == nullptr ? nullptr : &object->labels);
  const bool was_none = namespaces_.empty();
  if (object == nullptr) {
    namespaces_.erase(ns);
  } else {
    namespaces_.insert(ns);
  }
  if (was_none && !namespaces_.empty()) {  // of each that selects some it can be said now whom it means
    for (const auto& [name, uids] : unbound_) { touchIn(uids); }
  } else if (before != labelsOf(ns)) {
    touchWaitingIn(ns);
  }
}

void NearPods::touchWaitingIn(const std::string& ns) {
  const auto there = unbound_.find(ns);
  if (there != unbound_.end()) { touchIn(there->second); }
}

void NearPods::touchIn(const std::set<model::Uid>& uids) {
  compared_ += uids.size();
  for (const auto& uid : uids) { touched_.pod(uid); }
}

const model::Labels& NearPods::labelsOf(const std::string& ns) const {
  static const model::Labels kNone;
  const model::Labels* labels = near_.labelsOf(ns);
  return labels == nullptr ? kNone : *labels;
}

/// What pods that are there wish of this one is no matter of its own rules, but decides as they do.
void NearPods::askLikings(const model::Pod& pod, const model::Labels& labels,
                          sched::PodRequest& request) const {
  if (request.theirs || !near_.likesSome()) { return; }
  auto liked_by = near_.liking(pod.key.ns, labels, labelsOf(pod.key.ns));
  if (liked_by.empty()) { return; }
  sched::NearRules rules = request.near ? *request.near.rules : sched::NearRules{};
  rules.ns = pod.key.ns;
  rules.liked_by = std::move(liked_by);
  request.near.rules = std::make_shared<const sched::NearRules>(std::move(rules));
}

std::optional<sched::Blocked> NearPods::ask(const model::Pod& pod, sched::PodRequest& request) {
  const model::Labels labels = pod.labels.all();
  if (!GS_MUTANT(MeetsKeepers)) {
    request.kept_away_by = anti_affinity_.meaning(pod.key.ns, labels, labelsOf(pod.key.ns));
  }
  askLikings(pod, labels, request);
  if (GS_MUTANT(IgnoresOthers)) { request.near = {}; }
  if (!request.near) { return std::nullopt; }
  const sched::NearRules& rules = *request.near.rules;
  if (namespaces_.empty() && (selectsNamespaces(rules.near) || selectsNamespaces(rules.apart))) {
    return sched::Blocked{"NamespacesUnknown",
                          "the pod's affinity has a namespaceSelector, and no Namespace is known: let "
                          "gpu-scheduler's ClusterRole list and watch namespaces"};
  }
  if (near_.bind(request.near)) { return std::nullopt; }
  return sched::Blocked{
      "TooManyRules",
      fmt::format(
          "pods that wait in namespace {} say very many different rules of affinity and spread "
          "(limit {}, of {} terms together): give pods of one kind the same rules, or wait until some "
          "of them have run",
          pod.key.ns, sched::Near::kMostOfOneNamespace,
          sched::Near::kMatchers * sched::Near::kMostOfOneNamespace)};
}

/// Touches the waiting pods that its terms mean. Where finding them would take too long all are touched: a
/// look in vain costs less.
void NearPods::touchMeantBy(const model::Pod& pod, const std::vector<model::AntiAffinityTerm>& terms) {
  constexpr std::uint64_t kMostLooks = 65'536;
  sched::TermIndex said;
  model::TermId next = 0;  // it is not asked which they are
  for (const auto& term : terms) { said.add(pod.key.ns, ++next, term); }
  for (const auto& [ns, uids] : unbound_) {
    const model::Labels& ns_labels = labelsOf(ns);
    for (const auto& uid : uids) {
      const bool is_meant =
          said.looks() > kMostLooks || !said.meaning(ns, cache_.pod(uid)->labels.all(), ns_labels).empty();
      if (is_meant) { touched_.pod(uid); }
    }
  }
  compared_ += said.looks();
}

}  // namespace gs::engine
