// The types of resource.k8s.io (claims, their templates, device classes, slices of devices, taint rules), as
// builtin_types.cc reads them.
#pragma once

namespace gs::apiserver {

/// They name those of pods, ObjectMeta and PdbCondition.
extern const char* const kDeviceTypes;

}  // namespace gs::apiserver
