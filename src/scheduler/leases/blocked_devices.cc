#include "scheduler/leases/blocked_devices.h"

#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::scheduler {

void BlockedDevices::pump() {
  for (const auto& device : c_.engine.blocks().takeNew()) { calls_.failed(device, c_.now.mono); }
  for (const auto& device : calls_.takeDue(c_.now.mono)) {
    if (!c_.engine.blocks().blocked().contains(device)) {
      calls_.forget(device);
      continue;
    }
    kapi::Call call = kapi::getObject(kapi::kLease, c_.leaseKey(device.first, device.second));
    call.token = calls_.begin(device);
    c_.out.emplace_back(std::move(call));
  }
}

void BlockedDevices::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  if (outcome.notFound()) {
    c_.engine.blocks().unblock(call->key);
    calls_.forget(call->key);
    return;
  }
  const auto lease = outcome.object.as<model::Lease>();
  if (lease != nullptr && lease->managed) { c_.engine.learn(outcome.object, now.mono); }
  if (c_.engine.blocks().blocked().contains(call->key)) {
    calls_.failed(call->key, now.mono, outcome.retry_after);
  } else {
    calls_.forget(call->key);
  }
}

}  // namespace gs::scheduler
