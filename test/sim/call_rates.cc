#include "test/sim/call_rates.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/holder_pod.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"

namespace gs::sim {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};
constexpr Duration kMinute = std::chrono::seconds{60};
/// Waiting 200 ms, then twice as long each time, a writer comes to 3 in a second; other reasons to write the
/// same come on top.
constexpr std::size_t kUselessInSecond = 8;
constexpr std::size_t kInMinute = 60;
constexpr std::size_t kOfLeaseInMinute = 120;
/// An election asks for the pod of a leader that is late every 250 ms, for 5 s at most, and then leads. One
/// of half a minute's lateness, all in all, is very unlucky.
constexpr std::size_t kOfHolderInMinute = 120;
/// A pod whose Binding is always refused comes to 7, each of which may be for the same GPU.
constexpr std::size_t kOfPodInMinute = 8;

/// A claim's status and events are written at a pace of their own, elections are no writers of ours.
bool isLooked(const kapi::Call& call) {
  return call.verb != kapi::Verb::List && call.kind != kapi::kEvent &&
         (call.leader_only || call.verb == kapi::Verb::Get) &&
         call.key.name.find(".gpu.scheduling") == std::string::npos;
}

/// What is created has its name in the body.
std::string nameOf(const kapi::Call& call) {
  return call.key.name.empty() ? std::string{call.body["metadata"]["name"].str()} : call.key.name;
}

/// The pod that a lease is written for, "" where it says none. Many may want the same GPU, each at its own
/// pace.
std::string claimantOf(const kapi::Call& call) {
  return call.kind != kapi::kLease
             ? ""
             : std::string{call.body["metadata"]["annotations"]["gpu.scheduling/pod-uid"].str()};
}

std::size_t addTo(std::deque<Mono>& times, Mono now, Duration kept) {
  times.push_back(now);
  while (times.front() + kept <= now) { times.pop_front(); }
  return times.size();
}

}  // namespace

void CallRates::answered(int process, const kapi::Call& call, const kapi::Outcome& outcome, Mono now) {
  if (!isLooked(call)) { return; }
  const std::string claimant = claimantOf(call);
  const std::string key =
      fmt::format("{} {} {}{}{} {}/{}{}{}", process, kapi::httpMethod(call.verb), call.kind->plural,
                  call.subresource.empty() ? "" : "/", call.subresource, call.key.ns, nameOf(call),
                  claimant.empty() ? "" : " for ", claimant);
  const std::size_t in_minute = addTo(calls_[key], now, kMinute);
  // Each of several leases that had that name, one after the other, is deleted at its own pace.
  const std::string of = fmt::format("{} {}", key, call.body["preconditions"]["uid"].str());
  const std::size_t in_second =
      outcome.result == kapi::CallResult::Applied ? 0 : addTo(useless_[of], now, kSecond);
  most_.in_minute = std::max(most_.in_minute, in_minute);
  most_.in_second = std::max(most_.in_second, in_second);
  const bool is_of_many = call.kind == kapi::kLease && claimant.empty();
  if (problem_.empty() &&
      in_second > (is_of_many ? std::max(kUselessInSecond, pods_ / 4) : kUselessInSecond)) {
    problem_ =
        fmt::format("replica {} was refused, or heard nothing, {} times within a second", key, in_second);
  }
  const std::size_t most = is_of_many                  ? std::max(kOfLeaseInMinute, pods_ * kOfPodInMinute)
                           : call.kind == kapi::kLease ? kOfLeaseInMinute
                           : call.kind == controller::kHolderPod ? kOfHolderInMinute
                                                                 : kInMinute;
  if (problem_.empty() && in_minute > most) {
    problem_ = fmt::format("replica {} was sent {} times within a minute", key, in_minute);
  }
}

}  // namespace gs::sim
