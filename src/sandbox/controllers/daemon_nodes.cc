#include "sandbox/controllers/daemon_nodes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

void tolerate(Value& pod, const char* key, const char* effect) {
  pod.child("spec")
      .child("tolerations")
      .array()
      .emplace_back(Object{{"key", key}, {"operator", "Exists"}, {"effect", effect}});
}

bool tolerates(const Value& t, const Value& taint) {
  const auto effect = t["effect"].str();
  const auto key = t["key"].str();
  if (!effect.empty() && effect != taint["effect"].str()) { return false; }
  const bool exists = t["operator"].str() == "Exists";
  if (key.empty() ? !exists : key != taint["key"].str()) { return false; }
  return exists || t["value"].str() == taint["value"].str();
}

bool toleratesAll(const Value& pod, const Value& node, std::initializer_list<std::string_view> effects) {
  const auto& taints = node["spec"]["taints"].items();
  const auto& tolerations = pod["spec"]["tolerations"].items();
  return std::all_of(taints.begin(), taints.end(), [&](const Value& taint) {
    const bool counts = std::find(effects.begin(), effects.end(), taint["effect"].str()) != effects.end();
    return !counts || std::any_of(tolerations.begin(), tolerations.end(),
                                  [&](const Value& t) { return tolerates(t, taint); });
  });
}

std::optional<std::int64_t> numberIn(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{out} : std::nullopt;
}

/// `there` null: the node has no such label.
bool holds(const Value& r, const Value* there) {
  const auto op = r["operator"].str();
  const auto& values = r["values"].items();
  const bool listed = there != nullptr && std::find(values.begin(), values.end(), *there) != values.end();
  if (op == "In") { return listed; }
  if (op == "NotIn") { return !listed; }
  if (op == "Exists") { return there != nullptr; }
  if (op == "DoesNotExist") { return there == nullptr; }
  if (there == nullptr || values.empty()) { return false; }
  const auto left = numberIn(there->str());
  const auto right = numberIn(values.front().str());
  return left && right && (op == "Gt" ? *left > *right : op == "Lt" && *left < *right);
}

bool matchesTerm(const Value& term, const Value& node) {
  const auto& labels = term["matchExpressions"].items();
  const auto& fields = term["matchFields"].items();
  const Value& meta = node["metadata"];
  const bool says_anything = !labels.empty() || !fields.empty();
  return says_anything &&
         std::all_of(labels.begin(), labels.end(),
                     [&](const Value& r) { return holds(r, meta["labels"].find(r["key"].str())); }) &&
         std::all_of(fields.begin(), fields.end(),
                     [&](const Value& r) { return holds(r, meta.find("name")); });
}

bool selectsNode(const Value& spec, const Value& node) {
  const auto& wanted = spec["nodeSelector"].members();
  const Value& labels = node["metadata"]["labels"];
  const bool selected = std::all_of(wanted.begin(), wanted.end(),
                                    [&](const auto& one) { return labels[one.first] == one.second; });
  const Value& required = spec["affinity"]["nodeAffinity"][kRequired];
  if (!selected || !required.isObject()) { return selected; }
  const auto& terms = required["nodeSelectorTerms"].items();
  return std::any_of(terms.begin(), terms.end(), [&](const Value& t) { return matchesTerm(t, node); });
}

}  // namespace

json::Value daemonPod(const json::Value& set, const std::string& node) {
  Value pod = podOf(set);
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    tolerate(pod, key, "NoExecute");
  }
  for (const char* key : {"node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure",
                          "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"}) {
    tolerate(pod, key, "NoSchedule");
  }
  if (pod["spec"]["hostNetwork"].boolOr(false)) {
    tolerate(pod, "node.kubernetes.io/network-unavailable", "NoSchedule");
  }
  if (pod["spec"]["nodeName"].str().empty()) { pod.child("spec").set("nodeName", node); }
  return pod;
}

bool belongsOn(const json::Value& pod, const json::Value& node) {
  return pod["spec"]["nodeName"] == node["metadata"]["name"] && selectsNode(pod["spec"], node) &&
         toleratesAll(pod, node, {"NoSchedule", "NoExecute"});
}

bool mayStayOn(const json::Value& pod, const json::Value& node) {
  return pod["spec"]["nodeName"] == node["metadata"]["name"] && selectsNode(pod["spec"], node) &&
         toleratesAll(pod, node, {"NoExecute"});
}

}  // namespace gs::sandbox::controllers
