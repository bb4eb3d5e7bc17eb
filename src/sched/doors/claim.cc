// The claim door: annotation gpu.scheduling/claim names a GpuClaim of the pod's namespace (R44).
#include <fmt/format.h>

#include "base/ascii.h"
#include "base/dns_name.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "sched/doors/exact.h"

namespace gs::sched {
namespace {

/// R46: a claim pod with nvidia.com/gpu limits must name the claim's count, and a shared one must have none.
std::optional<Blocked> limitsDisagree(const model::Pod& pod, const model::GpuClaim& claim) {
  const std::int64_t limit = pod.requests.get(model::kNvidiaGpu);
  if (limit == 0) { return std::nullopt; }
  if (claim.exclusivity == model::Exclusivity::Shared) {
    return Blocked{
        "LimitOnShared",
        fmt::format("claim {} is Shared, but the pod sets resources.limits[\"{}\"]={}; remove the limit",
                    claim.key.name, model::kNvidiaGpu, limit)};
  }
  if (limit != claim.count) {
    return Blocked{
        "LimitNotCount",
        fmt::format("resources.limits[\"{}\"]={} but claim {} has spec.devices.count={}; make them equal",
                    model::kNvidiaGpu, limit, claim.key.name, claim.count)};
  }
  return std::nullopt;
}

/// What is meant, most likely: without blanks around it and a namespace before it; "": not that either.
std::string meantName(std::string_view text) {
  const auto slash = text.rfind('/');
  if (slash != std::string_view::npos) { text.remove_prefix(slash + 1); }
  std::string name = inLowerCase(trim(text));
  return isDnsSubdomain(name) ? name : std::string{};
}

/// There is no such claim, and no API server takes one: to say "create it" would help nobody.
Blocked noName(const model::Pod& pod) {
  constexpr std::size_t kMostShown = 128;
  const std::string text = claimName(pod);
  const std::string meant = meantName(text);
  std::string shown;
  appendQuoted(shown, utf8Prefix(text, kMostShown));
  const char* more = text.size() > kMostShown ? "..." : "";
  return {
      "ClaimNameInvalid",
      fmt::format("annotation {}: {}{} is no name of a GpuClaim, which has {}; write {} of namespace {}{}",
                  model::kClaimKey, shown, more, kDnsSubdomainRule,
                  meant.empty() ? "the name of one" : fmt::format("\"{}\" for the one", meant), pod.key.ns,
                  text.find('/') == std::string::npos ? "" : " (others cannot be used)")};
}

std::optional<AskedBy> claimAsked(const model::Pod& pod) {
  return pod.annotation(model::kClaimKey) != nullptr ? std::optional{AskedBy{"annotation", model::kClaimKey}}
                                                     : std::nullopt;
}

DoorResult claimRequest(const model::Pod& pod, const Objects& named, PodRequest base) {
  const model::GpuClaim* claim = named.claim;
  if (claimName(pod).empty()) {
    return Blocked{"ClaimNameEmpty",
                   fmt::format("annotation gpu.scheduling/claim is empty; write the name of a GpuClaim in "
                               "namespace {}",
                               pod.key.ns)};
  }
  if (!isDnsSubdomain(claimName(pod))) { return noName(pod); }
  if (claim == nullptr) {
    return Blocked{"ClaimMissing", fmt::format("gpuclaim \"{}\" not found in namespace {}; create it",
                                               claimName(pod), pod.key.ns)};
  }
  if (!claim->invalid.empty()) {
    return Blocked{"ClaimInvalid",
                   fmt::format("gpuclaim \"{}\" is invalid: {}", claim->key.name, claim->invalid)};
  }
  if (!claim->gang_ref.empty()) { return Blocked{"Gang", "gangs are not supported yet"}; }
  if (auto blocked = limitsDisagree(pod, *claim)) { return *std::move(blocked); }
  base.match_labels = claim->match_labels;
  DeviceRequest d;
  d.count = claim->count;
  d.policy = claim->policy;
  if (model::readsIds(claim->policy)) { d.prefer_ids = claim->prefer_ids; }
  d.shared = claim->exclusivity == model::Exclusivity::Shared;
  d.topology = claim->topology;
  d.min_bandwidth_gbps = claim->topology ? claim->min_bandwidth_gbps : 0;
  base.devices = std::move(d);
  return base;
}

}  // namespace

std::string claimName(const model::Pod& pod) {
  const std::string* name = pod.annotation(model::kClaimKey);
  return name == nullptr ? std::string{} : *name;
}

constinit const Door kClaimDoor{.name = "claim",
                                .by_id = true,
                                .kept_by = kOurEnforcers,
                                .written = kExactKeys,
                                .asked = claimAsked,
                                .request = claimRequest,
                                .holdings = addExact,
                                .annotations = exactAnnotations};

}  // namespace gs::sched
