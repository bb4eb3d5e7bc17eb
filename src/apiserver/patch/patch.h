// JSON patch (RFC 6902), merge patch (RFC 7396) and Kubernetes' strategic merge patch on values.
//
// Each changes `target` in place; after an error the target is to be thrown away. What a type decoder would
// refuse is not refused here: the result is decoded again by the caller.
#pragma once

#include "apiserver/meta/answer.h"
#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

/// `patch` must be an array of operations. At most 10,000 operations, and copies of 3 MB in all.
[[nodiscard]] Done applyJsonPatch(json::Value& target, const json::Value& patch);

/// Nulls delete. Both are objects.
void applyMergePatch(json::Value& target, const json::Value& patch);

/// Lists merge by the schema's keys (the first one), sets by value,
/// other lists are replaced; directives $patch,
/// $retainKeys, $deleteFromPrimitiveList/x and $setElementOrder/x as the API server reads them.
[[nodiscard]] Done applyStrategicPatch(json::Value& target, const json::Value& patch, const Schema* schema);

}  // namespace gs::apiserver
