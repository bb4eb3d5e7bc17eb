#include "kapi/decode_pod_affinity.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/mutant.h"
#include "base/sort_unique.h"
#include "kapi/fields.h"
#include "kapi/selectors.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

// What one pod may cost those who decide; no pod that is meant well comes near.
constexpr std::size_t kMaxTerms = 64;    // of the anti-affinity of a bound pod
constexpr std::size_t kMaxNames = 4096;  // of namespaces, and of values of labels, in all of its terms
constexpr std::size_t kMaxKeys = 256;    // no node has more labels
/// Of each kind of terms of a pod that waits: pods and nodes are counted for each of them.
constexpr std::size_t kMaxWaitingTerms = 16;

/// kube-scheduler can read it, too. What it cannot is left out.
bool isReadable(const View& selector) { return readSelector(selector).is_whole; }

std::optional<model::LabelSelector> selectorIn(const View& v) {
  return v.isObject() ? std::optional{readSelector(v).selector} : std::nullopt;
}

/// In a pod of the namespace `own_ns`.
model::PodTerm podTerm(const View& t, const std::string& own_ns) {
  model::PodTerm term;
  term.topology_key = text(t["topologyKey"]);
  for (const View ns : t["namespaces"].items()) { term.namespaces.push_back(text(ns)); }
  term.namespace_selector = selectorIn(t["namespaceSelector"]);
  const bool is_none = GS_MUTANT(EmptyIsNoSelector) && term.namespace_selector == model::LabelSelector{};
  if (is_none) { term.namespace_selector.reset(); }
  if (term.namespaces.empty() && !term.namespace_selector) { term.namespaces.push_back(own_ns); }
  sortUnique(term.namespaces);
  term.pods = selectorIn(t["labelSelector"]);
  return term;
}

std::size_t namesOf(const std::optional<model::LabelSelector>& selector) {
  std::size_t names = 0;
  if (!selector) { return names; }
  for (const auto& r : selector->requirements) { names += 1 + r.values.size(); }
  return names;
}

std::size_t namesIn(const model::AntiAffinityTerm& term) {
  return term.namespaces.size() + namesOf(term.pods) + namesOf(term.namespace_selector);
}

std::size_t namesIn(const model::PodTerm& term) {
  return term.namespaces.size() + namesOf(term.pods) + namesOf(term.namespace_selector);
}

template <class Terms>
std::size_t namesInAll(const Terms& terms) {
  std::size_t names = 0;
  for (const auto& term : terms) { names += namesIn(term); }
  return names;
}

bool meansEvery(const model::AntiAffinityTerm& term) {
  return term.namespaces.empty() || term.namespace_selector.has_value();
}

/// More than a pod can need: it keeps everybody of the namespaces that they mean away from all that the terms
/// name.
std::vector<model::AntiAffinityTerm> everybodyFrom(const std::vector<model::AntiAffinityTerm>& terms) {
  std::map<std::string, std::vector<std::string>> meant;  // by topology key; empty: every namespace
  std::size_t names = 0;
  for (const auto& term : terms) {
    const auto [it, first] = meant.try_emplace(term.topology_key);
    names += term.namespaces.size();
    if (meansEvery(term)) {
      it->second.clear();
    } else if (first || !it->second.empty()) {
      it->second.insert(it->second.end(), term.namespaces.begin(), term.namespaces.end());
    }
  }
  std::vector<model::AntiAffinityTerm> out;
  out.reserve(std::min(meant.size(), kMaxKeys));
  for (auto& [key, namespaces] : meant) {
    if (out.size() == kMaxKeys) { break; }
    if (names > kMaxNames) { namespaces.clear(); }
    sortUnique(namespaces);
    out.push_back({key, std::move(namespaces), {}});
  }
  return out;
}

/// Whom a bound pod keeps away. Without a labelSelector a term means nobody. A namespaceSelector without
/// requirements: every namespace.
std::vector<model::AntiAffinityTerm> antiAffinity(const View& spec, const std::string& own_ns) {
  std::vector<model::AntiAffinityTerm> out;
  for (const View t : spec["affinity"]["podAntiAffinity"][kRequired].items()) {
    if (auto term = model::keptAwayBy(podTerm(t, own_ns))) { out.push_back(*std::move(term)); }
  }
  sortUnique(out);
  const bool is_too_much = out.size() > kMaxTerms || namesInAll(out) > kMaxNames;
  return is_too_much ? everybodyFrom(out) : out;
}

/// Of a bound pod: what cannot be read, or is too much, is left out.
std::vector<model::PodTerm> nearOfBound(const View& spec, const std::string& own_ns) {
  std::vector<model::PodTerm> out;
  for (const View t : spec["affinity"]["podAffinity"][kRequired].items()) {
    if (!isReadable(t["labelSelector"]) || !isReadable(t["namespaceSelector"])) { continue; }
    out.push_back(podTerm(t, own_ns));
    if (out.size() == kMaxWaitingTerms) { break; }
  }
  sortUnique(out);
  if (namesInAll(out) > kMaxNames) { out.clear(); }
  return out;
}

/// Reads the required terms of that kind.
std::vector<model::PodTerm> requiredTerms(const View& spec, const char* kind, const std::string& own_ns,
                                          std::set<std::string>& unsupported) {
  std::vector<model::PodTerm> out;
  const auto terms = spec["affinity"][kind][kRequired].items();
  const std::string path = fmt::format("spec.affinity.{}", kind);
  if (terms.size() > kMaxWaitingTerms) {
    unsupported.insert(
        fmt::format("{} with more than {} required terms ({})", path, kMaxWaitingTerms, terms.size()));
    return out;
  }
  for (const View t : terms) {
    if (!isReadable(t["labelSelector"]) || !isReadable(t["namespaceSelector"])) {
      unsupported.insert(path + " with an unknown operator");
    }
    out.push_back(podTerm(t, own_ns));
  }
  sortUnique(out);
  if (namesInAll(out) > kMaxNames) {
    unsupported.insert(fmt::format("{} with more than {} names", path, kMaxNames));
    out.clear();
  }
  return out;
}

/// Only some, and none that cannot be read: a preference keeps nobody away.
void addPreferred(const View& spec, const char* kind, std::int32_t sign, const std::string& own_ns,
                  model::PodAffinity& affinity) {
  std::size_t names = 0;
  std::size_t kept = 0;
  for (const View t : spec["affinity"][kind][kPreferred].items()) {
    constexpr std::int64_t kMostWeight = 100;
    const auto weight = static_cast<std::int32_t>(bounded(t["weight"], kMostWeight));
    const View term = t["podAffinityTerm"];
    if (weight == 0 || !isReadable(term["labelSelector"]) || !isReadable(term["namespaceSelector"])) {
      continue;
    }
    model::PreferredPodTerm preferred{sign * weight, podTerm(term, own_ns)};
    names += namesIn(preferred.term);
    if (++kept > kMaxWaitingTerms || names > kMaxNames) { return; }
    affinity.preferred.push_back(std::move(preferred));
  }
}

model::SpreadConstraint spreadConstraint(const View& v) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  model::SpreadConstraint out;
  out.topology_key = text(v["topologyKey"]);
  out.max_skew = std::max(1, static_cast<std::int32_t>(bounded(v["maxSkew"], kMost, 1)));
  out.is_required = v["whenUnsatisfiable"].str() != "ScheduleAnyway";
  const auto min_domains = static_cast<std::int32_t>(bounded(v["minDomains"], kMost));
  if (min_domains > 0) { out.min_domains = min_domains; }
  out.honors_affinity = v["nodeAffinityPolicy"].str() != "Ignore";
  const std::string_view taints = v["nodeTaintsPolicy"].str();
  out.honors_taints = taints == "Honor" || (taints.empty() && GS_MUTANT(HonorsTaintsUnasked));
  out.pods = selectorIn(v["labelSelector"]);
  for (const View key : v["matchLabelKeys"].items()) { out.match_label_keys.push_back(text(key)); }
  sortUnique(out.match_label_keys);
  return out;
}

void readSpread(const View& spec, model::Pod& pod, std::set<std::string>& unsupported) {
  const char* path = "spec.topologySpreadConstraints";
  std::size_t required = 0;
  std::size_t preferred = 0;
  std::size_t names = 0;
  for (const View v : spec["topologySpreadConstraints"].items()) {
    model::SpreadConstraint constraint = spreadConstraint(v);
    names += namesOf(constraint.pods) + constraint.match_label_keys.size();
    const bool fits = names <= kMaxNames && isReadable(v["labelSelector"]) &&
                      ++(constraint.is_required ? required : preferred) <= kMaxWaitingTerms;
    if (fits) {
      pod.spread.push_back(std::move(constraint));
    } else if (constraint.is_required) {
      unsupported.insert(
          isReadable(v["labelSelector"])
              ? fmt::format("{} with more than {} constraints or {} names", path, kMaxWaitingTerms, kMaxNames)
              : fmt::format("{} with an unknown operator", path));
    }
  }
}

}  // namespace

model::PodLabels podLabels(const View& labels) {
  thread_local model::SharedPodLabels shared;  // objects are read by several threads
  return shared.share(stringMap(labels));
}

void readAffinityOfBound(const View& spec, model::Pod& pod) {
  if (!spec["affinity"].isObject()) { return; }
  pod.keeps_away = antiAffinity(spec, pod.key.ns);
  model::PodAffinity asked;
  addPreferred(spec, "podAffinity", 1, pod.key.ns, asked);
  addPreferred(spec, "podAntiAffinity", -1, pod.key.ns, asked);
  asked.near = nearOfBound(spec, pod.key.ns);
  model::PodAffinity there;
  there.preferred = model::likedWhenThere(asked);
  pod.affinity = std::move(there);
}

void readPodAffinity(const View& spec, model::Pod& pod, std::set<std::string>& unsupported) {
  model::PodAffinity asked;
  asked.near = requiredTerms(spec, "podAffinity", pod.key.ns, unsupported);
  asked.apart = requiredTerms(spec, "podAntiAffinity", pod.key.ns, unsupported);
  addPreferred(spec, "podAffinity", 1, pod.key.ns, asked);
  addPreferred(spec, "podAntiAffinity", -1, pod.key.ns, asked);
  std::sort(asked.preferred.begin(), asked.preferred.end());
  pod.affinity = std::move(asked);
  readSpread(spec, pod, unsupported);
}

}  // namespace gs::kapi
