#include "agent/enforced/held_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kapi/kinds.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

using enforce::Hold;
using enforce::NodeRecord;
using kapi::CallResult;

constexpr double kSpread = 0.2;  // of a wait, so that agents do not ask in one second

/// The id of today of the GPU that had `id` when it was given; nullopt: the node does not have it any more.
std::optional<model::DeviceId> idOfToday(const enforce::DeviceTable& table, model::DeviceId id,
                                         const std::string& uuid) {
  const enforce::NodeDevice* there = table.byId(id);
  if (uuid.empty() || there == nullptr || there->uuid.empty() || there->uuid == uuid) { return id; }
  const enforce::NodeDevice* it = table.byName(uuid);
  return it == nullptr ? std::nullopt : std::optional{it->id};
}

}  // namespace

HeldLeases::HeldLeases(Config config, controller::Parts& parts, Rng& rng)
    : config_{std::move(config)}, owner_{parts.add(*this)}, rng_{rng} {}

// ---- pods

void HeldLeases::changed(const model::Pod& pod) {
  auto said = saidBy(pod, config_.node);
  const auto known = pods_.find(pod.uid);
  if (known == pods_.end()) {
    if (said && !pod.finished()) { say(pod.uid, pods_[pod.uid], *std::move(said)); }
    return;
  }
  if (pod.finished()) { over_.insert(pod.uid); }
  if (!said) {
    said = Said{};
    said->mistake = fmt::format("its annotation {} was taken away", model::kAllocatedKey);
  }
  if (*said != known->second.said) { say(pod.uid, known->second, *std::move(said)); }
}

void HeldLeases::gone(const model::Uid& uid) {
  if (pods_.contains(uid)) { over_.insert(uid); }
}

void HeldLeases::sweep(const std::function<bool(const model::Uid& uid)>& has_containers) {
  for (auto it = over_.begin(); it != over_.end();) {
    if (has_containers(*it)) {
      ++it;
      continue;
    }
    waits_.forget(*it);
    pods_.erase(*it);
    it = over_.erase(it);
    ++changes_;
  }
}

void HeldLeases::say(const model::Uid& uid, Pod& pod, Said said) {
  pod.said = std::move(said);
  waits_.forget(uid);
  if (!pod.said.mistake.empty()) { return settle(pod, Hold::Refuted, pod.said.mistake); }
  if (pod.said.devices.empty()) { return settle(pod, Hold::Verified, ""); }
  settle(pod, Hold::Unverified,
         fmt::format("the leases of its GPUs '{}' are being read", enforce::listed(pod.said.devices)));
  pod.is_new = true;
  begin(uid, pod);
}

// ---- leases

void HeldLeases::begin(const model::Uid& uid, Pod& pod) {
  pod.reading = ++readings_;
  pod.asked = 0;
  pod.read.clear();
  standInLine(uid, pod);
}

void HeldLeases::standInLine(const model::Uid& uid, Pod& pod) {
  if (!std::exchange(pod.is_in_line, true)) { line_.push_back(uid); }
}

void HeldLeases::ask(kapi::Effects& out) {
  while (is_on_ && calls_.size() < kUnderWay && !line_.empty()) {
    const model::Uid uid = std::move(line_.front());
    line_.pop_front();
    const auto it = pods_.find(uid);
    if (it == pods_.end()) { continue; }
    Pod& pod = it->second;
    pod.is_in_line = false;
    const auto& devices = pod.said.devices;
    if (pod.reading == 0 || pod.asked >= devices.size()) { continue; }
    const model::DeviceId device = devices[pod.asked++];
    kapi::Call call =
        kapi::getObject(kapi::kLease, {config_.lease_namespace, model::leaseName(config_.node, device.gpu)});
    call.token = kapi::makeToken(owner_, next_token_++);
    calls_.emplace(call.token, Asked{uid, pod.reading, device});
    out.emplace_back(std::move(call));
    if (pod.asked < devices.size()) { standInLine(uid, pod); }
  }
}

void HeldLeases::tick(Now now, kapi::Effects& out) {
  for (const model::Uid& uid : waits_.takeDue(now.mono)) {
    const auto it = pods_.find(uid);
    const bool is_wanted = it != pods_.end() && it->second.hold != Hold::Verified;
    if (is_wanted && it->second.reading == 0) { begin(uid, it->second); }
  }
  ask(out);
}

void HeldLeases::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto call = calls_.extract(outcome.token);
  if (call.empty()) { return; }
  const Asked& asked = call.mapped();
  const auto it = pods_.find(asked.pod);
  const bool counts = it != pods_.end() && it->second.reading == asked.reading;
  if (counts) { answered(asked, it->second, outcome, now, out); }
}

void HeldLeases::answered(const Asked& asked, Pod& pod, const kapi::Outcome& outcome, Now now,
                          kapi::Effects& out) {
  const model::ObjectKey key{config_.lease_namespace, model::leaseName(config_.node, asked.device.gpu)};
  const auto lease = outcome.object.as<model::Lease>();
  const bool is_read = outcome.result == CallResult::Applied && lease != nullptr;
  if (!is_read && !outcome.notFound()) {
    std::string why = fmt::format("lease {} of its GPU {} cannot be read: {} {}", key.text(),
                                  model::print(asked.device), outcome.http, outcome.message);
    if (trouble_.empty()) { out.emplace_back(kapi::Log{kapi::Level::Warn, why, {{"uid", asked.pod.text}}}); }
    trouble_ = why;
    settle(pod, Hold::Unverified, std::move(why));
    return tryAgain(asked.pod, outcome, now);
  }
  trouble_.clear();
  LeaseSays says;
  if (is_read) {
    says = leaseSays(*lease, {config_.node, asked.device, asked.pod, pod.said});
  } else {
    says.why = fmt::format("there is no lease {} of its GPU {}", key.text(), model::print(asked.device));
  }
  if (says.is_its) { return isIts(asked, pod, says); }
  std::erase_if(pod.leased, [&](const Leased& one) { return one.id == asked.device; });
  settle(pod, Hold::Refuted, std::move(says.why));
  if (says.holder) { pod.others = {asked.device, *says.holder}; }
  tryAgain(asked.pod, outcome, now);
}

void HeldLeases::isIts(const Asked& asked, Pod& pod, const LeaseSays& says) {
  pod.read.push_back({asked.device, says.uuid, says.is_shared});
  if (pod.read.size() < pod.said.devices.size()) { return; }
  pod.leased = std::move(pod.read);
  pod.verified = ++verified_;
  waits_.forget(asked.pod);
  settle(pod, Hold::Verified, "");
}

void HeldLeases::settle(Pod& pod, Hold hold, std::string why) {
  pod.hold = hold;
  pod.why = std::move(why);
  pod.is_new = false;
  pod.reading = 0;
  pod.read.clear();
  pod.others.reset();
  ++changes_;
}

void HeldLeases::tryAgain(const model::Uid& uid, const kapi::Outcome& outcome, Now now) {
  const Duration wait = kapi::retryWait(waits_.tries(uid) + 1, outcome.retry_after, kTerms);
  waits_.tried(uid, now.mono, std::chrono::duration_cast<Duration>(wait * (1 + kSpread * rng_.unit())));
}

// ---- what is known

std::optional<model::Uid> HeldLeases::askedFor(kapi::Token call) const {
  const auto it = calls_.find(call);
  return it == calls_.end() ? std::nullopt : std::optional{it->second.pod};
}

bool HeldLeases::allAnswered() const {
  return std::none_of(pods_.begin(), pods_.end(), [](const auto& entry) { return entry.second.is_new; });
}

/// While the node counts its GPUs otherwise than when the pod was given its own, its ids mean others.
enforce::Holding HeldLeases::holdingOf(const Pod& pod, const enforce::DeviceTable& table) const {
  enforce::Holding out{pod.hold, pod.said.devices, pod.said.reservation, false, pod.why};
  if (pod.hold != Hold::Verified) { return out; }
  for (const Leased& one : pod.leased) {
    out.is_shared |= one.is_shared;
    const auto today = idOfToday(table, one.id, one.uuid);
    if (today == one.id || out.hold != Hold::Verified) { continue; }
    out.hold = Hold::Refuted;
    out.why = fmt::format(
        "it was given GPU {} of node {} when that was {}, which is {} now: its containers were told the old "
        "id; delete the pod",
        model::print(one.id), config_.node.text, one.uuid,
        today ? "GPU " + model::print(*today) : std::string{"not there"});
  }
  return out;
}

void HeldLeases::fill(NodeRecord& record) const {
  const enforce::DeviceTable table{record};
  std::map<model::DeviceId, std::uint64_t> since;
  for (const auto& [uid, pod] : pods_) {
    record.holdings.emplace(uid, holdingOf(pod, table));
    if (!pod.others) { continue; }
    const auto& [device, holder] = *pod.others;
    record.held.emplace(device, pods_.contains(holder) ? holder : model::Uid{});
  }
  for (const auto& [uid, pod] : pods_) {
    for (const Leased& one : pod.leased) {
      const auto id = idOfToday(table, one.id, one.uuid);
      if (!id) { continue; }
      const auto [last, is_first] = since.try_emplace(*id, pod.verified);
      if (!is_first && last->second > pod.verified) { continue; }  // that one was given it later
      last->second = pod.verified;
      record.held[*id] = uid;
    }
  }
}

}  // namespace gs::agent
