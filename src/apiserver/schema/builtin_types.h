// The types of the built-in kinds as the Go API declares them, from one text table.
//
// Parts that nobody here reads (volumes, probes, affinity ...) are `any`: kept, not checked, not pruned.
#pragma once

#include <string_view>

#include "apiserver/schema/schema.h"

namespace gs::apiserver {

/// The type called `name` in the table ("Pod", "ObjectMeta"). A name that is not there is a bug.
[[nodiscard]] SchemaPtr builtinType(std::string_view name);

}  // namespace gs::apiserver
