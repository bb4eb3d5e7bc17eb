// OpenAPI v3 as far as kubectl reads it: which fields `explain` shows, and that the server checks fields
// itself (`fieldValidation`), so that `apply` and `create` send what they have.
// One document for each group and version.
//
// Documents are made when asked for and kept until what is served changes. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "apiserver/registry/resources.h"
#include "json/value.h"

namespace gs::apiserver {

class OpenApi {
 public:
  /// /openapi/v3: where the documents are, each with a hash of its text.
  [[nodiscard]] json::Value index(const Resources& resources);
  /// "api/v1", "apis/gpu.scheduling/v1"; "" when not served.
  [[nodiscard]] std::string document(const Resources& resources, const std::string& path);

 private:
  void refresh(const Resources& resources);

  std::uint64_t seen_ = UINT64_MAX;
  std::map<std::string, std::string> documents_;  // path -> text
};

}  // namespace gs::apiserver
