#include "test/sim/slow_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>

namespace gs::sim::slow {
namespace {

using json::Value;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

std::string str(const Value& v) { return std::string{v.str()}; }
const Value& labelsOf(const Value& object) { return object["metadata"]["labels"]; }

/// Our numbers are whole ones, in a string or not.
std::int64_t wholeOf(const Value& v) {
  return v.isInt() ? v.intOr(0) : std::strtoll(str(v).c_str(), nullptr, 10);
}

bool isOneOf(const Value& values, const Value& label) {
  return std::any_of(values.items().begin(), values.items().end(),
                     [&](const Value& v) { return v.str() == label.str(); });
}

/// A requirement of a node's or of a pod's label. Who has no such label is no value.
bool meets(const Value& requirement, const Value& label) {
  const auto op = requirement["operator"].str();
  const bool has = label.isString();
  if (op == "In") { return has && isOneOf(requirement["values"], label); }
  if (op == "NotIn") { return !has || !isOneOf(requirement["values"], label); }
  if (op == "Exists") { return has; }
  if (op == "DoesNotExist") { return !has; }
  const std::int64_t bound = wholeOf(requirement["values"].at(0));
  if (op == "Gt") { return has && wholeOf(label) > bound; }
  return op == "Lt" && has && wholeOf(label) < bound;
}

/// A label selector: null selects nothing, {} everything.
bool selects(const Value& selector, const Value& labels) {
  if (!selector.isObject()) { return false; }
  for (const auto& [key, value] : selector["matchLabels"].members()) {
    if (!labels[key].isString() || labels[key].str() != value.str()) { return false; }
  }
  const auto& list = selector["matchExpressions"].items();
  return std::all_of(list.begin(), list.end(),
                     [&](const Value& r) { return meets(r, labels[r["key"].str()]); });
}

/// nodeSelector and required node affinity.
bool wantsNode(const Value& pod, const Value& node) {
  for (const auto& [key, value] : pod["spec"]["nodeSelector"].members()) {
    if (labelsOf(node)[key].str() != value.str() || !labelsOf(node)[key].isString()) { return false; }
  }
  const Value& required = pod["spec"]["affinity"]["nodeAffinity"][kRequired];
  if (!required.isObject()) { return true; }
  const auto& terms = required["nodeSelectorTerms"].items();
  return std::any_of(terms.begin(), terms.end(), [&](const Value& term) {
    const auto& by_label = term["matchExpressions"].items();
    const auto& by_field = term["matchFields"].items();
    const bool is_empty = by_label.empty() && by_field.empty();
    return !is_empty && std::all_of(by_label.begin(), by_label.end(), [&](const Value& r) {
      return meets(r, labelsOf(node)[r["key"].str()]);
    }) && std::all_of(by_field.begin(), by_field.end(), [&](const Value& r) {
      return meets(r, node["metadata"]["name"]);
    });
  });
}

bool tolerates(const Value& toleration, const Value& taint) {
  const auto effect = toleration["effect"].str();
  if (!effect.empty() && effect != taint["effect"].str()) { return false; }
  const auto key = toleration["key"].str();
  if (!key.empty() && key != taint["key"].str()) { return false; }
  return toleration["operator"].str() == "Exists" || toleration["value"].str() == taint["value"].str();
}

/// The first taint that keeps the pod off; nullptr: there is none.
const Value* untolerated(const Value& node, const Value& pod) {
  for (const Value& taint : node["spec"]["taints"].items()) {
    const auto effect = taint["effect"].str();
    if (effect != "NoSchedule" && effect != "NoExecute") { continue; }
    const auto& list = pod["spec"]["tolerations"].items();
    if (std::none_of(list.begin(), list.end(), [&](const Value& t) { return tolerates(t, taint); })) {
      return &taint;
    }
  }
  return nullptr;
}

bool isReady(const Value& node) {
  const auto& list = node["status"]["conditions"].items();
  return std::any_of(list.begin(), list.end(), [](const Value& c) {
    return c["type"].str() == "Ready" && c["status"].str() == "True";
  });
}

std::int64_t cpusOf(const Value& pod) {
  std::int64_t sum = 0;
  for (const Value& c : pod["spec"]["containers"].items()) {
    sum += wholeOf(c["resources"]["requests"]["cpu"]);
  }
  return sum;
}

struct Port {
  std::int64_t number = 0;
  std::string protocol;
  std::string address;
  [[nodiscard]] bool meets(const Port& other) const {
    const bool any = isAny(address) || isAny(other.address);
    return number == other.number && protocol == other.protocol && (any || address == other.address);
  }
  static bool isAny(const std::string& address) { return address.empty() || address == "0.0.0.0"; }
};
std::vector<Port> portsOf(const Value& pod) {
  std::vector<Port> out;
  for (const Value& c : pod["spec"]["containers"].items()) {
    for (const Value& p : c["ports"].items()) {
      const auto protocol = p["protocol"].str();
      const std::int64_t number = wholeOf(p["hostPort"]);
      if (number == 0) { continue; }
      out.push_back({number, protocol.empty() ? "TCP" : std::string{protocol}, str(p["hostIP"])});
    }
  }
  return out;
}

const json::Array& termsOf(const Value& pod, const char* kind) {
  return pod["spec"]["affinity"][kind][kRequired].items();
}

/// Does a term of `owner` mean that pod?
bool means(const Places& places, const Value& term, const Value& owner, const Value& pod) {
  const std::string ns = str(pod["metadata"]["namespace"]);
  const auto& names = term["namespaces"].items();
  const Value& by_label = term["namespaceSelector"];
  bool is_meant = std::any_of(names.begin(), names.end(), [&](const Value& n) { return n.str() == ns; });
  if (names.empty() && !by_label.isObject()) { is_meant = ns == owner["metadata"]["namespace"].str(); }
  const auto space = places.namespaces.find(ns);
  if (by_label.isObject() && space != places.namespaces.end()) {
    is_meant = is_meant || selects(by_label, labelsOf(*space->second));
  }
  return is_meant && selects(term["labelSelector"], labelsOf(pod));
}

/// nullopt: the node is not there, or has no such label.
std::optional<std::string> domainOf(const Places& places, const std::string& node, std::string_view key) {
  const auto it = places.nodes.find(node);
  if (it == places.nodes.end()) { return std::nullopt; }
  const Value& label = labelsOf(*it->second)[key];
  return label.isString() ? std::optional{str(label)} : std::nullopt;
}
bool sharesDomain(const Places& places, const std::string& a, const std::string& b, const Value& term) {
  const auto one = domainOf(places, a, term["topologyKey"].str());
  return one && one == domainOf(places, b, term["topologyKey"].str());
}

std::string nameOf(const Value& pod) { return str(pod["metadata"]["name"]); }

// ---- spread

bool isHard(const Value& constraint) { return constraint["whenUnsatisfiable"].str() == "DoNotSchedule"; }

/// Does the node count for that constraint of the pod?
bool isEligible(const Value& node, const Value& pod, const Value& constraint) {
  for (const Value& c : pod["spec"]["topologySpreadConstraints"].items()) {
    if (isHard(c) && !labelsOf(node)[c["topologyKey"].str()].isString()) { return false; }
  }
  const bool by_affinity = constraint["nodeAffinityPolicy"].str() != "Ignore";
  const bool by_taints = constraint["nodeTaintsPolicy"].str() == "Honor";
  return (!by_affinity || wantsNode(pod, node)) && (!by_taints || untolerated(node, pod) == nullptr);
}

bool isCounted(const Value& constraint, const Value& pod, const There& other) {
  return !other.leaves && (*other.pod)["metadata"]["namespace"].str() == pod["metadata"]["namespace"].str() &&
         selects(constraint["labelSelector"], labelsOf(*other.pod));
}

/// By domain, of all nodes that count.
std::map<std::string, std::int64_t> countsOf(const Places& places, const Value& pod, const Value& constraint,
                                             const std::vector<There>& pods) {
  std::map<std::string, std::int64_t> out;
  for (const auto& [name, node] : places.nodes) {
    if (!isEligible(*node, pod, constraint)) { continue; }
    std::int64_t& count = out[str(labelsOf(*node)[constraint["topologyKey"].str()])];
    for (const There& other : pods) {
      count += other.node == name && isCounted(constraint, pod, other) ? 1 : 0;
    }
  }
  return out;
}

std::string refusesConstraint(const Places& places, const std::string& node, const Value& pod,
                              const Value& constraint, const std::vector<There>& sure,
                              const std::vector<There>& most) {
  const auto domain = domainOf(places, node, constraint["topologyKey"].str());
  if (!domain) { return fmt::format("{} has no label {}", node, constraint["topologyKey"].str()); }
  auto at_least = countsOf(places, pod, constraint, sure);
  const auto at_most = countsOf(places, pod, constraint, most);
  std::optional<std::int64_t> least;
  for (const auto& [name, count] : at_most) {
    const std::int64_t here = name == *domain ? at_least[name] : count;
    least = std::min(least.value_or(here), here);
  }
  const auto domains = static_cast<std::int64_t>(at_most.size());
  const bool too_few = domains < constraint["minDomains"].intOr(1);
  const std::int64_t floor = too_few ? 0 : least.value_or(0);
  const std::int64_t itself = selects(constraint["labelSelector"], labelsOf(pod)) ? 1 : 0;
  const std::int64_t skew = at_least[*domain] + itself - floor;
  if (skew <= constraint["maxSkew"].intOr(1)) { return {}; }
  return fmt::format("with it {} has {} of its kind more than another {}, and {} are allowed", *domain, skew,
                     constraint["topologyKey"].str(), constraint["maxSkew"].intOr(1));
}

}  // namespace

std::int64_t gpusOf(const Value& pod) {
  const std::string claim = str(pod["metadata"]["annotations"]["gpu.scheduling/claim"]);
  std::int64_t sum =
      claim.empty() ? 0 : std::strtoll(claim.substr(claim.rfind('-') + 1).c_str(), nullptr, 10);
  for (const Value& c : pod["spec"]["containers"].items()) {
    sum += wholeOf(c["resources"]["limits"]["nvidia.com/gpu"]);
  }
  return sum;
}

std::int64_t priorityOf(const Value& pod) { return pod["spec"]["priority"].intOr(0); }

bool isFinished(const Value& pod) {
  const auto phase = pod["status"]["phase"].str();
  return phase == "Succeeded" || phase == "Failed";
}

bool hasNear(const Value& pod) { return !termsOf(pod, "podAffinity").empty(); }

bool hasSpread(const Value& pod) {
  const auto& list = pod["spec"]["topologySpreadConstraints"].items();
  return std::any_of(list.begin(), list.end(), isHard);
}

bool wantsNear(const Places& places, const Value& pod, const Value& other) {
  const auto& terms = termsOf(pod, "podAffinity");
  return !terms.empty() && std::all_of(terms.begin(), terms.end(),
                                       [&](const Value& term) { return means(places, term, pod, other); });
}

std::string refusesFacts(const Value& node, const Value& pod) {
  if (!isReady(node)) { return "the node is not Ready"; }
  if (node["spec"]["unschedulable"].boolOr(false)) { return "the node is unschedulable"; }
  if (const Value* taint = untolerated(node, pod)) {
    return fmt::format("the node has taint {}={}", (*taint)["key"].str(), (*taint)["value"].str());
  }
  return wantsNode(pod, node) ? "" : "the node is not one that the pod selects";
}

std::string refusesRoom(const Value& node, const Value& pod, const std::vector<There>& pods) {
  std::int64_t cpus = cpusOf(pod);
  std::int64_t gpus = gpusOf(pod);
  const bool asks_cpus = cpus > 0;
  const bool asks_gpus = gpus > 0;
  const auto ports = portsOf(pod);
  const std::string name = str(node["metadata"]["name"]);
  for (const There& other : pods) {
    if (other.node != name) { continue; }
    cpus += cpusOf(*other.pod);
    gpus += gpusOf(*other.pod);
    for (const Port& theirs : portsOf(*other.pod)) {
      const auto meets = [&](const Port& port) { return port.meets(theirs); };
      if (std::none_of(ports.begin(), ports.end(), meets)) { continue; }
      return fmt::format("{} has port {} of the node", nameOf(*other.pod), theirs.number);
    }
  }
  const Value& there = node["status"]["allocatable"];
  if (asks_cpus && cpus > wholeOf(there["cpu"])) {
    return fmt::format("that would be {} cpus of {}", cpus, there["cpu"].str());
  }
  if (asks_gpus && gpus > wholeOf(there["nvidia.com/gpu"])) {
    return fmt::format("that would be {} GPUs of \"{}\"", gpus, there["nvidia.com/gpu"].str());
  }
  return {};
}

std::string refusesApart(const Places& places, const std::string& node, const Value& pod,
                         const std::vector<There>& pods) {
  for (const There& other : pods) {
    for (const Value& term : termsOf(pod, "podAntiAffinity")) {
      if (!means(places, term, pod, *other.pod) || !sharesDomain(places, node, other.node, term)) {
        continue;
      }
      return fmt::format("the pod keeps away from {} on {}", nameOf(*other.pod), other.node);
    }
    for (const Value& term : termsOf(*other.pod, "podAntiAffinity")) {
      if (!means(places, term, *other.pod, pod) || !sharesDomain(places, node, other.node, term)) {
        continue;
      }
      return fmt::format("{} on {} keeps the pod away", nameOf(*other.pod), other.node);
    }
  }
  return {};
}

std::string refusesNear(const Places& places, const std::string& node, const Value& pod,
                        const std::vector<There>& sure, const std::vector<There>& most) {
  const auto& terms = termsOf(pod, "podAffinity");
  bool all = true;
  for (const Value& term : terms) {
    if (!domainOf(places, node, term["topologyKey"].str())) {
      return fmt::format("{} has no label {}", node, term["topologyKey"].str());
    }
    all = all && std::any_of(most.begin(), most.end(), [&](const There& other) {
            return wantsNear(places, pod, *other.pod) && sharesDomain(places, node, other.node, term);
          });
  }
  if (all) { return {}; }
  const bool is_any = std::any_of(sure.begin(), sure.end(), [&](const There& other) {
    return wantsNear(places, pod, *other.pod) &&
           std::any_of(terms.begin(), terms.end(), [&](const Value& term) {
             return domainOf(places, other.node, term["topologyKey"].str()).has_value();
           });
  });
  const bool is_first = !is_any && wantsNear(places, pod, pod);
  return is_first ? "" : "the pod it wants to be near is not there";
}

std::string refusesSpread(const Places& places, const std::string& node, const Value& pod,
                          const std::vector<There>& sure, const std::vector<There>& most) {
  for (const Value& constraint : pod["spec"]["topologySpreadConstraints"].items()) {
    if (!isHard(constraint)) { continue; }
    auto why = refusesConstraint(places, node, pod, constraint, sure, most);
    if (!why.empty()) { return why; }
  }
  return {};
}

std::string refuses(const Places& places, const std::string& node, const Value& pod,
                    const std::vector<There>& pods) {
  const Value& there = *places.nodes.at(node);
  if (auto why = refusesFacts(there, pod); !why.empty()) { return why; }
  if (auto why = refusesRoom(there, pod, pods); !why.empty()) { return why; }
  if (auto why = refusesSpread(places, node, pod, pods, pods); !why.empty()) { return why; }
  if (auto why = refusesNear(places, node, pod, pods, pods); !why.empty()) { return why; }
  return refusesApart(places, node, pod, pods);
}

}  // namespace gs::sim::slow
