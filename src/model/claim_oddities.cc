#include "model/claim_oddities.h"

#include <fmt/format.h>

namespace gs::model {
namespace {

constexpr const char* kIgnored = "ClaimFieldIgnored";
constexpr const char* kOnlyPreferred = "ClaimFieldOnlyPreferred";
constexpr std::size_t kIdsShown = 8;

std::string_view nameOf(Policy policy) { return kPolicyNames.at(static_cast<std::size_t>(policy)); }

/// "[0,1]"; of many the first, and how many there are.
std::string idsText(const std::vector<int>& ids) {
  std::string out = "[";
  for (std::size_t i = 0; i < ids.size() && i < kIdsShown; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ",", ids[i]);
  }
  return out + (ids.size() > kIdsShown ? fmt::format(",... {} ids]", ids.size()) : "]");
}

}  // namespace

std::vector<ClaimOddity> odditiesOfSpec(const GpuClaim& claim) {
  std::vector<ClaimOddity> out;
  const auto odd = [&](const char* reason, std::string about, const std::string& why) {
    std::string text = about + why;
    out.push_back({reason, std::move(about), std::move(text)});
  };
  const auto ignored = [&](std::string about, const std::string& why) {
    odd(kIgnored, std::move(about), why);
  };
  const bool prefers = readsIds(claim.policy);
  if (!claim.prefer_ids.empty() && !prefers) {
    ignored(fmt::format("spec.devices.preferIds {} is ignored: spec.devices.policy is {}",
                        idsText(claim.prefer_ids), nameOf(claim.policy)),
            "; set policy: preferIds, or remove preferIds");
  }
  if (claim.prefer_ids.empty() && prefers) {
    ignored(fmt::format("spec.devices.policy {} is ignored: spec.devices.preferIds names no GPU",
                        nameOf(claim.policy)),
            ", so they are chosen as with contiguous; list their ids, or set policy: contiguous");
  }
  if (claim.min_bandwidth_gbps > 0 && claim.topology == TopologyMode::Ignore) {
    ignored(fmt::format("spec.topology.minBandwidthGBps {} is ignored: spec.topology.mode is Ignore",
                        claim.min_bandwidth_gbps),
            "; set mode: Required, or remove minBandwidthGBps");
  } else if (claim.min_bandwidth_gbps > 0 && claim.topology != TopologyMode::Required) {
    odd(kOnlyPreferred,
        fmt::format("spec.topology.minBandwidthGBps {} is only preferred: spec.topology.mode is Preferred",
                    claim.min_bandwidth_gbps),
        ", so slower GPUs are given where no such are free; set mode: Required to wait for them");
  }
  return out;
}

}  // namespace gs::model
