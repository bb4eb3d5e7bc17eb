// Tables: what the API server answers to `Accept: ...;as=Table`,
// and how kubectl lays such an answer out as text.
//
// Columns and cells are the real server's for pods, nodes, namespaces, leases, configmaps, events, CRDs and
// custom resources (additionalPrinterColumns); ages are made here, from the time given. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/registry/resources.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

/// What the rows carry beside their cells (the query parameter includeObject).
enum class RowObject : std::uint8_t { Metadata, Object, None };

/// The Table of these objects of one resource. `list_meta`: metadata of the list (resourceVersion,
/// continue ...).
[[nodiscard]] json::Value makeTable(const Resource& resource, const std::vector<const json::Value*>& objects,
                                    json::Value list_meta, Wall now, RowObject rows = RowObject::Metadata);
/// The same for the answer to a get or list (or any body; a Status comes back as it is).
[[nodiscard]] json::Value tableOfAnswer(const Resource& resource, const json::Value& body, Wall now,
                                        RowObject rows = RowObject::Metadata);

struct PrintTable {
  bool wide = false;        // -o wide: also columns with priority > 0
  bool namespaces = false;  // -A: NAMESPACE first
  bool headers = true;
};
/// As `kubectl get` prints it; "" for a table without rows (see noResources).
[[nodiscard]] std::string printTable(const json::Value& table, PrintTable how = {});
/// What kubectl says (on stderr) when there is nothing: "No resources found in default namespace."
[[nodiscard]] std::string noResources(const Resource& resource, std::string_view ns);

/// The cells of one object, in the order of the columns.
[[nodiscard]] json::Array cellsOf(const Resource& resource, const json::Value& object, Wall now);
[[nodiscard]] json::Array columnsOf(const Resource& resource);

[[nodiscard]] json::Value column(std::string_view name, int priority = 0, std::string_view type = "string",
                                 std::string_view format = "");

// Of what has a pod template, ControllerRevisions and Scales (table_workloads.cc); nullopt: none of them.
[[nodiscard]] std::optional<json::Array> workloadColumns(const Resource& resource);
[[nodiscard]] std::optional<json::Array> workloadCells(const Resource& resource, const json::Value& object,
                                                       Wall now);

// Of the kinds of storage.k8s.io (table_storage.cc).
[[nodiscard]] json::Array storageColumns(const Resource& resource);
[[nodiscard]] json::Array storageCells(const Resource& resource, const json::Value& object, Wall now);

// Of the kinds of resource.k8s.io (table_devices.cc).
[[nodiscard]] json::Array deviceColumns(const Resource& resource);
[[nodiscard]] json::Array deviceCells(const Resource& resource, const json::Value& object, Wall now);

// Cells of the built-in kinds (table_cells.cc).
[[nodiscard]] json::Array podCells(const json::Value& pod, Wall now);
[[nodiscard]] json::Array nodeCells(const json::Value& node, Wall now);
[[nodiscard]] json::Array eventCells(const json::Value& event, Wall now);
/// Of kinds with few columns (table_few.cc): the cells between name and age, and those after it. nullopt:
/// none of them.
struct FewCells {
  json::Array before_age;
  json::Array after_age;
};
[[nodiscard]] std::optional<FewCells> fewCells(const std::string& plural, const json::Value& object);

}  // namespace gs::apiserver
