// The types of a pod's spec, as builtin_types.cc reads them.
#pragma once

namespace gs::apiserver {

/// They name ObjectMeta, LocalObjectReference and LabelSelector.
extern const char* const kPodTypes;

}  // namespace gs::apiserver
