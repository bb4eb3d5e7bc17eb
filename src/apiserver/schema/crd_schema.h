// OpenAPI schemas of custom resources: compiled from the CRD, then used to prune,
// default and validate objects.
//
// As the real server: pruning drops what the schema does not declare (and says what), defaults come for
// missing fields whose parent is there and for nulls of fields that are not nullable, other such nulls go;
// messages are its own.
// CEL rules (x-kubernetes-validations) are not evaluated.
#pragma once

#include <string>
#include <vector>

#include "apiserver/meta/answer.h"
#include "apiserver/schema/schema.h"
#include "json/value.h"

namespace gs::apiserver {

/// The root schema of a custom resource: apiVersion, kind and metadata as for every object,
/// the rest from `openapi`.
[[nodiscard]] SchemaPtr compileCrdSchema(const json::Value& openapi);
/// What makes `openapi` no structural schema; `field` is its place in the CRD.
[[nodiscard]] FieldErrors checkStructural(const json::Value& openapi, const std::string& field);

/// Drops undeclared members and returns their paths, sorted.
std::vector<std::string> prune(const Schema& schema, json::Value& object);
void applyDefaults(const Schema& schema, json::Value& object);
/// `old` null on create. Values that did not change since `old` are not looked at again (the server's
/// ratcheting).
[[nodiscard]] FieldErrors validateSchema(const Schema& schema, const json::Value& object,
                                         const json::Value& old);

}  // namespace gs::apiserver
