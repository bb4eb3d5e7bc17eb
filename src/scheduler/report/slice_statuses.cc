#include "scheduler/report/slice_statuses.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/due.h"
#include "kapi/write_node_status.h"

namespace gs::scheduler {
namespace {

using kapi::CallResult;

/// So it would be with every other node.
bool isOfAll(const kapi::Outcome& outcome) {
  return outcome.http == 403 || (outcome.http == 404 && !outcome.notFound());
}

/// By itself this does not end: the object is not what it was taken for, or somebody is busy.
bool isOdd(const kapi::Outcome& outcome) {
  const bool is_usual = outcome.http == 404 || outcome.http == 409 || outcome.http == 429;
  return outcome.result == CallResult::Refused && !is_usual;
}

}  // namespace

void SliceStatuses::begin() { dirty_.merge(c_.engine.nodeDevices().ofDrivers()); }

void SliceStatuses::pump(bool may_write, bool busy) {
  may_write_ = may_write;
  dirty_.merge(c_.engine.takeTouchedNodes());
  for (auto& name : calls_.takeDue(c_.now.mono)) { dirty_.insert(std::move(name)); }
  if (!may_write || c_.now.mono < not_before_) { return; }
  const std::size_t under_way = calls_.underWay();
  std::size_t looks = 0;
  for (auto it = dirty_.begin(); it != dirty_.end() && looks < kLooks && calls_.underWay() < kAtOnce;) {
    ++looks;
    it = look(*it) ? dirty_.erase(it) : std::next(it);
  }
  if (calls_.underWay() > under_way) { not_before_ = c_.now.mono + (busy ? kBusyGap : kGap); }
}

/// True: nothing is left to do for it now.
bool SliceStatuses::look(const model::NodeName& name) {
  if (calls_.open(name)) { return false; }
  if (!calls_.due(name, c_.now.mono)) { return true; }  // it comes back when it is
  auto call = callFor(name);
  if (!call) {
    calls_.worked(name);
    failing_.erase(name);
    return true;
  }
  call->token = calls_.begin(name);
  call->leader_only = true;
  c_.out.emplace_back(*std::move(call));
  return true;
}

std::optional<kapi::Call> SliceStatuses::callFor(const model::NodeName& name) const {
  const auto& known = c_.engine.nodeDevices();
  const auto all = known.of(name);
  const bool by_driver = all != nullptr && all->enforcement == model::Enforcement::Dra;
  const auto reported = known.reported(name);
  if (reported == nullptr) { return callForOurs(name, by_driver ? all.get() : nullptr); }
  const bool yields = reported->writer == model::Writer::Agent;
  return yields && reported->says_dra != by_driver ? std::optional{kapi::sayDra(*reported, by_driver)}
                                                   : std::nullopt;
}

/// `published`: what its driver says; nullptr: there is none.
std::optional<kapi::Call> SliceStatuses::callForOurs(const model::NodeName& name,
                                                     const model::GpuNodeStatus* published) const {
  const auto ours = c_.engine.nodeDevices().kept(name);
  if (ours != nullptr && ours->writer != model::Writer::Scheduler) { return std::nullopt; }  // its agent came
  const sched::NodeState* state = c_.engine.ledger().find(name);
  const bool is_there = state != nullptr && state->exists && !state->node.uid.empty();
  const bool is_another = is_there && ours != nullptr && ours->node_uid != state->node.uid;
  if (published == nullptr || !is_there || is_another) {
    return ours != nullptr ? std::optional{kapi::deleteNodeStatus(*ours)} : std::nullopt;
  }
  if (ours == nullptr) { return kapi::createNodeStatus(name, state->node.uid); }
  const auto& away = c_.engine.nodeDevices().away();
  const auto it = away.find(name);
  const bool is_unknown = it != away.end() && it->second.last == nullptr;  // this one may say more
  if (is_unknown) { return std::nullopt; }
  if (kapi::isPublished(*ours, published->devices)) { return std::nullopt; }
  return kapi::publishDevices(*ours, published->devices);
}

/// Applied or not: what is so now the watch brings. The wait grows until that is what was to be written, and
/// begins anew with the first write that is applied after some that were not.
void SliceStatuses::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  if (outcome.result != CallResult::Applied) {
    failing_.insert(call->key);
  } else {
    was_said_ = false;
    if (failing_.erase(call->key) > 0) { calls_.worked(call->key); }
  }
  calls_.failed(call->key, now.mono, outcome.retry_after);
  const bool is_of_all = isOfAll(outcome);
  if (is_of_all) { not_before_ = now.mono + kNotAllowed; }
  if ((!is_of_all && !isOdd(outcome)) || std::exchange(was_said_, true)) { return; }
  out.emplace_back(
      kapi::Log{kapi::Level::Warn,
                "a GpuNodeStatus of a node with a DRA driver cannot be written; nothing else depends on it",
                {{"node", call->key.text}, {"why", fmt::format("{} {}", outcome.http, outcome.message)}}});
}

std::optional<Mono> SliceStatuses::nextDue() const {
  const bool has_more = may_write_ && dirty_.size() > calls_.underWay() && calls_.underWay() < kAtOnce;
  const auto due = calls_.nextDue();
  return has_more ? sooner(due, not_before_) : due;
}

void SliceStatuses::reset() {
  calls_.reset();
  dirty_.clear();
  failing_.clear();
  may_write_ = false;
  not_before_ = {};
}

}  // namespace gs::scheduler
