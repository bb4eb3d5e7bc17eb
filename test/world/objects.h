// The objects that World tests create, as a user would write them.
#pragma once

#include <string>

#include "json/value.h"

namespace gs::test {

[[nodiscard]] inline json::Value claim(const std::string& name, int count, json::Object more_devices = {},
                                       const std::string& ns = "default") {
  json::Object devices{{"count", count}};
  for (auto& [key, value] : more_devices) { devices[key] = value; }
  return json::Object{{"apiVersion", "gpu.scheduling/v1"},
                      {"kind", "GpuClaim"},
                      {"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                      {"spec", json::Object{{"devices", std::move(devices)}}}};
}

/// `claim` "" : an ordinary pod; `gpus` > 0: limits nvidia.com/gpu.
[[nodiscard]] inline json::Value pod(const std::string& name, const std::string& claim, int gpus = 0,
                                     const std::string& ns = "default") {
  json::Object meta{{"name", name}, {"namespace", ns}};
  if (!claim.empty()) { meta["annotations"] = json::Object{{"gpu.scheduling/claim", claim}}; }
  json::Object container{{"name", "main"}, {"image", "cuda"}};
  if (gpus > 0) {
    container["resources"] = json::Object{{"limits", json::Object{{"nvidia.com/gpu", std::to_string(gpus)}}}};
  }
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(meta)},
                      {"spec", json::Object{{"schedulerName", "gpu-scheduler"},
                                            {"restartPolicy", "Never"},
                                            {"containers", json::Array{json::Value{std::move(container)}}}}}};
}

}  // namespace gs::test
