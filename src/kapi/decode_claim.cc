#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

using json::View;
using model::GpuClaim;

constexpr std::int64_t kMaxCount = 1024;
constexpr std::size_t kMaxSelectorLabels = 64;  // each pod of the claim asks every one of every node
constexpr std::int64_t kMaxInt32 = 2147483647;

/// Keeps the first complaint.
void complain(GpuClaim& claim, const char* field, const View& seen, const char* rule) {
  if (!claim.invalid.empty()) { return; }
  claim.invalid = fmt::format("{} is {}: {}", field, json::print(seen.value()).substr(0, 100), rule);
}

/// What is left out is complained about, so nobody is placed by the rest.
void readClaimSelector(const View& labels, GpuClaim& claim) {
  for (const auto [key, value] : labels.members()) {
    if (claim.match_labels.size() >= kMaxSelectorLabels) {
      complain(claim, "spec.selector.matchLabels", labels, "write at most 64 labels");
      return;
    }
    if (value.isString()) {
      claim.match_labels.emplace(key, value.str());
    } else {
      complain(claim, "spec.selector.matchLabels", labels, "write texts as values; quote numbers and true");
    }
  }
}

void readCount(const View& devices, GpuClaim& claim) {
  const View v = devices["count"];
  if (v.isNull()) { return; }
  const auto count = v.integer();
  if (!count || *count < 1 || *count > kMaxCount) {
    complain(claim, "spec.devices.count", v, "write a whole number from 1 to 1024");
  }
  claim.count = count.value_or(1);
}

void readPolicy(const View& devices, GpuClaim& claim) {
  const View v = devices["policy"];
  if (v.isNull()) { return; }
  const auto& names = model::kPolicyNames;
  const auto* const name = std::find(names.begin(), names.end(), v.str());
  if (name == names.end()) {
    const std::string rule = fmt::format("write one of {}", fmt::join(names, ", "));
    return complain(claim, "spec.devices.policy", v, rule.c_str());
  }
  claim.policy = static_cast<model::Policy>(name - names.begin());
}

void readPreferIds(const View& devices, GpuClaim& claim) {
  std::set<std::int64_t> seen;
  const View ids = devices["preferIds"];
  if (!ids.isNull() && !ids.isArray()) {
    complain(claim, "spec.devices.preferIds", ids, "write a list of ids");
  }
  if (ids.items().size() > kMaxCount) {
    complain(claim, "spec.devices.preferIds", ids, "write at most 1024 ids");
    return;
  }
  for (const View v : ids.items()) {
    const auto id = v.integer();
    if (!id || *id < 0 || *id > kMaxInt32) {
      complain(claim, "spec.devices.preferIds[]", v, "write GPU ids from 0 on");
    } else if (!seen.insert(*id).second) {
      complain(claim, "spec.devices.preferIds[]", v, "the id is there twice; name each once");
    } else {
      claim.prefer_ids.push_back(static_cast<int>(*id));
    }
  }
}

void readExclusivity(const View& devices, GpuClaim& claim) {
  const View v = devices["exclusivity"];
  if (v.isNull() || v.str() == "Exclusive") {
    claim.exclusivity = model::Exclusivity::Exclusive;
  } else if (v.str() == "Shared") {
    claim.exclusivity = model::Exclusivity::Shared;
  } else if (v.str() == "MIG") {
    claim.exclusivity = model::Exclusivity::Mig;
    complain(claim, "spec.devices.exclusivity", v,
             "MIG partitions are not supported yet: write Exclusive or Shared");
  } else {
    complain(claim, "spec.devices.exclusivity", v, "write Exclusive or Shared");
  }
}

void readTopology(const View& topology, GpuClaim& claim) {
  if (!topology.isObject()) { return; }
  const View mode = topology["mode"];
  claim.topology = model::TopologyMode::Preferred;
  if (mode.str() == "Required") {
    claim.topology = model::TopologyMode::Required;
  } else if (mode.str() == "Ignore") {
    claim.topology = model::TopologyMode::Ignore;
  } else if (!mode.isNull() && mode.str() != "Preferred") {
    complain(claim, "spec.topology.mode", mode, "write Required, Preferred or Ignore");
  }
  const View bandwidth = topology["minBandwidthGBps"];
  claim.min_bandwidth_gbps = bounded(bandwidth, kMaxInt32);
  if (!bandwidth.isNull() && claim.min_bandwidth_gbps != bandwidth.intOr(-1)) {
    complain(claim, "spec.topology.minBandwidthGBps", bandwidth, "write a whole number of GB/s from 0 on");
  }
}

constexpr KindInfo kGpuClaimInfo{"gpu.scheduling",       "v1", "gpuclaims", "GpuClaim", true,
                                 decodedBy<decodeClaim>, true};

}  // namespace

constinit const Kind kGpuClaim{kGpuClaimInfo};

GpuClaim decodeClaim(const View& v) {
  const View spec = v["spec"];
  GpuClaim claim;
  claim.key = objectKey(v);
  claim.uid = uidField(v);
  claim.revision = objectRevision(v);
  readClaimSelector(spec["selector"]["matchLabels"], claim);
  readCount(spec["devices"], claim);
  readPolicy(spec["devices"], claim);
  readPreferIds(spec["devices"], claim);
  readExclusivity(spec["devices"], claim);
  readTopology(spec["topology"], claim);
  const View gang = spec["gangRef"];
  claim.gang_ref = gang.isString() || gang.isNull() ? text(gang) : json::print(gang.value()).substr(0, 100);
  return claim;
}

}  // namespace gs::kapi
