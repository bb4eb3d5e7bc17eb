// The types of PersistentVolumes and PersistentVolumeClaims, as builtin_types.cc reads them.
#pragma once

namespace gs::apiserver {

/// They name ObjectMeta, ObjectReference and LabelSelector.
extern const char* const kVolumeTypes;

}  // namespace gs::apiserver
