#include "test/filters/draw_near.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/filters/words.h"

namespace gs::filters {
namespace {

json::Array someOf(Rng& rng, const std::array<const char*, 3>& words) {
  json::Array out{oneOf(rng, words)};
  if (rng.chance(30)) { out.emplace_back(oneOf(rng, words)); }
  return out;
}

json::Object podRequirement(Rng& rng, const json::Object& own) {
  constexpr std::array kOps{"In", "NotIn", "Exists", "DoesNotExist"};
  const std::string key = rng.chance(90) ? oneOf(rng, kPodKeys) : "none";
  const std::string op = oneOf(rng, kOps);
  json::Object out{{"key", key}, {"operator", op}};
  if (op == "Exists" || op == "DoesNotExist") { return out; }
  json::Array values{podValue(rng)};
  if (rng.chance(30)) { values.emplace_back(podValue(rng)); }
  const json::Value* has = own.find(key);
  if (has != nullptr && rng.chance(50)) { values.push_back(*has); }
  out.set("values", std::move(values));
  return out;
}

/// An expression as the API server adds it for each of `keys` that the pod has.
void merge(json::Value& selector, const std::vector<std::string>& keys, const char* op,
           const json::Object& own) {
  if (!selector.isObject()) { return; }  // it means nobody, and stays so
  for (const std::string& key : keys) {
    if (const json::Value* value = own.find(key)) {
      selector.child("matchExpressions")
          .array()
          .push_back(json::Object{{"key", key}, {"operator", op}, {"values", json::Array{*value}}});
    }
  }
}

std::set<std::string> keysOf(const json::Value& selector) {
  std::set<std::string> out;
  for (const auto& [key, value] : selector["matchLabels"].members()) { out.insert(key); }
  for (const json::Value& one : selector["matchExpressions"].items()) {
    out.insert(std::string{one["key"].str()});
  }
  return out;
}

/// A key for matchLabelKeys: those that the selector has are refused.
std::vector<std::string> freeKeys(Rng& rng, const json::Value& selector) {
  std::vector<std::string> out;
  const std::set<std::string> taken = keysOf(selector);
  for (const char* key : kPodKeys) {
    if (!taken.contains(key) && rng.chance(60)) { out.emplace_back(key); }
  }
  return out;
}

json::Array textsOf(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

json::Value namespaceSelector(Rng& rng) {
  if (rng.chance(35)) { return json::Object{}; }
  if (rng.chance(50)) { return json::Object{{"matchLabels", json::Object{{"team", oneOf(rng, kTeams)}}}}; }
  constexpr std::array kOps{"In", "NotIn", "Exists", "DoesNotExist"};
  const std::string op = oneOf(rng, kOps);
  json::Object one{{"key", "team"}, {"operator", op}};
  if (op == "In" || op == "NotIn") { one.set("values", json::Array{oneOf(rng, kTeams)}); }
  return json::Object{{"matchExpressions", json::Array{std::move(one)}}};
}

json::Object podTerm(Rng& rng, const json::Object& own) {
  json::Value selector = drawSelector(rng, own);
  json::Object out{{"topologyKey", rng.chance(97) ? oneOf(rng, kDomains) : "none"}};
  if (selector.isObject() && rng.chance(20)) {
    std::vector<std::string> keys = freeKeys(rng, selector);
    if (!keys.empty() && rng.chance(40)) {
      const std::vector<std::string> not_these{keys.back()};
      keys.pop_back();
      out.set("mismatchLabelKeys", textsOf(not_these));
      merge(selector, keys, "In", own);
      merge(selector, not_these, "NotIn", own);
    } else {
      merge(selector, keys, "In", own);
    }
    if (!keys.empty()) { out.set("matchLabelKeys", textsOf(keys)); }
  }
  if (!selector.isNull()) { out.set("labelSelector", std::move(selector)); }
  if (rng.chance(30)) { out.set("namespaces", someOf(rng, kNamespaces)); }
  if (rng.chance(25)) { out.set("namespaceSelector", namespaceSelector(rng)); }
  return out;
}

json::Object affinityOf(Rng& rng, const json::Object& own, std::uint64_t terms, unsigned preferred) {
  json::Object out;
  if (terms > 0) {
    json::Array all;
    for (std::uint64_t n = 0; n < terms; ++n) { all.push_back(podTerm(rng, own)); }
    out.set("requiredDuringSchedulingIgnoredDuringExecution", std::move(all));
  }
  if (rng.chance(preferred)) {
    out.set(
        "preferredDuringSchedulingIgnoredDuringExecution",
        json::Array{json::Object{{"weight", 1 + rng.below(100)}, {"podAffinityTerm", podTerm(rng, own)}}});
  }
  return out;
}

json::Object nodeRequirement(Rng& rng) {
  constexpr std::array kOps{"In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  const std::string op = oneOf(rng, kOps);
  if (op == "Gt" || op == "Lt") {
    return json::Object{{"key", rng.chance(85) ? "size" : kZone},
                        {"operator", op},
                        {"values", json::Array{oneOf(rng, kNumbers)}}};
  }
  constexpr std::array kKeys{"rack", "disk", "size", "none", kHostname};
  const std::string key = rng.chance(25) ? kZone : oneOf(rng, kKeys);
  json::Object out{{"key", key}, {"operator", op}};
  if (op == "Exists" || op == "DoesNotExist") { return out; }
  json::Array values;
  for (std::uint64_t n = 1 + rng.below(2); n > 0; --n) {
    values.emplace_back(key == kZone       ? zoneValue(rng)
                        : key == "rack"    ? oneOf(rng, kRacks)
                        : key == "disk"    ? oneOf(rng, kDisks)
                        : key == kHostname ? fmt::format("node-{}", rng.below(4))
                                           : oneOf(rng, kSizes));
  }
  out.set("values", std::move(values));
  return out;
}

json::Object toleration(Rng& rng, bool compares) {
  json::Object out;
  if (compares && rng.chance(60)) {
    out = {{"key", oneOf(rng, kTaintKeys)}, {"operator", rng.chance(50) ? "Lt" : "Gt"}};
    constexpr std::array kValues{"1", "5", "2", "3"};
    out.set("value", oneOf(rng, kValues));
  } else if (rng.chance(50)) {
    out.set("operator", "Exists");
    if (rng.chance(75)) { out.set("key", oneOf(rng, kTaintKeys)); }
  } else {
    out.set("key", oneOf(rng, kTaintKeys));
    if (rng.chance(70)) { out.set("operator", "Equal"); }
    const std::string value = compares ? oneOf(rng, kTaintNumbers) : oneOf(rng, kTaintValues);
    if (!value.empty()) { out.set("value", value); }
  }
  if (rng.chance(60)) { out.set("effect", oneOf(rng, kEffects)); }
  const json::Value* effect = out.find("effect");
  if (effect != nullptr && effect->str() == "NoExecute" && rng.chance(30)) {
    out.set("tolerationSeconds", 60);
  }
  return out;
}

}  // namespace

json::Value drawSelector(Rng& rng, const json::Object& own) {
  if (rng.chance(4)) { return {}; }
  json::Object out;
  if (rng.chance(8)) { return out; }  // everybody
  if (rng.chance(50)) {
    const std::string key = oneOf(rng, kPodKeys);
    const json::Value* has = own.find(key);
    out.set("matchLabels",
            json::Object{{key, has != nullptr && rng.chance(50) ? *has : json::Value{podValue(rng)}}});
    if (rng.chance(70)) { return out; }
  }
  json::Array all;
  for (std::uint64_t n = rng.chance(70) ? 1 : 2; n > 0; --n) { all.push_back(podRequirement(rng, own)); }
  out.set("matchExpressions", std::move(all));
  return out;
}

json::Object drawNodeTerm(Rng& rng, std::uint64_t nodes) {
  json::Object out;
  if (rng.chance(4)) { return out; }  // it matches no node
  json::Array labels;
  for (std::uint64_t n = rng.chance(60) ? 1 : rng.below(3); n > 0; --n) {
    labels.push_back(nodeRequirement(rng));
  }
  if (!labels.empty()) { out.set("matchExpressions", std::move(labels)); }
  if (rng.chance(25)) {
    json::Array fields;
    for (std::uint64_t n = rng.chance(80) ? 1 : 2; n > 0; --n) {
      fields.push_back(json::Object{{"key", "metadata.name"},
                                    {"operator", rng.chance(70) ? "In" : "NotIn"},
                                    {"values", json::Array{fmt::format("node-{}", rng.below(nodes + 1))}}});
    }
    out.set("matchFields", std::move(fields));
  }
  return out;
}

json::Object drawNodeAffinity(Rng& rng, std::uint64_t nodes) {
  json::Object out;
  if (rng.chance(85)) {
    json::Array terms;
    for (std::uint64_t n = rng.chance(55) ? 1 : 1 + rng.below(3); n > 0; --n) {
      terms.push_back(drawNodeTerm(rng, nodes));
    }
    out.set("requiredDuringSchedulingIgnoredDuringExecution",
            json::Object{{"nodeSelectorTerms", std::move(terms)}});
  }
  if (rng.chance(20)) {
    out.set("preferredDuringSchedulingIgnoredDuringExecution",
            json::Array{json::Object{
                {"weight", 10},
                {"preference", json::Object{{"matchExpressions", json::Array{nodeRequirement(rng)}}}}}});
  }
  return out;
}

json::Object drawPodAffinity(Rng& rng, const json::Object& own, bool bound) {
  json::Object out;
  const std::uint64_t near = rng.chance(bound ? 15 : 50) ? 1 + rng.below(2) : 0;
  const std::uint64_t apart = rng.chance(bound ? 35 : 45) ? 1 + rng.below(2) : 0;
  json::Object with = affinityOf(rng, own, near, 15);
  json::Object without = affinityOf(rng, own, apart, 15);
  if (!with.empty()) { out.set("podAffinity", std::move(with)); }
  if (!without.empty()) { out.set("podAntiAffinity", std::move(without)); }
  return out;
}

json::Array drawSpread(Rng& rng, const json::Object& own, Release release) {
  json::Array out;
  std::set<std::pair<std::string, bool>> taken;
  for (std::uint64_t n = rng.chance(60) ? 1 : 1 + rng.below(3); n > 0; --n) {
    const std::string key = rng.chance(97) ? oneOf(rng, kDomains) : "none";
    const bool hard = rng.chance(85);
    if (!taken.emplace(key, hard).second) { continue; }
    json::Object one{{"maxSkew", rng.chance(70) ? 1 : 1 + rng.below(3)},
                     {"topologyKey", key},
                     {"whenUnsatisfiable", hard ? "DoNotSchedule" : "ScheduleAnyway"}};
    if (hard && rng.chance(25)) { one.set("minDomains", 1 + rng.below(4)); }
    constexpr std::array kPolicies{"Honor", "Ignore"};
    if (rng.chance(35)) { one.set("nodeAffinityPolicy", oneOf(rng, kPolicies)); }
    if (rng.chance(35)) { one.set("nodeTaintsPolicy", oneOf(rng, kPolicies)); }
    json::Value selector = drawSelector(rng, own);
    if (selector.isObject() && rng.chance(25)) {
      const std::vector<std::string> keys = freeKeys(rng, selector);
      if (!keys.empty()) { one.set("matchLabelKeys", textsOf(keys)); }
      if (release == Release::Newest) { merge(selector, keys, "In", own); }
    }
    if (!selector.isNull()) { one.set("labelSelector", std::move(selector)); }
    out.push_back(std::move(one));
  }
  return out;
}

json::Array drawTolerations(Rng& rng, Fields fields) {
  json::Array out;
  if (has(fields, Field::Taints) || has(fields, Field::Comparisons)) {
    for (std::uint64_t n = rng.below(4); n > 0; --n) {
      out.push_back(toleration(rng, has(fields, Field::Comparisons)));
    }
    if (rng.chance(10)) {
      out.push_back(json::Object{
          {"key", "node.kubernetes.io/unschedulable"}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
    }
  }
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    out.push_back(json::Object{
        {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
  }
  return out;
}

}  // namespace gs::filters
