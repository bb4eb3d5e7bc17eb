// What is required of PersistentVolumes (storage_checks.cc) and PersistentVolumeClaims (claim_checks.cc)
// alike.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// `detail` is what is said where there is none.
void checkAccessModes(const json::Value& spec, std::string_view detail, FieldErrors& errors);
/// storageClassName and volumeMode.
void checkClassAndMode(const json::Value& spec, FieldErrors& errors);
/// An amount is more than 0.
void checkMoreThanNone(const json::Value& amount, const std::string& field, FieldErrors& errors);
/// It stays what it was at first: Filesystem or Block.
void checkSameVolumeMode(const json::Value& spec, const json::Value& old, FieldErrors& errors);
/// A field of the spec that is behind a feature gate that 1.33 has off: kept where it was there before.
void dropAttributesClass(json::Value& object, const json::Value& old);

/// spec.dataSource and spec.dataSourceRef of a claim, which say the same; `old` null: it is new.
void settleDataSources(json::Value& claim, const json::Value& old);

}  // namespace gs::apiserver
