// The gate of a pod that may be given GPUs by us (model/gate.h): the volume, and a mount of it in its first
// container, without which no kubelet would look at it. Whoever creates pods cannot get past it by a volume
// of that name that is another one: such a pod is refused. Pure.
#pragma once

#include <set>
#include <string>

#include "admission/json_patch.h"
#include "base/result.h"
#include "json/document.h"

namespace gs::webhook {

/// It comes to a scheduler of ours, which looks for a node that has the driver, and asks for GPUs by an
/// annotation or by limits. Not: one that has a node already, whose GPUs nobody chose.
[[nodiscard]] bool isToHaveGate(const json::View& pod, const std::set<std::string, std::less<>>& schedulers);

/// What it lacks of its gate; nothing where it has it. Error Invalid: it cannot have one, and what to change.
[[nodiscard]] Status addGate(admission::JsonPatch& patch, const json::View& pod);

}  // namespace gs::webhook
