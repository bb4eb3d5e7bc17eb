// Protobuf bodies as kubectl sends them (`create namespace`, `create role`, `auth can-i` ...), read into
// JSON: of a few kinds, the few fields that matter. Everything else is refused with what to do instead.
// Answers are always JSON.
#pragma once

#include <string_view>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

/// `bytes` begin with "k8s\0". Error 400: not protobuf after all; 415: a kind that is not read.
[[nodiscard]] Answer<json::Value> readProtobuf(std::string_view bytes);

}  // namespace gs::apiserver
