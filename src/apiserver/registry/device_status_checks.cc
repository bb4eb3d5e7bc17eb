// The status of a ResourceClaim: what is allocated, for whom, and what drivers say of it.
#include <fmt/format.h>

#include <algorithm>

#include "apiserver/registry/device_parts.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMostConsumers = 256;
constexpr std::size_t kMostDeviceAddresses = 16;
constexpr std::size_t kLongestInterface = 256;
constexpr std::size_t kLongestHardware = 128;

// ---- the allocation

void checkResult(const Value& result, const RequestNames& names, const std::string& field,
                 FieldErrors& errors) {
  checkRequestReference(result["request"], names, field + ".request", errors);
  checkDriverNameTagged(result["driver"], field + ".driver", errors);
  checkPoolNameTagged(result["pool"], field + ".pool", errors);
  checkDeviceLabel(result["device"], field + ".device", errors);
  checkBindingConditions(result, field, errors);
  checkDeviceTolerations(result["tolerations"], field + ".tolerations", errors);
  checkShareId(result["shareID"], field + ".shareID", errors);
}

void checkAllocation(const Value& allocation, const RequestNames& names, FieldErrors& errors) {
  const std::string field = "status.allocation";
  const Value& results = allocation["devices"]["results"];
  const std::string here = field + ".devices.results";
  if (!hasTooMany(errors, here, results, kMostRequests)) {
    for (std::size_t i = 0; i < results.items().size(); ++i) {
      checkResult(results.items()[i], names, fmt::format("{}[{}]", here, i), errors);
    }
  }
  const Value& configs = allocation["devices"]["config"];
  const std::string there = field + ".devices.config";
  if (!hasTooMany(errors, there, configs, 2 * kMostConfigs)) {  // of the class and of the claim
    for (std::size_t i = 0; i < configs.items().size(); ++i) {
      const Value& config = configs.items()[i];
      const std::string at = fmt::format("{}[{}]", there, i);
      checkKnownOrMissing(errors, at + ".source", config["source"], {"FromClaim", "FromClass"});
      checkRequestReferences(config["requests"], names, at + ".requests", errors);
      checkOpaqueConfig(config["opaque"], at + ".opaque", errors);
    }
  }
  if (allocation["nodeSelector"].isObject()) {
    checkNodeSelector(allocation["nodeSelector"], field + ".nodeSelector", errors);
  }
}

/// Set once, and emptied before it is set anew.
void checkAllocationChange(const Value& claim, const Value& old, FieldErrors& errors) {
  const Value& allocation = claim["status"]["allocation"];
  const Value& had = old["status"]["allocation"];
  if (allocation.isNull()) { return; }
  if (had.isNull()) {
    checkAllocation(allocation, requestNames(claim["spec"]), errors);
  } else if (allocation != had) {
    errors.push_back(fieldInvalid("status.allocation", Value{}, "field cannot be modified once set"));
  }
}

// ---- for whom

void checkConsumers(const Value& claim, const Value& old, FieldErrors& errors) {
  const std::string field = "status.reservedFor";
  const Value& consumers = claim["status"]["reservedFor"];
  if (!hasTooMany(errors, field, consumers, kMostConsumers)) {
    for (std::size_t i = 0; i < consumers.items().size(); ++i) {
      for (const char* part : {"resource", "name", "uid"}) {
        if (!consumers.items()[i][part].str().empty()) { continue; }
        errors.push_back(fieldRequired(fmt::format("{}[{}].{}", field, i, part)));
      }
    }
    refuseRepeated(
        consumers, field, [](const Value& one) { return std::string{one["uid"].str()}; }, errors);
  }
  if (consumers.items().empty()) { return; }
  if (claim["status"]["allocation"].isNull()) {
    errors.push_back(fieldForbidden(field, "may not be specified when `allocated` is not set"));
    return;
  }
  const auto& had = old["status"]["reservedFor"].items();
  const bool adds = std::any_of(consumers.items().begin(), consumers.items().end(), [&](const Value& one) {
    return std::find(had.begin(), had.end(), one) == had.end();
  });
  if (adds && !claim["metadata"]["deletionTimestamp"].isNull()) {
    errors.push_back(fieldForbidden(field,
                                    "new entries may not be added while `deallocationRequested` or "
                                    "`deletionTimestamp` are set"));
  }
}

// ---- what drivers say

/// As Go prints the id of a device, which tells devices apart.
std::string sharedDeviceId(const Value& device) {
  const auto text = [&](const char* part) { return json::print(Value{device[part].str()}); };
  return fmt::format(R"({{"Driver":{},"Pool":{},"Device":{},"ShareID":{}}})", text("driver"), text("pool"),
                     text("device"), text("shareID"));
}

void checkNetworkData(const Value& data, const std::string& field, FieldErrors& errors) {
  if (data["interfaceName"].str().size() > kLongestInterface) {
    errors.push_back(fieldTooLong(field + ".interfaceName", kLongestInterface));
  }
  if (data["hardwareAddress"].str().size() > kLongestHardware) {
    errors.push_back(fieldTooLong(field + ".hardwareAddress", kLongestHardware));
  }
  const std::string ips = field + ".ips";
  if (hasTooMany(errors, ips, data["ips"], kMostDeviceAddresses)) { return; }
  for (std::size_t i = 0; i < data["ips"].items().size(); ++i) {
    const Value& ip = data["ips"].items()[i];
    if (cidrErrors(ip.str()).empty()) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("{}[{}]", ips, i), ip,
                     "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"));
  }
  refuseRepeated(
      data["ips"], ips, [](const Value& one) { return std::string{one.str()}; }, errors);
}

void checkDeviceStatuses(const Value& status, FieldErrors& errors) {
  const Value& devices = status["devices"];
  std::set<std::string> allocated;
  for (const Value& result : status["allocation"]["devices"]["results"].items()) {
    allocated.insert(sharedDeviceId(result));
  }
  for (std::size_t i = 0; i < devices.items().size(); ++i) {
    const Value& device = devices.items()[i];
    const std::string at = fmt::format("status.devices[{}]", i);
    checkDriverName(device["driver"], at + ".driver", errors);
    checkPoolName(device["pool"], at + ".pool", errors);
    checkDeviceLabel(device["device"], at + ".device", errors);
    checkShareId(device["shareID"], at + ".shareID", errors);
    if (const std::string shown = sharedDeviceId(device); !allocated.contains(shown)) {
      errors.push_back(fieldInvalid(at, shown, "must be an allocated device in the claim"));
    }
    checkConditions(device["conditions"], at + ".conditions", errors);
    if (!device["data"].isNull()) { checkRawObject(device["data"], at + ".data", errors); }
    if (device["networkData"].isObject()) {
      checkNetworkData(device["networkData"], at + ".networkData", errors);
    }
  }
  refuseRepeated(devices, "status.devices", sharedDeviceId, errors);
}

}  // namespace

void checkClaimStatus(const json::Value& claim, const json::Value& old, FieldErrors& errors) {
  checkConsumers(claim, old, errors);
  checkDeviceStatuses(claim["status"], errors);
  checkAllocationChange(claim, old, errors);
}

void keepClaimStatus(const json::Value& old, json::Value& next) {
  if (next["status"]["devices"].items().empty()) { return; }
  std::set<std::string> gone;
  for (const Value& one : old["status"]["allocation"]["devices"]["results"].items()) {
    gone.insert(sharedDeviceId(one));
  }
  for (const Value& one : next["status"]["allocation"]["devices"]["results"].items()) {
    gone.erase(sharedDeviceId(one));
  }
  Value& status = next.child("status");
  auto& devices = status.child("devices").array();
  std::erase_if(devices, [&](const Value& device) { return gone.contains(sharedDeviceId(device)); });
  if (devices.empty()) { status.erase("devices"); }
}

}  // namespace gs::apiserver
