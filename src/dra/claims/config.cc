#include "dra/claims/config.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gs::dra {
namespace {

/// "gpus/big" of a result is "gpus" too.
bool isOf(const std::string& result, const std::string& request) {
  return result == request ||
         (result.size() > request.size() && result.starts_with(request) && result[request.size()] == '/');
}

/// "gpus/big" and its request's ways: the class of the one that was chosen.
const std::string* classOf(const model::ResourceClaim& claim, const std::string& result) {
  for (const auto& request : claim.requests) {
    for (const auto& way : request.ways) {
      if (result == (way.name.empty() ? request.name : request.name + "/" + way.name)) {
        return &way.device_class;
      }
    }
  }
  return nullptr;
}

}  // namespace

std::vector<model::DeviceConfig> configOf(const model::ResourceClaim& claim, const Classes& classes,
                                          const std::vector<model::AllocatedDevice>& devices) {
  std::vector<std::string> results;                                          // each once, in their order
  std::vector<std::pair<std::string, std::vector<std::string>>> of_classes;  // results by class
  for (const auto& device : devices) {
    if (std::find(results.begin(), results.end(), device.request) != results.end()) { continue; }
    results.push_back(device.request);
    const std::string* name = classOf(claim, device.request);
    if (name == nullptr) { continue; }
    const auto same = [&](const auto& one) { return one.first == *name; };
    auto found = std::find_if(of_classes.begin(), of_classes.end(), same);
    if (found == of_classes.end()) { found = of_classes.insert(found, {*name, {}}); }
    found->second.push_back(device.request);
  }
  std::vector<model::DeviceConfig> out;
  for (const auto& [name, requests] : of_classes) {
    const auto found = classes.find(name);
    if (found == classes.end()) { continue; }
    for (const auto& config : found->second->config) { out.push_back({true, requests, config.config}); }
  }
  for (const auto& config : claim.config) {
    const auto concerns = [&](const std::string& request) {
      return std::any_of(results.begin(), results.end(), [&](const auto& r) { return isOf(r, request); });
    };
    const bool is_used =
        config.requests.empty() || std::any_of(config.requests.begin(), config.requests.end(), concerns);
    if (is_used) { out.push_back(config); }
  }
  return out;
}

}  // namespace gs::dra
