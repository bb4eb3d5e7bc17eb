#include "agent/own_object.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/metrics.h"
#include "kapi/time.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

using kapi::CallResult;
using What = Calls::What;

kapi::Call callOf(kapi::Verb verb, model::ObjectKey key, const char* subresource, const char* query,
                  json::Value body) {
  kapi::Call call;
  call.verb = verb;
  call.kind = kOwnStatus;
  call.key = std::move(key);
  call.subresource = subresource;
  call.query = query;
  call.body = std::move(body);
  return call;
}

std::vector<int> idsOnlyIn(const std::vector<Device>& these, const std::vector<Device>& not_those) {
  std::vector<Device> only;
  std::set_difference(these.begin(), these.end(), not_those.begin(), not_those.end(),
                      std::back_inserter(only), [](const Device& a, const Device& b) { return a.id < b.id; });
  std::vector<int> ids;
  ids.reserve(only.size());
  for (const Device& device : only) { ids.push_back(device.id); }
  return ids;
}

}  // namespace

OwnObject::OwnObject(model::NodeName node, std::string boot_id, Pace pace, Calls& calls)
    : node_{std::move(node)}, boot_id_{std::move(boot_id)}, calls_{calls}, pace_{pace} {}

OwnObject::Boot OwnObject::boot() const {
  if (boot_id_.empty() || boot_before_.empty()) { return Boot::Unknown; }
  return boot_before_ == boot_id_ ? Boot::This : Boot::Other;
}

// ---- what is sent

void OwnObject::read(Now now, kapi::Effects& out) {
  const bool is_to_be = phase_ == Phase::Unread || phase_ == Phase::Behind;
  if (is_to_be && calls_.due(What::Own, now.mono)) {
    calls_.send(What::Own, kapi::getObject(kOwnStatus, key()), out);
  }
}

bool OwnObject::needsOwner() const {
  return (phase_ == Phase::Unread || phase_ == Phase::Read) && owner_.empty();
}

void OwnObject::apply(Now now, kapi::Effects& out) {
  if (phase_ != Phase::Read || owner_.empty() || !calls_.due(What::Spec, now.mono)) { return; }
  json::Value body = specBody(node_, owner_, boot_id_);
  if (!is_by_hand_) { body.child("metadata").child("labels").set(model::kWrittenByKey, model::kByAgent); }
  calls_.send(What::Spec,
              callOf(kapi::Verb::Apply, key(), "", "fieldManager=gpu-agent&force=true", std::move(body)),
              out);
}

/// An apply takes out only what its own field manager put there.
void OwnObject::takeOutOthers(Now now, kapi::Effects& out) {
  const bool is_ours = written_ || phase_ == Phase::Applied;
  if (others_at_ == 0 || !is_ours || !calls_.due(What::Devices, now.mono)) { return; }
  calls_.send(What::Devices,
              callOf(kapi::Verb::MergePatch, key(), "status", "fieldManager=gpu-agent-status",
                     devicesBody(written_ ? written_->view : NodeView{}, std::exchange(others_at_, 0))),
              out);
}

bool OwnObject::mayWrite(Mono now) const {
  const bool is_first = !written_ && others_at_ != 0;  // what the driver said there goes before it
  return phase_ == Phase::Applied && !is_first && !calls_.open(What::Devices) &&
         calls_.due(What::Status, now);
}

void OwnObject::write(NodeView view, Now now, kapi::Effects& out) {
  const bool is_due = pace_.due(now.mono);
  if (written_ && written_->view == view && !is_due) { return; }
  if (observed_.empty()) { observed_ = kapi::microTimeText(now.wall); }
  sending_ = {std::move(view), observed_};
  pace_.sent(now.mono);
  phase_ = Phase::Writing;
  calls_.send(What::Status,
              callOf(kapi::Verb::Apply, key(), "status", "fieldManager=gpu-agent-status&force=true",
                     statusBody(node_, sending_.view, sending_.observed_time, revision_, says_dra_)),
              out);
}

std::optional<Mono> OwnObject::nextWrite() const {
  if (!written_ || phase_ != Phase::Applied || calls_.open(What::Devices)) { return std::nullopt; }
  return std::max(pace_.next(), calls_.notBefore(What::Status));
}

void OwnObject::containersSeen(Now now) {
  if (phase_ != Phase::Read && phase_ != Phase::Applied) { return; }
  observed_ = kapi::microTimeText(now.wall);
  if (std::exchange(owes_look_, false)) { pace_.hurry(now.mono); }
}

// ---- what is answered

OwnObject::News OwnObject::answered(What what, const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  switch (what) {
    case What::Own: return readAnswered(outcome, now, out);
    case What::Spec: return applyAnswered(outcome, now, out);
    case What::Status: return writeAnswered(outcome, now, out);
    case What::Devices: takeOutAnswered(outcome, now, out); break;
    case What::Node: break;
  }
  return {};
}

OwnObject::News OwnObject::readAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto own = outcome.object.as<OwnStatus>();
  const bool is_there = outcome.result == CallResult::Applied && own != nullptr;
  if (!is_there && !outcome.notFound()) {
    calls_.failed(What::Own, outcome, now.mono, out);
    return {};
  }
  calls_.worked(What::Own);
  const bool is_first = phase_ == Phase::Unread;
  const bool is_ours = is_there && (own->writer != model::Writer::Scheduler || !own->observed_time.empty());
  if (is_first) { boot_before_ = is_ours ? own->boot_id : boot_id_; }
  phase_ = is_first || (is_there && !is_ours) ? Phase::Read : Phase::Applied;
  if (is_there) { return learn(own); }
  if (!is_first) { isGone(); }
  return {};
}

void OwnObject::isNow(const OwnStatus& own) {
  revision_ = own.revision;
  says_dra_ = own.says_dra;
}

OwnObject::News OwnObject::learn(const model::Ptr<OwnStatus>& own) {
  isNow(*own);
  if (!own->observed_time.empty()) {
    observed_ = own->observed_time;
    owes_look_ = true;
  }
  is_by_hand_ =
      own->writer == model::Writer::Unsaid && own->observed_time.empty() && !own->view.devices.empty();
  if (own->repeats_driver || !written_) { others_at_ = own->repeats_driver ? own->revision : 0; }
  return {.stands = written_ || own->repeats_driver ? nullptr : own};
}

OwnObject::News OwnObject::applyAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  if (outcome.result != CallResult::Applied) {
    owner_ = {};  // it may be another one by now
    calls_.failed(What::Spec, outcome, now.mono, out);
    return {};
  }
  phase_ = Phase::Applied;
  calls_.worked(What::Spec);
  // A status of an earlier process may have landed since it was read.
  const auto own = outcome.object.as<OwnStatus>();
  return own != nullptr ? learn(own) : News{};
}

OwnObject::News OwnObject::writeAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool applied = outcome.result == CallResult::Applied;
  out.emplace_back(
      kapi::Metric{kapi::MetricOp::Add, kPublishes, {{"result", applied ? "written" : "failed"}}, 1});
  if (!applied) {
    writeFailed(outcome, now, out);
    return {};
  }
  if (!written_) {
    const std::string gpus = std::to_string(sending_.view.devices.size());
    out.emplace_back(kapi::Log{kapi::Level::Info, "published", {{"node", node_.text}, {"gpus", gpus}}});
  }
  const bool is_new_time = !written_ || written_->observed_time != sending_.observed_time;
  written_ = std::move(sending_);
  written_->at = now.mono;
  pace_.written(is_new_time, now.mono);
  phase_ = Phase::Applied;
  conflicts_ = 0;
  calls_.worked(What::Status);
  return compare(outcome);
}

void OwnObject::writeFailed(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  pace_.hurry(now.mono);  // due as soon as its wait is over
  const bool is_overtaken = outcome.http == 409;
  phase_ = is_overtaken ? Phase::Behind : Phase::Applied;
  conflicts_ = is_overtaken ? conflicts_ + 1 : 0;
  if (conflicts_ == 1) {  // it landed late, or somebody else wrote: once is no trouble
    calls_.putOff(What::Status, outcome, now.mono);
  } else {
    calls_.failed(What::Status, outcome, now.mono, out);
  }
  if (outcome.notFound()) { isGone(); }
}

OwnObject::News OwnObject::compare(const kapi::Outcome& outcome) {
  const auto own = outcome.object.as<OwnStatus>();
  if (own == nullptr) { return {}; }
  isNow(*own);
  News news;
  news.of_others = idsOnlyIn(own->view.devices, written_->view.devices);
  if (!news.of_others->empty()) { others_at_ = own->revision; }
  return news;
}

/// Whatever came of it, the next write's answer shows what is there.
void OwnObject::takeOutAnswered(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const bool is_applied = outcome.result == CallResult::Applied;
  const bool is_overtaken = outcome.http == 409;
  // Before the first status it is to be known that they are out.
  if (!is_applied && !written_ && phase_ == Phase::Applied) { phase_ = Phase::Behind; }
  if (!is_applied && !is_overtaken) { return calls_.failed(What::Devices, outcome, now.mono, out); }
  if (is_overtaken) {
    calls_.noTrouble(What::Devices);
  } else {
    calls_.worked(What::Devices);
  }
  if (const auto own = outcome.object.as<OwnStatus>()) { isNow(*own); }
}

void OwnObject::isGone() {
  phase_ = Phase::Read;
  owner_ = {};
  says_dra_ = false;
}

}  // namespace gs::agent
