// CSIDrivers for a World: the sandbox does not serve them, and does as one more custom resource.
#pragma once

#include "json/value.h"

namespace gs::sandbox {

/// Its CustomResourceDefinition.
inline json::Value csiDriverCrd() {
  using json::Array, json::Object, json::Value;
  const Value schema = Object{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  return Object{
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "CustomResourceDefinition"},
      {"metadata", Object{{"name", "csidrivers.storage.k8s.io"},
                          {"annotations", Object{{"api-approved.kubernetes.io", "unapproved, a play"}}}}},
      {"spec", Object{{"group", "storage.k8s.io"},
                      {"scope", "Cluster"},
                      {"names", Object{{"plural", "csidrivers"},
                                       {"singular", "csidriver"},
                                       {"kind", "CSIDriver"},
                                       {"listKind", "CSIDriverList"}}},
                      {"versions", Array{Value{Object{{"name", "v1"},
                                                      {"served", true},
                                                      {"storage", true},
                                                      {"schema", Object{{"openAPIV3Schema", schema}}}}}}}}}};
}

}  // namespace gs::sandbox
