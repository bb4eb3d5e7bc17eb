#include "agent/calls.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

#include "kapi/retry_wait.h"

namespace gs::agent {

void Calls::send(What what, kapi::Call call, kapi::Effects& out) {
  call.token = calls_.begin(what);
  out.emplace_back(std::move(call));
}

std::optional<Calls::What> Calls::answered(const kapi::Outcome& outcome) {
  const auto answer = calls_.answered(outcome.token);
  if (!answer || answer->stale) { return std::nullopt; }
  return answer->key;
}

void Calls::worked(What what) {
  calls_.worked(what);
  noTrouble(what);
}

void Calls::putOff(What what, const kapi::Outcome& outcome, Mono now) {
  const Duration wait = kapi::retryWait(calls_.failures(what) + 1, outcome.retry_after);
  (void)calls_.failed(what, now, std::chrono::duration_cast<Duration>(wait * (1 + 0.2 * rng_.unit())));
}

void Calls::failed(What what, const kapi::Outcome& outcome, Mono now, kapi::Effects& out) {
  putOff(what, outcome, now);
  std::string trouble = words(what, outcome);
  std::string& known = trouble_[what];
  if (known != trouble) { out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}}); }
  known = std::move(trouble);
}

std::string Calls::words(What what, const kapi::Outcome& outcome) const {
  static constexpr std::array kDoing{"reading the node", "reading GpuNodeStatus", "writing GpuNodeStatus",
                                     "writing the status of GpuNodeStatus",
                                     "taking GPUs of others out of GpuNodeStatus"};
  const std::string doing = fmt::format("{} {}", kDoing.at(static_cast<std::size_t>(what)), node_.text);
  if (what != What::Node && outcome.http == 404 && !outcome.notFound()) {
    return doing + ": its kind is not served; apply charts/gpu-scheduler/crds/crds.yaml";
  }
  if (what == What::Node && outcome.notFound()) {
    return doing + ": there is none; --node-name is to be that of this machine's Node";
  }
  return fmt::format("{}: {} {}", doing, outcome.http, outcome.message);
}

std::string Calls::trouble() const { return trouble_.empty() ? std::string{} : trouble_.begin()->second; }

}  // namespace gs::agent
