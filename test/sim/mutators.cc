#include "test/sim/mutators.h"

#include <algorithm>
#include <utility>

#include "kapi/kinds.h"
#include "model/annotations.h"
#include "model/claim.h"
#include "model/node.h"
#include "model/quota.h"
#include "test/sim/share_side.h"

namespace gs::sim {
namespace {

/// The object is shared: it is a copy that changes.
template <class T, class Change>
void change(model::Object& object, Change how) {
  const auto there = object.as<T>();
  if (there == nullptr) { return; }
  auto copy = std::make_shared<T>(*there);
  how(*copy);
  object = model::Object{std::shared_ptr<const T>{std::move(copy)}};
}

bool isBinding(const kapi::Call& call) { return call.subresource == "binding"; }
bool namesDevices(const kapi::Call& binding) {
  return !binding.body["metadata"]["annotations"][model::kAllocatedKey].isNull();
}
/// Of a GPU.
bool isLease(const kapi::Call& call) {
  return call.kind == kapi::kLease && kapi::tokenOwner(call.token) != sandbox::kElectionOwner;
}

void forgetVersion(kapi::Call& call) { call.body.child("metadata").erase("resourceVersion"); }

void setResult(kapi::Outcome& outcome, kapi::CallResult as, int http) {
  outcome.result = as;
  outcome.http = http;
}

void makeHealthy(model::Object& object, bool only_unknown) {
  change<model::GpuNodeStatus>(object, [&](model::GpuNodeStatus& status) {
    for (auto& device : status.devices) {
      if (!only_unknown || device.health == model::Health::Unknown) {
        device.health = model::Health::Healthy;
      }
    }
  });
}

/// An extender alone is no standby, whether it leads or not.
bool isStandby(const sandbox::World& world, sandbox::ReplicaId who) {
  return !ShareSide::isExtender(who) && !world.scheduler(who).leading();
}

std::vector<Mutator> all() {
  return {
      {.name = "ReleaseOnUnknownBinding",  // no answer is taken for a refusal
       .answered =
           [](const kapi::Call& call, kapi::Outcome& o) {
             if (isBinding(call) && o.result == kapi::CallResult::Unknown) {
               setResult(o, kapi::CallResult::Refused, 403);
             }
           }},
      {.name = "ConflictIsSuccess",  // a 409 of a Binding is taken for 201
       .answered =
           [](const kapi::Call& call, kapi::Outcome& o) {
             if (isBinding(call) && o.http == 409) { setResult(o, kapi::CallResult::Applied, 201); }
           }},
      {.name = "DeletesBlindly",  // DELETE of a lease without uid and resourceVersion
       .sent =
           [](kapi::Call& call) {
             if (isLease(call) && call.verb == kapi::Verb::Delete) { call.body.erase("preconditions"); }
           }},
      {.name = "UpdatesBlindly",  // PUT of a lease without resourceVersion
       .sent =
           [](kapi::Call& call) {
             if (isLease(call) && call.verb == kapi::Verb::Update) { forgetVersion(call); }
           }},
      {.name = "BindsBlindly",  // Binding without resourceVersion
       .sent =
           [](kapi::Call& call) {
             if (isBinding(call)) { forgetVersion(call); }
           }},
      {.name = "BindsUnnamedBlindly",  // only those that name no devices
       .sent =
           [](kapi::Call& call) {
             if (isBinding(call) && !namesDevices(call)) { forgetVersion(call); }
           }},
      {.name = "NamesNoPod",  // a lease that is written anew does not say its pod's name
       .sent =
           [](kapi::Call& call) {
             if (isLease(call) && call.verb == kapi::Verb::Update) {
               call.body.child("metadata").child("annotations").erase("gpu.scheduling/pod-name");
             }
           }},
      {.name = "GrantsUnhealthy",  // every device counts as Healthy
       .read = [](model::Object& object) { makeHealthy(object, false); }},
      {.name = "UnknownIsHealthy",  // a device whose health nobody knows does
       .read = [](model::Object& object) { makeHealthy(object, true); }},
      {.name = "IgnoresTopology",  // a claim's topology is not read
       .read =
           [](model::Object& object) {
             change<model::GpuClaim>(object, [](model::GpuClaim& claim) { claim.topology.reset(); });
           }},
      {.name = "ForgetsCpu",  // what pods ask for of cpu is not read
       .read =
           [](model::Object& object) {
             change<model::Pod>(object, [](model::Pod& pod) { pod.requests.cpu_milli = 0; });
           }},
      {.name = "IgnoresEnforcer",  // the enforcer label of a node is not read
       .read =
           [](model::Object& object) {
             change<model::Node>(object, [](model::Node& node) { node.labels.erase(model::kEnforcerLabel); });
           }},
      {.name = "IgnoresQuotas",  // a namespace may have any number of any model
       .read =
           [](model::Object& object) {
             change<model::QuotaMap>(object, [](model::QuotaMap& map) { map.quotas.emplace(); });
           }},
      {.name = "StandbyIsDeaf", .deaf_standby = true},  // who does not lead misses what is deleted
  };
}

}  // namespace

const std::vector<Mutator>& mutators() {
  static const std::vector<Mutator> known = all();
  return known;
}

const Mutator* mutatorOf(std::string_view name) {
  const auto& known = mutators();
  const auto it = std::find_if(known.begin(), known.end(), [&](const Mutator& m) { return m.name == name; });
  return it == known.end() ? nullptr : &*it;
}

bool anyReads(const std::vector<const Mutator*>& which) {
  return std::any_of(which.begin(), which.end(), [](const auto* m) { return m->read != nullptr; });
}

void putIn(sandbox::World& world, const std::vector<const Mutator*>& which) {
  if (which.empty()) { return; }
  const auto read = [which](model::Object& object) {
    for (const Mutator* m : which) {
      if (m->read != nullptr) { m->read(object); }
    }
  };
  sandbox::Tampering tampering;
  tampering.sent = [which](sandbox::ReplicaId, kapi::Call& call) {
    for (const Mutator* m : which) {
      if (m->sent != nullptr) { m->sent(call); }
    }
  };
  tampering.answered = [which, read](sandbox::ReplicaId, const kapi::Call& call, kapi::Outcome& outcome) {
    for (const Mutator* m : which) {
      if (m->answered != nullptr) { m->answered(call, outcome); }
    }
    read(outcome.object);
    for (model::Object& item : outcome.items) { read(item); }
  };
  const bool deaf = std::any_of(which.begin(), which.end(), [](const auto* m) { return m->deaf_standby; });
  tampering.heard = [&world, read, deaf](sandbox::ReplicaId who, kapi::WatchEvent& event) {
    if (deaf && event.type == kapi::WatchType::Deleted && isStandby(world, who)) { return false; }
    read(event.object);
    return true;
  };
  world.setTampering(std::move(tampering));
}

}  // namespace gs::sim
