// What all controllers read in objects, and the parts that they write into them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace gs::sandbox::controllers {

[[nodiscard]] std::string nameOf(const json::Value& object);
[[nodiscard]] std::string uidOf(const json::Value& object);
[[nodiscard]] bool isDeleting(const json::Value& object);
/// metadata.annotations[key], "" when there is none.
[[nodiscard]] std::string_view annotation(const json::Value& object, std::string_view key);
/// spec.replicas.
[[nodiscard]] std::int64_t wantedReplicas(const json::Value& object);

/// The owner reference of who controls it; null: nobody.
[[nodiscard]] const json::Value& controllerOf(const json::Value& object);
[[nodiscard]] bool isControlledBy(const json::Value& object, const json::Value& owner);
[[nodiscard]] json::Value controllerReference(const json::Value& owner);

/// The condition of this type; null: none.
[[nodiscard]] const json::Value& conditionOf(const json::Value& status, std::string_view type);
[[nodiscard]] bool hasCondition(const json::Value& status, std::string_view type);  // and it is True
void dropCondition(json::Value& status, std::string_view type);

/// A name for a template's content: ten characters at most, of those that no word is made of. Equal texts,
/// equal hashes; `salt` makes another one.
[[nodiscard]] std::string shortHash(const json::Value& content, std::int64_t salt);

/// How long ago `time` was; 0 when it cannot be read.
[[nodiscard]] Duration since(std::string_view time, Now now);

}  // namespace gs::sandbox::controllers
