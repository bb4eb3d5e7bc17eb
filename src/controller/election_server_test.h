// What the tests of the election share: a candidate's configuration, and one lease on an API server.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "controller/election.h"
#include "kapi/decode.h"
#include "kapi/paths.h"

namespace gs::controller {

inline Election::Config configOf(const std::string& identity) {
  Election::Config c;
  c.lease = {"gs", "scheduler.gpu.scheduling"};
  c.identity = identity;
  c.address = "http://" + identity;
  return c;
}

/// One lease on an API server, as far as elections use it.
class LeaseServer {
 public:
  kapi::Outcome serve(const kapi::Call& call) {
    kapi::Outcome o;
    o.token = call.token;
    if (call.kind == kHolderPod) { return servePod(call); }
    const auto refuse = [&o](int http) {
      o.result = kapi::CallResult::Refused;
      o.http = http;
      return o;
    };
    if (forbidden || (no_writes && call.verb != kapi::Verb::Get)) { return refuse(403); }
    if (call.verb != kapi::Verb::Get && conflicts > 0) {
      --conflicts;
      return refuse(409);
    }
    if (call.verb == kapi::Verb::Get && !lease_) { return refuse(404); }
    if (call.verb == kapi::Verb::Create && lease_) { return refuse(409); }
    if (call.verb == kapi::Verb::Update) {
      if (!lease_) { return refuse(404); }
      const bool fresh = kapi::objectRevision(call.body) == lease_->revision &&
                         call.body["metadata"]["uid"].str() == lease_->uid.text;
      if (!fresh) { return refuse(409); }
    }
    if (call.verb != kapi::Verb::Get) {
      model::Lease next = kapi::decodeLease(call.body);
      next.uid = lease_ ? lease_->uid : model::Uid{"uid-" + std::to_string(revision_)};
      next.revision = ++revision_;
      lease_ = next;
      body_ = call.body;
    }
    o.result = kapi::CallResult::Applied;
    o.http = 200;
    o.object = std::make_shared<const model::Lease>(*lease_);
    return o;
  }
  std::map<std::string, std::shared_ptr<const HolderPod>> pods;  // by name
  int pods_read = 0;
  int pods_forbidden = 0;  // so many more reads of it
  bool forbidden = false;  // our role says nothing of it
  bool no_writes = false;  // our role lets us read it only
  int conflicts = 0;       // so many writes more meet another version
  void remove() { lease_.reset(); }
  /// etcd was restored from a backup of before all writes but the first.
  void restore() {
    revision_ = 1;
    if (lease_) { lease_->revision = revision_; }
  }
  void nameOf(const std::string& scheduler) {
    lease_->record.scheduler = scheduler;
    lease_->revision = ++revision_;
  }
  /// Somebody else's write.
  void put(const std::string& holder, std::int64_t duration_s, const std::string& renewed) {
    model::Lease l = lease_.value_or(model::Lease{});
    if (!lease_) { l.uid = model::Uid{"foreign"}; }
    l.key = configOf("").lease;
    l.holder = holder;
    l.record.duration_s = duration_s;
    l.record.renew_time = renewed;
    l.revision = ++revision_;
    lease_ = l;
  }
  /// Its holder says where it runs, and since when it holds it.
  void inContainer(const std::string& container, const std::string& acquired) {
    lease_->record.container = container;
    lease_->record.acquire_time = acquired;
    lease_->revision = ++revision_;
  }
  const std::optional<model::Lease>& lease() const { return lease_; }
  const json::Value& body() const { return body_; }

 private:
  kapi::Outcome servePod(const kapi::Call& call) {
    ++pods_read;
    kapi::Outcome o;
    o.token = call.token;
    const auto pod = pods.find(call.key.name);
    o.http = pods_forbidden > 0 ? 403 : pod == pods.end() ? 404 : 200;
    pods_forbidden = std::max(0, pods_forbidden - 1);
    o.result = o.http == 200 ? kapi::CallResult::Applied : kapi::CallResult::Refused;
    if (o.http == 200) { o.object = pod->second; }
    return o;
  }

  model::Revision revision_ = 1;
  std::optional<model::Lease> lease_;
  json::Value body_;
};

}  // namespace gs::controller
