#include "apiserver/meta/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "apiserver/meta/label_parser.h"

namespace gs::apiserver {
namespace {

using json::Value;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) { return parts; }
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> splitPath(std::string_view path) {
  std::vector<std::string> out;
  for (const auto step : split(path, '.')) { out.emplace_back(step); }
  return out;
}

/// The fields of events by the names of v1, and where they are stored (in the form of events.k8s.io).
const std::map<std::string_view, const char*>& coreEventFields() {
  static const std::map<std::string_view, const char*> kFields{
      {"involvedObject.kind", "regarding.kind"},
      {"involvedObject.namespace", "regarding.namespace"},
      {"involvedObject.name", "regarding.name"},
      {"involvedObject.uid", "regarding.uid"},
      {"involvedObject.apiVersion", "regarding.apiVersion"},
      {"involvedObject.resourceVersion", "regarding.resourceVersion"},
      {"involvedObject.fieldPath", "regarding.fieldPath"},
      {"reason", "reason"},
      {"reportingComponent", "reportingController"},
      {"source", "deprecatedSource.component"},
      {"type", "type"}};
  return kFields;
}

/// Where the field that a selector of this resource names is stored; nullopt: it may not be named.
std::optional<std::string> storedField(const std::string& resource, std::string_view field) {
  static constexpr std::array kPods{
      "spec.nodeName",           "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork",        "status.phase",       "status.podIP",       "status.podIPs",
      "status.nominatedNodeName"};
  const auto& events = coreEventFields();
  const bool event = resource == "/events" || resource == "events.k8s.io/events";
  const bool known =
      field == "metadata.name" || field == "metadata.namespace" ||
      (resource == "/pods" && std::find(kPods.begin(), kPods.end(), field) != kPods.end()) ||
      (resource == "/nodes" && field == "spec.unschedulable") ||
      (resource == "resource.k8s.io/resourceslices" &&
       (field == "spec.nodeName" || field == "spec.driver" || field == "spec.pool.name")) ||
      (resource == "batch/jobs" && field == "status.succeeded") ||
      (resource == "/namespaces" && field == "status.phase") ||
      (resource == "events.k8s.io/events" && !field.starts_with("involvedObject.") &&
       field != "reportingComponent" &&
       std::any_of(events.begin(), events.end(), [&](const auto& e) { return e.second == field; }));
  if (known) { return std::string{field}; }
  const auto core = events.find(field);
  if (!event || core == events.end() || resource != "/events") { return std::nullopt; }
  return core->second;
}

/// "" for what is absent; a flag that is absent is false.
std::string textOf(const Value& v, const std::vector<std::string>& path) {
  if (v.isString()) { return std::string{v.str()}; }
  if (!v.isNull()) { return json::print(v); }
  if (path.back() == "succeeded") { return "0"; }
  return path.back() == "unschedulable" || path.back() == "hostNetwork" ? "false" : "";
}

Refused unknownField(const std::string& resource, std::string_view field) {
  if (resource == "resource.k8s.io/resourceslices") {
    return badRequest(
        fmt::format("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}", field));
  }
  if (resource.starts_with("apps/") || resource.starts_with("resource.k8s.io/")) {
    return badRequest(fmt::format(
        "\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", field));
  }
  if (resource == "batch/jobs") {
    return badRequest(fmt::format("field label \"{}\" not supported for Job", field));
  }
  return badRequest(fmt::format("field label not supported: {}", field));
}

bool compares(Selector::Op op, const std::string& text, const std::string& limit) {
  std::int64_t a = 0;
  std::int64_t b = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), a);
  std::from_chars(limit.data(), limit.data() + limit.size(), b);
  const bool number = error == std::errc{} && end == text.data() + text.size();
  return number && (op == Selector::Op::Greater ? a > b : a < b);
}

}  // namespace

Answer<Selector> Selector::labels(std::string_view text) {
  auto requirements = parseLabelSelector(text);
  if (!requirements) { return badRequest(requirements.error()); }
  Selector s;
  s.requirements_ = *std::move(requirements);
  return s;
}

Answer<Selector> Selector::fields(std::string_view text, const std::string& resource) {
  Selector s;
  if (text.empty()) { return s; }
  for (const auto part : split(text, ',')) {
    if (part.empty()) { continue; }
    const auto ne = part.find("!=");
    const auto eq = part.find('=');
    if (eq == std::string_view::npos) {
      return badRequest(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part));
    }
    const bool negated = ne != std::string_view::npos && ne + 1 == eq;
    const auto field = part.substr(0, negated ? ne : eq);
    auto value = part.substr(eq + 1);
    if (!negated && value.starts_with('=')) { value.remove_prefix(1); }
    const auto where = storedField(resource, resource == "batch/jobs" && field == "status.successful"
                                                 ? std::string_view{"status.succeeded"}
                                                 : field);
    if (!where) { return unknownField(resource, field); }
    s.requirements_.push_back({splitPath(*where), negated ? Op::NotIn : Op::In, {std::string{value}}});
  }
  return s;
}

bool Selector::matches(const json::Value& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    const Value* at = &object;
    for (const auto& step : r.path) { at = &(*at)[step]; }
    const bool label = r.path.size() > 2 && r.path[1] == "labels";
    const bool there = !at->isNull() || !label;
    const std::string text = textOf(*at, r.path);
    const bool listed = there && std::find(r.values.begin(), r.values.end(), text) != r.values.end();
    switch (r.op) {
      case Op::In: return listed;
      case Op::NotIn: return !listed;
      case Op::Exists: return there;
      case Op::Absent: return !there;
      case Op::Greater:
      case Op::Less: return there && compares(r.op, text, r.values.front());
    }
    return false;
  });
}

}  // namespace gs::apiserver
