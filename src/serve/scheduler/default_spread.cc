#include "serve/scheduler/default_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "json/value.h"
#include "yaml/yaml.h"

namespace gs::serve {
namespace {

constexpr std::size_t kMostConstraints = 16;

tl::unexpected<Error> badSpread(const std::string& what) {
  return fail(Code::Invalid, fmt::format("--default-spread-constraints: {}", what));
}

model::SpreadConstraint anyway(const char* key, std::int32_t max_skew) {
  model::SpreadConstraint out;
  out.topology_key = key;
  out.max_skew = max_skew;
  out.is_required = false;
  return out;
}

/// kube-scheduler's (pkg/scheduler/framework/plugins/podtopologyspread, systemDefaultConstraints).
model::DefaultSpread systemDefault() {
  constexpr std::int32_t kHostSkew = 3;
  constexpr std::int32_t kZoneSkew = 5;
  return {{anyway("kubernetes.io/hostname", kHostSkew), anyway("topology.kubernetes.io/zone", kZoneSkew)},
          true};
}

Result<model::SpreadConstraint> constraintOf(const json::Value& v, std::size_t number) {
  const auto bad = [&](const char* what) { return badSpread(fmt::format("entry {}: {}", number, what)); };
  if (!v.isObject()) { return bad("is no object; write {topologyKey, maxSkew, whenUnsatisfiable}"); }
  for (const auto& [name, value] : v.members()) {
    const bool known = name == "topologyKey" || name == "maxSkew" || name == "whenUnsatisfiable";
    if (!known) {
      return bad("has other fields than topologyKey, maxSkew and whenUnsatisfiable; leave them out");
    }
  }
  model::SpreadConstraint out;
  out.topology_key = std::string{v["topologyKey"].str()};
  if (out.topology_key.empty()) { return bad("has no topologyKey; write a label of nodes"); }
  const std::int64_t max_skew = v["maxSkew"].intOr(0);
  if (max_skew < 1 || max_skew > std::numeric_limits<std::int32_t>::max()) {
    return bad("maxSkew is no whole number above 0");
  }
  out.max_skew = static_cast<std::int32_t>(max_skew);
  const std::string_view when = v["whenUnsatisfiable"].str();
  if (when != "DoNotSchedule" && when != "ScheduleAnyway") {
    return bad("whenUnsatisfiable is neither DoNotSchedule nor ScheduleAnyway; write one of them");
  }
  out.is_required = when == "DoNotSchedule";
  return out;
}

Result<json::Value> listOf(const std::string& text) {
  const auto documents = yaml::toJson(text);
  if (!documents) { return badSpread(documents.error().message); }
  if (documents->size() != 1) { return badSpread("is no list; write System, or a list in YAML or JSON"); }
  auto value = json::parse(documents->front());
  if (!value) { return badSpread(value.error().message); }
  if (!value->isArray()) { return badSpread("is no list; write System, or a list in YAML or JSON"); }
  return value;
}

}  // namespace

Status readDefaultSpread(const std::string& text, model::DefaultSpread& into) {
  into = text == "System" ? systemDefault() : model::DefaultSpread{};
  if (text.empty() || into.is_system) { return {}; }
  const auto list = listOf(text);
  if (!list) { return tl::unexpected(list.error()); }
  for (const json::Value& one : list->items()) {
    auto constraint = constraintOf(one, into.constraints.size() + 1);
    if (!constraint) { return tl::unexpected(constraint.error()); }
    const bool again = std::any_of(into.constraints.begin(), into.constraints.end(), [&](const auto& other) {
      return other.topology_key == constraint->topology_key && other.is_required == constraint->is_required;
    });
    if (again) {
      return badSpread(fmt::format("topologyKey {} is there twice with the same whenUnsatisfiable; keep one",
                                   constraint->topology_key));
    }
    into.constraints.push_back(*std::move(constraint));
  }
  if (into.constraints.size() <= kMostConstraints) { return {}; }
  return badSpread(
      fmt::format("has {} entries; write {} at most", into.constraints.size(), kMostConstraints));
}

}  // namespace gs::serve
