// What the kinds of resource.k8s.io have in common: names, selectors, taints, conditions of devices, as
// kube-apiserver 1.37 checks them. `field` is where the value stands.
//
// That server checks some fields by tags of its types, in other words than by hand ("segment 0: ..."); the
// functions for these are called ...Tagged.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "apiserver/meta/answer.h"
#include "apiserver/registry/field_checks.h"
#include "json/value.h"

namespace gs::apiserver {

inline constexpr std::size_t kMostRequests = 32;  // of a claim, and devices of its allocation
inline constexpr std::size_t kMostConfigs = 32;
inline constexpr std::size_t kMostSelectors = 32;

// Names (device_names.cc).
void checkDeviceLabel(const json::Value& name, const std::string& field, FieldErrors& errors);
void checkDriverName(const json::Value& name, const std::string& field, FieldErrors& errors);
void checkDriverNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors);
/// Subdomains with slashes between them.
void checkPoolName(const json::Value& name, const std::string& field, FieldErrors& errors);
void checkPoolNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors);
/// Of an attribute or a capacity: "memory" or "example.com/memory".
void checkAttributeName(std::string_view name, const std::string& field, FieldErrors& errors);
/// The domain must be there.
void checkAttributeNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors);
void checkExtendedNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors);
void checkShareId(const json::Value& uid, const std::string& field, FieldErrors& errors);
/// Of a taint's or condition's key, and of a taint's value; "bytes" stands in them for "characters".
[[nodiscard]] Texts labelKeyErrors(std::string_view key);
[[nodiscard]] Texts labelTextErrors(std::string_view value);

/// "Too long: may not be more than 63 bytes"
[[nodiscard]] FieldError fieldTooLong(std::string field, std::size_t most, const char* unit = "bytes");
/// As Go prints a value of these types: its members in the order in which they are declared.
[[nodiscard]] std::string goDeviceJson(const json::Value& value);
/// One error for each element that has a key which an earlier one had.
void refuseRepeated(const json::Value& list, const std::string& field,
                    std::string (*key)(const json::Value& element), FieldErrors& errors);
/// The member `name`.
[[nodiscard]] std::string nameKey(const json::Value& element);

// Parts (device_part_checks.cc).
/// CEL is not compiled here: an expression is there, and not too long.
void checkDeviceSelectors(const json::Value& selectors, const std::string& field, FieldErrors& errors);
/// What a driver is told; `opaque` may be missing, which is an error.
void checkOpaqueConfig(const json::Value& opaque, const std::string& field, FieldErrors& errors);
/// An object of at most 10 KiB.
void checkRawObject(const json::Value& data, const std::string& field, FieldErrors& errors);
void checkDeviceTolerations(const json::Value& tolerations, const std::string& field, FieldErrors& errors);
/// `old_effect` null: it is new.
void checkDeviceTaint(const json::Value& taint, const json::Value& old_effect, const std::string& field,
                      FieldErrors& errors);
/// bindingConditions and bindingFailureConditions of a device.
void checkBindingConditions(const json::Value& device, const std::string& field, FieldErrors& errors);
/// metav1.Conditions, 8 at most.
void checkConditions(const json::Value& conditions, const std::string& field, FieldErrors& errors);

// Claims (device_claim_checks.cc) and their status (device_status_checks.cc).
/// Names of requests, each with those of its subrequests.
using RequestNames = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;
[[nodiscard]] RequestNames requestNames(const json::Value& claim_spec);
/// "request" or "request/subrequest", of the claim.
void checkRequestReference(const json::Value& name, const RequestNames& names, const std::string& field,
                           FieldErrors& errors);
/// A list of them, each once.
void checkRequestReferences(const json::Value& list, const RequestNames& names, const std::string& field,
                            FieldErrors& errors);
/// `field` is "spec" or, of a template, "spec.spec".
void checkClaimSpec(const json::Value& spec, const std::string& field, FieldErrors& errors);
void checkClaimStatus(const json::Value& claim, const json::Value& old, FieldErrors& errors);

// Slices (device_slice_checks.cc, device_capacity_checks.cc).
void checkResourceSlice(const json::Value& spec, const json::Value& old, FieldErrors& errors);
/// `shares`: several claims may have the device.
void checkDeviceCapacity(const json::Value& capacity, bool shares, const std::string& field,
                         FieldErrors& errors);

}  // namespace gs::apiserver
