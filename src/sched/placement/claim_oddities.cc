#include "sched/placement/claim_oddities.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "sched/doors/door.h"
#include "sched/doors/exact.h"
#include "sched/policy/policy.h"

namespace gs::sched {
namespace {

constexpr const char* kIgnored = "ClaimFieldIgnored";
constexpr const char* kOnlyPreferred = "ClaimFieldOnlyPreferred";
constexpr std::size_t kIdsShown = 8;

std::string_view nameOf(model::Policy policy) {
  return model::kPolicyNames.at(static_cast<std::size_t>(policy));
}

/// "[0,1]"; of many the first, and how many there are.
std::string idsText(const std::vector<int>& ids) {
  std::string out = "[";
  for (std::size_t i = 0; i < ids.size() && i < kIdsShown; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ",", ids[i]);
  }
  return out + (ids.size() > kIdsShown ? fmt::format(",... {} ids]", ids.size()) : "]");
}

std::string pods(std::size_t count) { return fmt::format("{} pod{}", count, count == 1 ? "" : "s"); }

}  // namespace

void ClaimUsers::Some::add(const std::string& pod, std::size_t gpus) {
  ++total;
  first.emplace(pod, gpus);
  if (first.size() > kNamed) { first.erase(std::prev(first.end())); }
}

std::string ClaimUsers::Some::names(bool with_gpus) const {
  std::string out;
  for (const auto& [pod, gpus] : first) {
    out += (out.empty() ? "" : ", ") + pod + (with_gpus ? fmt::format(" ({})", gpus) : "");
  }
  return total > first.size() ? fmt::format("{} and {} more", out, total - first.size()) : out;
}

void ClaimUsers::add(const model::Pod& pod) {
  if (!pod.bound() || pod.finished() || pod.deleting) { return; }
  if (pod.key.ns != claim_.ns || claimName(pod) != claim_.name) { return; }
  const auto ids = allocatedIds(pod);
  if (!ids || ids->empty()) { return; }
  all_.add(pod.key.name, ids->size());
  if (static_cast<std::int64_t>(ids->size()) != count_) { others_.add(pod.key.name, ids->size()); }
}

std::vector<ClaimOddity> odditiesOfSpec(const model::GpuClaim& claim) {
  std::vector<ClaimOddity> out;
  const auto odd = [&](const char* reason, std::string about, const std::string& why) {
    std::string text = about + why;
    out.push_back({reason, std::move(about), std::move(text)});
  };
  const auto ignored = [&](std::string about, const std::string& why) {
    odd(kIgnored, std::move(about), why);
  };
  const bool prefers = policyOf(claim.policy).reads_list;
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
  if (claim.min_bandwidth_gbps > 0 && claim.topology == model::TopologyMode::Ignore) {
    ignored(fmt::format("spec.topology.minBandwidthGBps {} is ignored: spec.topology.mode is Ignore",
                        claim.min_bandwidth_gbps),
            "; set mode: Required, or remove minBandwidthGBps");
  } else if (claim.min_bandwidth_gbps > 0 && claim.topology != model::TopologyMode::Required) {
    odd(kOnlyPreferred,
        fmt::format("spec.topology.minBandwidthGBps {} is only preferred: spec.topology.mode is Preferred",
                    claim.min_bandwidth_gbps),
        ", so slower GPUs are given where no such are free; set mode: Required to wait for them");
  }
  return out;
}

std::optional<ClaimOddity> oddityOfCount(const ClaimUsers& users) {
  const std::size_t total = users.others_.total;
  if (total == 0) { return std::nullopt; }
  const char* them = total == 1 ? "it" : "them";
  return ClaimOddity{
      "ClaimCountNotFollowed", fmt::format("spec.devices.count is {}", users.count_),
      fmt::format(
          "spec.devices.count is {} and {} with another number of GPUs run{}: {}; a running pod keeps "
          "what it was given: delete {} and create {} again",
          users.count_, pods(total), total == 1 ? "s" : "", users.others_.names(true), them, them)};
}

std::optional<ClaimOddity> oddityOfDeletion(const ClaimUsers& users) {
  const std::size_t total = users.all_.total;
  if (total == 0) { return std::nullopt; }
  return ClaimOddity{
      "ClaimDeletedInUse", "deleted",
      fmt::format("gpuclaim \"{}\" is deleted while {} {} GPUs by it: {}; what runs keeps its GPUs until it "
                  "ends, and any other pod that names the claim waits: create it again for those",
                  users.claim_.name, pods(total), total == 1 ? "has" : "have", users.all_.names(false))};
}

}  // namespace gs::sched
