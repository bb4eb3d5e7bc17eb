// What checks of kinds say, as rows: an object, or an update of it, and "field: message" of each finding.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "apiserver/registry/kind_checks.h"

namespace gs::apiserver {

/// What is said of a new object, or of `next` as an update of it: "field: message" of each finding.
inline std::string findings(const char* id, const char* object, const char* next = nullptr) {
  static const Resources kResources;
  const Resource& r = *kResources.stored(id);
  json::Value old = json::parse(object).value();
  defaultKind(r, old);
  beginKind(r, old, {});
  json::Value now = old;
  if (next != nullptr) {
    now = json::parse(next).value();
    defaultKind(r, now);
    keepKind(r, old, now);
  }
  FieldErrors errors = checkFirst(r, now);
  if (errors.empty()) { errors = checkKind(r, now, next == nullptr ? json::Value{} : old); }
  std::string out;
  for (const FieldError& e : errors) { out += (out.empty() ? "" : "\n") + e.field + ": " + e.message; }
  return out;
}

struct Said {
  const char* name;
  const char* resource;
  const char* object;
  const char* said;
  const char* next = nullptr;
};
inline std::string nameOf(const testing::TestParamInfo<Said>& info) { return info.param.name; }

}  // namespace gs::apiserver
