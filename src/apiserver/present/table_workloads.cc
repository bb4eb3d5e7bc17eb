#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apiserver/meta/label_selector.h"
#include "apiserver/present/age.h"
#include "apiserver/present/table.h"
#include "base/ascii.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

/// "a,b": this member of each container of the template.
Value containersOf(const Value& object, const char* member) {
  std::string out;
  for (const Value& c : object["spec"]["template"]["spec"]["containers"].items()) {
    out += fmt::format("{}{}", out.empty() ? "" : ",", c[member].str());
  }
  return Value{out};
}

Value selectorOf(const Value& object) {
  const Value& selector = object["spec"]["selector"];
  if (selector.isNull()) { return Value{"<none>"}; }
  std::string text = selectorText(selector);
  return Value{text.empty() ? "<none>" : std::move(text)};
}

Value nodeSelectorOf(const Value& object) {
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : object["spec"]["template"]["spec"]["nodeSelector"].members()) {
    sorted[key] = value.str();
  }
  std::string out;
  for (const auto& [key, value] : sorted) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value);
  }
  return Value{out.empty() ? "<none>" : out};
}

Value count(const Value& part, const char* member) { return Value{part[member].intOr(0)}; }

bool holdsNow(const Value& object, std::string_view type) {
  const auto& all = object["status"]["conditions"].items();
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& c) { return c["type"].str() == type && c["status"].str() == "True"; });
}

const char* jobState(const Value& job) {
  if (holdsNow(job, "Complete")) { return "Complete"; }
  if (holdsNow(job, "Failed")) { return "Failed"; }
  if (!job["metadata"]["deletionTimestamp"].isNull()) { return "Terminating"; }
  if (holdsNow(job, "Suspended")) { return "Suspended"; }
  return holdsNow(job, "FailureTarget") ? "FailureTarget" : "Running";
}

std::string completions(const Value& job) {
  const Value& spec = job["spec"];
  const auto succeeded = job["status"]["succeeded"].intOr(0);
  if (!spec["completions"].isNull()) { return fmt::format("{}/{}", succeeded, spec["completions"].intOr(0)); }
  const auto parallelism = spec["parallelism"].intOr(0);
  return parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism) : fmt::format("{}/1", succeeded);
}

std::string duration(const Value& status, Wall now) {
  const auto begin = kapi::parseTime(status["startTime"].str());
  if (!begin) { return {}; }
  return ageText(kapi::parseTime(status["completionTime"].str()).value_or(now) - *begin);
}

/// "statefulset.apps/web"
std::string controllerOf(const Value& object) {
  for (const Value& owner : object["metadata"]["ownerReferences"].items()) {
    if (!owner["controller"].boolOr(false)) { continue; }
    const auto version = owner["apiVersion"].str();
    const auto slash = version.find('/');
    const bool has_group = slash != std::string_view::npos;
    return fmt::format("{}{}{}/{}", inLowerCase(owner["kind"].str()), has_group ? "." : "",
                       has_group ? version.substr(0, slash) : std::string_view{}, owner["name"].str());
  }
  return "<none>";
}

Array integers(std::initializer_list<const char*> names, const char* format = "name") {
  Array out{column("Name", 0, "string", format)};
  for (const char* name : names) { out.push_back(column(name, 0, "integer")); }
  return out;
}

Array texts(std::initializer_list<const char*> names) {
  Array out{column("Name", 0, "string", "name")};
  for (const char* name : names) { out.push_back(column(name)); }
  return out;
}

/// Age, and what is wide.
Array withTemplate(Array columns, bool selector) {
  columns.push_back(column("Age"));
  columns.push_back(column("Containers", 1));
  columns.push_back(column("Images", 1));
  if (selector) { columns.push_back(column("Selector", 1)); }
  return columns;
}

Array cellsWithTemplate(Array cells, const Value& object, Value age, bool selector) {
  cells.insert(cells.begin(), object["metadata"]["name"]);
  cells.push_back(std::move(age));
  cells.push_back(containersOf(object, "name"));
  cells.push_back(containersOf(object, "image"));
  if (selector) { cells.push_back(selectorOf(object)); }
  return cells;
}

std::string ready(const Value& object) {
  return fmt::format("{}/{}", object["status"]["readyReplicas"].intOr(0),
                     object["spec"]["replicas"].intOr(0));
}

}  // namespace

std::optional<json::Array> workloadColumns(const Resource& r) {
  if (r.plural == "deployments") { return withTemplate(texts({"Ready", "Up-to-date", "Available"}), true); }
  if (r.plural == "replicasets") { return withTemplate(integers({"Desired", "Current", "Ready"}), true); }
  if (r.plural == "statefulsets") { return withTemplate(texts({"Ready"}), false); }
  if (r.plural == "daemonsets") {
    Array out = integers({"Desired", "Current", "Ready", "Up-to-date", "Available"});
    out.push_back(column("Node Selector"));
    return withTemplate(std::move(out), true);
  }
  if (r.plural == "jobs") { return withTemplate(texts({"Status", "Completions", "Duration"}), true); }
  if (r.plural == "controllerrevisions") { return texts({"Controller", "Revision", "Age"}); }
  if (r.plural != "scales") { return std::nullopt; }
  Array out = integers({"Desired", "Available"}, "");
  out.push_back(column("Age"));
  return out;
}

std::optional<json::Array> workloadCells(const Resource& r, const json::Value& object, Wall now) {
  const Value age{ageSince(object["metadata"]["creationTimestamp"].str(), now)};
  const Value& spec = object["spec"];
  const Value& status = object["status"];
  if (r.plural == "deployments") {
    return cellsWithTemplate(
        {Value{ready(object)}, count(status, "updatedReplicas"), count(status, "availableReplicas")}, object,
        age, true);
  }
  if (r.plural == "replicasets") {
    return cellsWithTemplate(
        {count(spec, "replicas"), count(status, "replicas"), count(status, "readyReplicas")}, object, age,
        true);
  }
  if (r.plural == "statefulsets") { return cellsWithTemplate({Value{ready(object)}}, object, age, false); }
  if (r.plural == "daemonsets") {
    return cellsWithTemplate(
        {count(status, "desiredNumberScheduled"), count(status, "currentNumberScheduled"),
         count(status, "numberReady"), count(status, "updatedNumberScheduled"),
         count(status, "numberAvailable"), nodeSelectorOf(object)},
        object, age, true);
  }
  if (r.plural == "jobs") {
    return cellsWithTemplate(
        {Value{jobState(object)}, Value{completions(object)}, Value{duration(status, now)}}, object, age,
        true);
  }
  const Value& name = object["metadata"]["name"];
  if (r.plural == "controllerrevisions") {
    return Array{name, Value{controllerOf(object)}, count(object, "revision"), age};
  }
  if (r.plural == "scales") { return Array{name, count(spec, "replicas"), count(status, "replicas"), age}; }
  return std::nullopt;
}

}  // namespace gs::apiserver
