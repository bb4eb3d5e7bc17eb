// Which StorageClass is for claims that name none. Pure.
#pragma once

#include <string>

#include "apiserver/storage/store.h"
#include "json/value.h"

namespace gs::apiserver {

inline constexpr const char* kStorageClassesId = "storage.k8s.io/storageclasses";

/// The class that a claim names, by a field or by an annotation of former times; "": none.
[[nodiscard]] std::string classOfClaim(const json::Value& claim);
/// It says which class it wants, and be it none: "".
[[nodiscard]] bool namesClass(const json::Value& claim);
/// Of those that are marked as the default the newest, then the first by name; "": none is.
[[nodiscard]] std::string defaultClassName(const Store& store);

}  // namespace gs::apiserver
