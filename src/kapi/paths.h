// Where a call or a watch goes: method, URL path and query.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kapi/call.h"

namespace gs::kapi {

/// Path and query of a call: "/api/v1/namespaces/ns/pods/p/binding?...". List and Create of a namespaced kind
/// with key.ns "" address all namespaces. Every segment is percent-encoded.
[[nodiscard]] std::string target(const Call& call);
[[nodiscard]] std::string target(const OpenWatch& watch);
[[nodiscard]] const char* httpMethod(Verb verb);
[[nodiscard]] const char* contentType(Verb verb);  // of the body

inline constexpr std::chrono::seconds kLongestTimeout = std::chrono::hours{24};
/// How long a query ("a=b&timeoutSeconds=300") wants a watch to last, a day at most; nullopt: it does not
/// say, or nothing that is a number of seconds above 0.
[[nodiscard]] std::optional<std::chrono::seconds> timeoutOf(std::string_view query);

}  // namespace gs::kapi
