#include "operator/csi_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kapi/write.h"
#include "kcache/kinds/names.h"
#include "operator/kinds.h"

namespace gs::gkm {
namespace {

using kapi::CallResult;

const model::ObjectKey kKey{"", kcache::kDriver};
constexpr const char* kPolicy = "None";
const std::vector<std::string> kModes{"Ephemeral", "Persistent"};  // ascending

kapi::Call creation() {
  kapi::Call call;
  call.verb = kapi::Verb::Create;
  call.kind = kCsiDriver;
  call.body =
      json::Object{{"apiVersion", kapi::apiVersion(kCsiDriver)},
                   {"kind", kCsiDriver->name},
                   {"metadata", json::Object{{"name", kcache::kDriver}}},
                   {"spec", json::Object{{"attachRequired", false},
                                         {"podInfoOnMount", true},
                                         {"fsGroupPolicy", kPolicy},
                                         {"volumeLifecycleModes", json::Array{kModes[0], kModes[1]}}}}};
  return call;
}

/// Of what may be changed in one that is there.
kapi::Call correction(const CsiDriverObject& of) {
  kapi::Call call;
  call.verb = kapi::Verb::MergePatch;
  call.kind = kCsiDriver;
  call.key = kKey;
  call.body = json::Object{
      {"metadata", json::Object{{"uid", of.uid.text}, {"resourceVersion", std::to_string(of.revision)}}},
      {"spec", json::Object{{"podInfoOnMount", true}, {"fsGroupPolicy", kPolicy}}}};
  return call;
}

/// Of an older version: it may not be changed, so another one takes its place. Volumes that are mounted stay.
kapi::Call deletion(const CsiDriverObject& of) {
  kapi::Call call;
  call.verb = kapi::Verb::Delete;
  call.kind = kCsiDriver;
  call.key = kKey;
  call.body = json::Object{{"apiVersion", "v1"},
                           {"kind", "DeleteOptions"},
                           {"preconditions", json::Object{{"uid", of.uid.text},
                                                          {"resourceVersion", std::to_string(of.revision)}}}};
  return call;
}

std::vector<std::string> ascending(std::vector<std::string> modes) {
  std::sort(modes.begin(), modes.end());
  return modes;
}

}  // namespace

void CsiDriver::lead(Now now) {
  is_leading_ = true;
  next_look_ = now.mono;
}

void CsiDriver::reset() {
  is_leading_ = false;
  to_write_.reset();
  trouble_.clear();
  calls_.reset();
}

void CsiDriver::send(Step step, kapi::Effects& out) {
  step.call.leader_only = step.doing != Doing::Read;
  step.call.token = calls_.begin(kOnly, step.doing);
  out.emplace_back(std::move(step.call));
}

void CsiDriver::go(Now now, kapi::Effects& out) {
  (void)calls_.takeDue(now.mono);
  if (!is_leading_ || !calls_.due(kOnly, now.mono)) { return; }
  if (auto step = std::exchange(to_write_, std::nullopt)) { return send(std::move(*step), out); }
  if (now.mono >= next_look_) { send({Doing::Read, kapi::getObject(kCsiDriver, kKey)}, out); }
}

std::optional<Mono> CsiDriver::nextDue() const {
  if (!is_leading_ || calls_.open(kOnly)) { return std::nullopt; }
  return to_write_ ? calls_.notBefore(kOnly) : std::max(next_look_, calls_.notBefore(kOnly));
}

void CsiDriver::say(std::string trouble, kapi::Effects& out) {
  if (!trouble.empty() && trouble != trouble_) {
    out.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}});
  }
  trouble_ = std::move(trouble);
}

void CsiDriver::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = calls_.answered(outcome.token);
  if (!answer) { return; }
  const bool is_applied = outcome.result == CallResult::Applied;
  const bool is_absent = answer->what == Doing::Read && outcome.notFound();
  if (!is_applied && !is_absent) {
    (void)calls_.failed(kOnly, now.mono, outcome.retry_after);
    next_look_ = now.mono;
    if (outcome.http == 409) { return; }  // somebody was faster
    say(fmt::format("CSIDriver {}: {} {}", kcache::kDriver, outcome.http, outcome.message), out);
    return;
  }
  calls_.worked(kOnly);
  if (answer->what == Doing::Read) {
    read(outcome, now, out);
  } else {
    say("", out);
    const bool is_gone = answer->what == Doing::Delete;
    next_look_ = is_gone ? now.mono : now.mono + kLook;
    if (is_gone) { to_write_ = Step{Doing::Create, creation()}; }  // nothing is mounted meanwhile
  }
}

void CsiDriver::read(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto is = outcome.object.as<CsiDriverObject>();
  if (outcome.notFound()) {
    to_write_ = Step{Doing::Create, creation()};
    return;
  }
  next_look_ = now.mono + kLook;
  if (is == nullptr) { return; }
  const bool is_of_before = !is->attach_required && is->modes == std::vector<std::string>{kModes[0]};
  if (is_of_before) {
    to_write_ = Step{Doing::Delete, deletion(*is)};
    return;
  }
  if (is->attach_required || ascending(is->modes) != kModes) {
    return say(
        fmt::format(
            "CSIDriver {} is not as pods need it, and cannot be changed: delete it, and it is made anew",
            kcache::kDriver),
        out);
  }
  if (!is->pod_info_on_mount || is->fs_group_policy != kPolicy) {
    to_write_ = Step{Doing::Patch, correction(*is)};
    return;
  }
  say("", out);
}

}  // namespace gs::gkm
