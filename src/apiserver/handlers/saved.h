// What is stored as plain JSON, and back.
#pragma once

#include <cstdint>

#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/result.h"
#include "json/value.h"

namespace gs::apiserver {

struct SavedState {
  Store::Map objects;
  Resources resources;  // with those of the CRDs in it
  std::uint64_t revision = 0;
};

[[nodiscard]] json::Value saveState(const Store& store);
/// Error Invalid: what is wrong in it.
[[nodiscard]] Result<SavedState> readState(const json::Value& saved);

}  // namespace gs::apiserver
