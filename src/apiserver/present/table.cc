#include "apiserver/present/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "apiserver/present/age.h"
#include "apiserver/present/jsonpath.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value nameColumn(int priority = 0) { return column("Name", priority, "string", "name"); }

struct Names {
  std::initializer_list<std::string_view> shown;
  std::initializer_list<std::string_view> wide;
};

Array columns(const Names& names) {
  Array out{nameColumn()};
  for (const std::string_view name : names.shown) { out.push_back(column(name)); }
  for (const std::string_view name : names.wide) { out.push_back(column(name, 1)); }
  return out;
}

Array eventColumns() {
  return {column("Last Seen"),    column("Type"),      column("Reason"),  column("Object"),
          column("Subobject", 1), column("Source", 1), column("Message"), column("First Seen", 1),
          column("Count", 1),     nameColumn(1)};
}

Array customColumns(const Resource& r) {
  Array out{nameColumn()};
  if (r.columns.items().empty()) { out.push_back(column("Age", 0, "date")); }
  for (const Value& c : r.columns.items()) {
    Value made =
        column(c["name"].str(), static_cast<int>(c["priority"].intOr(0)), c["type"].str(), c["format"].str());
    made.set("description", c["description"].str());
    out.push_back(std::move(made));
  }
  return out;
}

/// A found value as the column's declared type; null where it does not fit.
Value customCell(std::string_view type, const Value& found, Wall now) {
  if (found.isNull()) { return {}; }
  if (type == "string") { return found.isString() ? found : Value{json::print(found)}; }
  if (type == "integer" || type == "number") { return found.isNumber() ? found : Value{}; }
  if (type == "boolean") { return found.isBool() ? found : Value{}; }
  if (type == "date") { return found.isString() ? Value{ageSince(found.str(), now)} : Value{}; }
  return {};
}

Array customCells(const Resource& r, const Value& object, Wall now) {
  Array out{object["metadata"]["name"]};
  if (r.columns.items().empty()) {
    out.emplace_back(ageSince(object["metadata"]["creationTimestamp"].str(), now));
  }
  for (const Value& c : r.columns.items()) {
    const auto path = JsonPath::compile(c["jsonPath"].str());
    const auto found = path ? path->find(object) : std::vector<const Value*>{};
    out.push_back(found.empty() ? Value{} : customCell(c["type"].str(), *found.front(), now));
  }
  return out;
}

/// kubectl sorts by what is in here, and reads it by its kind, which is not kept in objects.
Value wholeObject(const Resource& r, const Value& object) {
  Value out = object;
  out.set("kind", r.kind);
  out.set("apiVersion", r.apiVersion());
  return out;
}

Value rowObject(const Resource& r, const Value& object, RowObject rows) {
  if (rows == RowObject::Object) { return wholeObject(r, object); }
  return Object{
      {"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", object["metadata"]}};
}

/// kubectl is told that such pods are over.
void addPodConditions(const Resource& r, const Value& object, Value& row) {
  if (r.custom || r.plural != "pods") { return; }
  const std::string_view phase = object["status"]["phase"].str();
  if (phase != "Succeeded" && phase != "Failed") { return; }
  const char* message = phase == "Succeeded" ? "The pod has completed successfully." : "The pod failed.";
  row.set("conditions",
          Array{Value{
              Object{{"type", "Completed"}, {"status", "True"}, {"reason", phase}, {"message", message}}}});
}

}  // namespace

json::Value column(std::string_view name, int priority, std::string_view type, std::string_view format) {
  return Object{
      {"name", name}, {"type", type}, {"format", format}, {"description", ""}, {"priority", priority}};
}

json::Array columnsOf(const Resource& r) {
  if (r.custom) { return customColumns(r); }
  if (r.plural == "pods") {
    return columns(
        {{"Ready", "Status", "Restarts", "Age"}, {"IP", "Node", "Nominated Node", "Readiness Gates"}});
  }
  if (r.plural == "nodes") {
    return columns({{"Status", "Roles", "Age", "Version"},
                    {"Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"}});
  }
  if (r.plural == "namespaces") { return columns({{"Status", "Age"}, {}}); }
  if (r.plural == "leases") { return columns({{"Holder", "Age"}, {}}); }
  if (r.plural == "configmaps") { return columns({{"Data", "Age"}, {}}); }
  if (r.plural == "events") { return eventColumns(); }
  if (r.plural == "serviceaccounts") { return columns({{"Secrets", "Age"}, {}}); }
  if (r.plural == "priorityclasses") {
    return {nameColumn(), column("Value", 0, "integer"), column("Global-Default", 0, "boolean"),
            column("Age"), column("PreemptionPolicy")};
  }
  if (r.plural == "rolebindings" || r.plural == "clusterrolebindings") {
    return columns({{"Role", "Age"}, {"Users", "Groups", "ServiceAccounts"}});
  }
  if (r.plural == "poddisruptionbudgets") {
    return {nameColumn(), column("Min Available"), column("Max Unavailable"),
            column("Allowed Disruptions", 0, "integer"), column("Age")};
  }
  if (r.plural == "persistentvolumes") {
    return columns({{"Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
                     "VolumeAttributesClass", "Reason", "Age"},
                    {"VolumeMode"}});
  }
  if (r.plural == "persistentvolumeclaims") {
    return columns(
        {{"Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age"},
         {"VolumeMode"}});
  }
  if (r.plural == "secrets") { return {nameColumn(), column("Type"), column("Data"), column("Age")}; }
  if (r.plural == "services") {
    return columns({{"Type", "Cluster-IP", "External-IP", "Port(s)", "Age"}, {"Selector"}});
  }
  if (r.plural == "endpointslices") { return columns({{"AddressType", "Ports", "Endpoints", "Age"}, {}}); }
  if (r.plural == "networkpolicies") { return columns({{"Pod-Selector", "Age"}, {}}); }
  if (r.is(kPoliciesId)) {
    return {nameColumn(), column("Validations", 0, "integer"), column("ParamKind"), column("Age")};
  }
  if (r.is(kPolicyBindingsId)) { return columns({{"PolicyName", "ParamRef", "Age"}, {}}); }
  if (r.isWebhooks()) { return {nameColumn(), column("Webhooks", 0, "integer"), column("Age")}; }
  if (r.isStorageGroup()) { return storageColumns(r); }
  if (r.isDevices()) { return deviceColumns(r); }
  if (auto made = workloadColumns(r)) { return *std::move(made); }
  return {nameColumn(), column("Created At", 0, "date")};
}

json::Array cellsOf(const Resource& r, const json::Value& object, Wall now) {
  if (r.custom) { return customCells(r, object, now); }
  if (r.plural == "pods") { return podCells(object, now); }
  if (r.plural == "nodes") { return nodeCells(object, now); }
  if (r.plural == "events") { return eventCells(object, now); }
  const Value& meta = object["metadata"];
  const Value age{ageSince(meta["creationTimestamp"].str(), now)};
  if (r.plural == "namespaces") { return {meta["name"], Value{object["status"]["phase"].str()}, age}; }
  if (r.plural == "leases") { return {meta["name"], Value{object["spec"]["holderIdentity"].str()}, age}; }
  if (r.plural == "configmaps") {
    return {meta["name"], Value{object["data"].members().size() + object["binaryData"].members().size()},
            age};
  }
  if (r.isStorageGroup()) { return storageCells(r, object, now); }
  if (r.isDevices()) { return deviceCells(r, object, now); }
  if (auto made = workloadCells(r, object, now)) { return *std::move(made); }
  auto few = fewCells(r.plural, object);
  if (!few) { return {meta["name"], meta["creationTimestamp"]}; }
  Array out{meta["name"]};
  std::move(few->before_age.begin(), few->before_age.end(), std::back_inserter(out));
  out.push_back(age);
  std::move(few->after_age.begin(), few->after_age.end(), std::back_inserter(out));
  return out;
}

json::Value makeTable(const Resource& resource, const std::vector<const json::Value*>& objects,
                      json::Value list_meta, Wall now, RowObject rows) {
  Array made;
  for (const Value* object : objects) {
    Value row = Object{{"cells", cellsOf(resource, *object, now)}};
    addPodConditions(resource, *object, row);
    row.set("object", rows == RowObject::None ? Value{} : rowObject(resource, *object, rows));
    made.push_back(std::move(row));
  }
  return Object{{"kind", "Table"},
                {"apiVersion", "meta.k8s.io/v1"},
                {"metadata", std::move(list_meta)},
                {"columnDefinitions", columnsOf(resource)},
                {"rows", std::move(made)}};
}

json::Value tableOfAnswer(const Resource& resource, const json::Value& body, Wall now, RowObject rows) {
  if (body["kind"].str() == "Status") { return body; }
  std::vector<const Value*> objects;
  if (body["items"].isArray()) {
    for (const Value& item : body["items"].items()) { objects.push_back(&item); }
    Value meta = body["metadata"];
    if (meta["continue"].str().empty()) { meta.erase("continue"); }
    return makeTable(resource, objects, std::move(meta), now, rows);
  }
  objects.push_back(&body);
  return makeTable(body["kind"].str() == "Scale" ? scaleType() : resource, objects,
                   Object{{"resourceVersion", body["metadata"]["resourceVersion"]}}, now, rows);
}

}  // namespace gs::apiserver
