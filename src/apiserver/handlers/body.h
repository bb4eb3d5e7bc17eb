// From a body to an object of its kind: type, place, defaults, unknown fields; and what is wrong with it, as
// the real server words it. Reads nothing of the store.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/handlers/call.h"
#include "apiserver/meta/answer.h"
#include "apiserver/registry/resources.h"
#include "json/value.h"

namespace gs::apiserver {

/// The body: one of `type`, of its version, in the URL's namespace, decoded.
[[nodiscard]] Answer<json::Value> readObject(Call& call, const Resources& resources, const Resource& type);
/// With defaults, and without unknown fields, which become warnings. Error: what a decoder says. `known`:
/// what is stored.
[[nodiscard]] tl::expected<json::Value, std::string> decode(Call& call, const Resource& type,
                                                            json::Value object,
                                                            const json::Value& known = {});
/// Validation of what would be stored, and what to warn of; `old` null: a new object.
[[nodiscard]] Done validate(Call& call, const json::Value& object, const json::Value& old);
[[nodiscard]] Done checkNameOnUrl(const Call& call, const json::Value& object);
/// "converting (v1.Pod) to (core.ConfigMap): unknown conversion"
[[nodiscard]] std::string noConversion(const Resource& to, std::string_view kind);

}  // namespace gs::apiserver
