#include "kapi/decode_node_affinity.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/dns_name.h"
#include "base/sort_unique.h"
#include "kapi/fields.h"
#include "model/map.h"

namespace gs::kapi {
namespace {

using json::View;
using NodeOp = model::NodeRequirement::Op;

constexpr std::size_t kMostRequirements = 256;  // with their terms
constexpr std::size_t kMostNodeValues = 4096;   // of all of them
constexpr std::int64_t kMostWeight = 100;
constexpr std::int64_t kMostPort = 65'535;

std::optional<NodeOp> opOf(std::string_view text) {
  if (text == "In") { return NodeOp::In; }
  if (text == "NotIn") { return NodeOp::NotIn; }
  if (text == "Exists") { return NodeOp::Exists; }
  if (text == "DoesNotExist") { return NodeOp::DoesNotExist; }
  if (text == "Gt") { return NodeOp::Gt; }
  if (text == "Lt") { return NodeOp::Lt; }
  return std::nullopt;
}

/// "example.com/name" or "name".
bool isLabelKey(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) { return model::isLabelValue(key); }
  return isDnsSubdomain(key.substr(0, slash)) && model::isLabelValue(key.substr(slash + 1));
}

bool hasRightNumber(NodeOp op, const std::vector<std::string>& values) {
  switch (op) {
    case NodeOp::In:
    case NodeOp::NotIn: return !values.empty();
    case NodeOp::Exists:
    case NodeOp::DoesNotExist: return values.empty();
    case NodeOp::Gt:
    case NodeOp::Lt: return values.size() == 1 && model::integerOf(values.front()).has_value();
  }
  return false;
}

/// nullopt: an operator that there is not.
std::optional<model::NodeRequirement> requirementOf(const View& v) {
  const auto op = opOf(v["operator"].str());
  if (!op) { return std::nullopt; }
  model::NodeRequirement out{text(v["key"]), *op, {}};
  for (const View value : v["values"].items()) { out.values.push_back(text(value)); }
  return out;
}

bool isRightForLabels(const model::NodeRequirement& r) {
  return isLabelKey(r.key) && hasRightNumber(r.op, r.values) &&
         std::all_of(r.values.begin(), r.values.end(),
                     [](const std::string& value) { return value.empty() || model::isLabelValue(value); });
}

bool isRightForFields(const model::NodeRequirement& r) {
  return (r.op == NodeOp::In || r.op == NodeOp::NotIn) && r.values.size() == 1;
}

/// False: one of them is wrong.
template <class IsRight>
bool readRequirements(const View& list, const IsRight& is_right, std::vector<model::NodeRequirement>& into) {
  for (const View v : list.items()) {
    auto one = requirementOf(v);
    if (!one || !is_right(*one)) { return false; }
    sortUnique(one->values);
    into.push_back(*std::move(one));
  }
  sortUnique(into);
  return true;
}

/// How many requirements, their terms with them, and how many values.
struct AffinitySize {
  std::size_t requirements = 0;
  std::size_t values = 0;

  void add(const View& term) {
    ++requirements;
    for (const char* list : {"matchExpressions", "matchFields"}) {
      for (const View r : term[list].items()) {
        ++requirements;
        values += r["values"].items().size();
      }
    }
  }
};

constexpr const char* kRequiredNodeTerms = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferredNodeTerms = "preferredDuringSchedulingIgnoredDuringExecution";

bool isTooLarge(const View& affinity, std::set<std::string>& unsupported) {
  AffinitySize size;
  for (const View term : affinity[kRequiredNodeTerms]["nodeSelectorTerms"].items()) { size.add(term); }
  for (const View one : affinity[kPreferredNodeTerms].items()) { size.add(one["preference"]); }
  const auto look = [&](const char* what, std::size_t most, std::size_t count) {
    if (count <= most) { return false; }
    unsupported.insert(
        fmt::format("spec.affinity.nodeAffinity with more than {} {} ({})", most, what, count));
    return true;
  };
  return look("terms and expressions", kMostRequirements, size.requirements) ||
         look("values", kMostNodeValues, size.values);
}

bool restartsAll(const View& container) {
  const auto& rules = container["restartPolicyRules"].items();
  return std::any_of(rules.begin(), rules.end(),
                     [](const View& rule) { return rule["action"].str() == "RestartAllContainers"; });
}

bool hasMountOptions(const View& container) {
  const auto& mounts = container["volumeMounts"].items();
  return std::any_of(mounts.begin(), mounts.end(),
                     [](const View& mount) { return !mount["bindMountOptions"].items().empty(); });
}

}  // namespace

model::NodeTerm nodeTermOf(const View& term) {
  model::NodeTerm out;
  const bool right = readRequirements(term["matchExpressions"], isRightForLabels, out.labels) &&
                     readRequirements(term["matchFields"], isRightForFields, out.fields);
  return right ? out : model::NodeTerm{};
}

model::NodeAffinity nodeAffinityOf(const View& spec, std::set<std::string>& unsupported) {
  model::NodeAffinity out;
  const View affinity = spec["affinity"]["nodeAffinity"];
  if (isTooLarge(affinity, unsupported)) { return out; }
  const View required = affinity[kRequiredNodeTerms];
  out.is_required = required.isObject();
  for (const View term : required["nodeSelectorTerms"].items()) { out.required.push_back(nodeTermOf(term)); }
  sortUnique(out.required);
  for (const View one : affinity[kPreferredNodeTerms].items()) {
    const auto weight = static_cast<std::int32_t>(bounded(one["weight"], kMostWeight));
    auto term = nodeTermOf(one["preference"]);
    if (weight > 0 && term != model::NodeTerm{}) { out.preferred.push_back({weight, std::move(term)}); }
  }
  std::sort(out.preferred.begin(), out.preferred.end());
  return out;
}

std::vector<model::HostPort> hostPortsOf(const View& spec) {
  std::vector<model::HostPort> out;
  const auto add = [&](const View& container) {
    for (const View p : container["ports"].items()) {
      const std::int64_t port = bounded(p["hostPort"], kMostPort);
      if (port == 0) { continue; }
      const std::string_view protocol = p["protocol"].str();
      const std::string_view ip = p["hostIP"].str();
      out.push_back({static_cast<std::int32_t>(port), std::string{protocol.empty() ? "TCP" : protocol},
                     std::string{ip.empty() ? model::kEveryIp : ip}});
    }
  };
  for (const View container : spec["initContainers"].items()) {
    if (container["restartPolicy"].str() == "Always") { add(container); }
  }
  for (const View container : spec["containers"].items()) { add(container); }
  sortUnique(out);
  return out;
}

std::vector<std::string> nodeFeaturesOf(const View& spec) {
  std::vector<std::string> out;
  for (const char* list : {"containers", "initContainers"}) {
    for (const View container : spec[list].items()) {
      if (restartsAll(container)) { out.emplace_back("RestartAllContainersOnContainerExits"); }
      if (hasMountOptions(container)) { out.emplace_back("VolumeBindMountOptions"); }
    }
  }
  if (spec["hostNetwork"].boolOr(false) && !spec["hostUsers"].boolOr(true)) {
    out.emplace_back("UserNamespacesHostNetworkSupport");
  }
  sortUnique(out);
  return out;
}

}  // namespace gs::kapi
