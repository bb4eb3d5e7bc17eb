// A case that shows a difference, made small.
#pragma once

#include <functional>
#include <string>

#include "json/value.h"

namespace gs::filters {

/// `differs(case)`: it still shows what is to be shown, and is a case. Leaves out whatever can be left out:
/// nodes with their pods, other objects, and then what is in them. The pods keep their nodes, and objects
/// what names them.
[[nodiscard]] json::Value shrunk(json::Value drawn, const std::function<bool(const json::Value&)>& differs);

/// The objects of a case as YAML: all but the pod that is asked about, and that one.
[[nodiscard]] std::string clusterAsYaml(const json::Value& drawn);
[[nodiscard]] std::string podAsYaml(const json::Value& drawn);

}  // namespace gs::filters
