#include <string>

#include "apiserver/present/age.h"
#include "apiserver/present/table.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Value;

/// "a,b"; `none` where there is nothing.
std::string commaText(const Value& list, const char* member, const char* none) {
  std::string out;
  for (const Value& one : list.items()) {
    const auto text = member == nullptr ? one.str() : one[member].str();
    out += (out.empty() ? "" : ",") + std::string{text};
  }
  return out.empty() ? none : out;
}

std::string nameOfClass(const Value& object) {
  const Value& notes = object["metadata"]["annotations"];
  const bool is_default = notes["storageclass.kubernetes.io/is-default-class"].str() == "true" ||
                          notes["storageclass.beta.kubernetes.io/is-default-class"].str() == "true";
  return std::string{object["metadata"]["name"].str()} + (is_default ? " (default)" : "");
}

Array storageClassCells(const Value& object) {
  return {Value{nameOfClass(object)}, object["provisioner"], object["reclaimPolicy"],
          object["volumeBindingMode"], Value{object["allowVolumeExpansion"].boolOr(false)}};
}

Array csiDriverCells(const Value& object) {
  const Value& spec = object["spec"];
  const Value& tokens = spec["tokenRequests"];
  return {object["metadata"]["name"],
          Value{spec["attachRequired"].boolOr(true)},
          Value{spec["podInfoOnMount"].boolOr(false)},
          Value{spec["storageCapacity"].boolOr(false)},
          Value{tokens.isNull() ? "<unset>" : commaText(tokens, "audience", "")},
          Value{spec["requiresRepublish"].boolOr(false)},
          Value{commaText(spec["volumeLifecycleModes"], nullptr, "<none>")}};
}

Array attachmentCells(const Value& object) {
  const Value& spec = object["spec"];
  return {object["metadata"]["name"], spec["attacher"], Value{spec["source"]["persistentVolumeName"].str()},
          spec["nodeName"], Value{object["status"]["attached"].boolOr(false)}};
}

}  // namespace

json::Array storageColumns(const Resource& r) {
  Array out{column("Name", 0, "string", "name")};
  if (r.kind == "StorageClass") {
    for (const char* name : {"Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"}) {
      out.push_back(column(name));
    }
  } else if (r.kind == "CSINode") {
    out.push_back(column("Drivers", 0, "integer"));
  } else if (r.kind == "CSIDriver") {
    for (const char* name : {"AttachRequired", "PodInfoOnMount", "StorageCapacity"}) {
      out.push_back(column(name, 0, "boolean"));
    }
    out.push_back(column("TokenRequests"));
    out.push_back(column("RequiresRepublish", 0, "boolean"));
    out.push_back(column("Modes"));
  } else if (r.kind == "CSIStorageCapacity") {
    out.push_back(column("StorageClassName"));
    out.push_back(column("Capacity"));
    return out;  // without its age
  } else {
    out.push_back(column("Attacher", 0, "string", "name"));
    out.push_back(column("PV"));
    out.push_back(column("Node"));
    out.push_back(column("Attached", 0, "boolean"));
  }
  out.push_back(column("Age"));
  return out;
}

json::Array storageCells(const Resource& r, const json::Value& object, Wall now) {
  const Value& meta = object["metadata"];
  if (r.kind == "CSIStorageCapacity") {
    const Value& left = object["capacity"];
    return {meta["name"], object["storageClassName"], left.isNull() ? Value{"<unset>"} : left};
  }
  Array out = r.kind == "StorageClass" ? storageClassCells(object)
              : r.kind == "CSINode"    ? Array{meta["name"], Value{object["spec"]["drivers"].items().size()}}
              : r.kind == "CSIDriver"  ? csiDriverCells(object)
                                       : attachmentCells(object);
  out.emplace_back(ageSince(meta["creationTimestamp"].str(), now));
  return out;
}

}  // namespace gs::apiserver
