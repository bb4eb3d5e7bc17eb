// The types of storage.k8s.io (classes of volumes, and what CSI drivers say), as builtin_types.cc reads them.
#pragma once

namespace gs::apiserver {

/// They name those of volumes, ObjectMeta and LabelSelector.
extern const char* const kStorageTypes;

}  // namespace gs::apiserver
