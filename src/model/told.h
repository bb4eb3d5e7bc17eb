// How a pod is told its GPUs, as far as who decodes it must know: by a reference to what a Binding writes, or
// by a value, where an annotation says its GPUs when it is made (a map, model/map.h). Pure.
#pragma once

#include <string>
#include <string_view>

#include "model/pod.h"

namespace gs::model {

/// What is kept of an annotation of this pod, of which name, `generated` and node are read: all of it; but of
/// a map, which all pods of a set have, what it says of this one, and nothing of it once the pod is bound.
[[nodiscard]] std::string keptOf(const Pod& pod, std::string_view key, std::string_view value);

/// Its containers may be told their GPUs by a value: an annotation says them.
[[nodiscard]] bool isToldByValue(const Pod& pod);
/// And this one is not what it says. False where it says nothing, and of a bound pod.
[[nodiscard]] bool saysOthers(const Pod& pod, std::string_view told);

}  // namespace gs::model
