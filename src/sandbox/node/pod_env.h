// The environment of a container as the kubelet makes it when the container starts:
// literals and the downward API.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace gs::sandbox {

using Env = std::map<std::string, std::string>;

/// `pod` as it is at the start. A fieldRef to an annotation or label that is not there gives "";
/// configMapKeyRef and secretKeyRef give nothing. $(NAME) in a value stands for an earlier variable.
[[nodiscard]] Env resolveEnv(const json::Value& pod, const json::Value& container);

/// What a fieldRef names, such as metadata.annotations['a/b'] or spec.nodeName;
/// nothing when there is no such field.
[[nodiscard]] std::optional<std::string> fieldRef(const json::Value& pod, std::string_view path);

/// "30s", "1h30m", "500ms" as Go writes durations; nothing when malformed or negative.
[[nodiscard]] std::optional<Duration> parseDuration(std::string_view text);

}  // namespace gs::sandbox
