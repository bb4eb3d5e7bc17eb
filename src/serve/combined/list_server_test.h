// An API server with the objects that a test gives it: answers reads, and takes the record of the lease
// namespace; other writes it leaves unanswered. Included by tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kapi/call.h"
#include "kapi/kinds.h"
#include "model/crd.h"
#include "model/object.h"

namespace gs::serve {

class ListServer {
 public:
  template <class T>
  void add(kapi::Kind kind, T object) {
    objects[kind].emplace_back(std::make_shared<const T>(std::move(object)));
  }
  /// So that a scheduler may lead with leases in namespace default.
  void addLeaseRecord() {
    add(kapi::kCrd, model::Crd{"gpuclaims.gpu.scheduling", model::Uid{"u"}, 1, "default", ""});
  }

  /// nullopt: nothing comes back.
  std::optional<kapi::Outcome> answer(const kapi::Call& call) {
    const bool records = call.kind == kapi::kCrd && !kapi::isRead(call.verb);
    if (records) { record(call); }
    if ((!kapi::isRead(call.verb) && !records) || silent.contains(call.kind)) { return std::nullopt; }
    const auto refused = refusals.find(call.kind);
    kapi::Outcome o;
    o.token = call.token;
    o.http = refused == refusals.end() ? 200 : refused->second;
    o.result = o.http == 200 ? kapi::CallResult::Applied : kapi::CallResult::Refused;
    o.message = o.http == 200 ? "" : "no luck";
    o.list_revision = revision;
    if (call.verb == kapi::Verb::List) {
      o.items = objects[call.kind];
    } else if (!objects[call.kind].empty()) {
      o.object = objects[call.kind].at(0);
    }
    return o;
  }

  std::map<kapi::Kind, std::vector<model::Object>> objects;
  std::map<kapi::Kind, int> refusals;  // kinds whose reads are answered so
  std::set<kapi::Kind> silent;         // kinds whose reads are not answered
  model::Revision revision = 10;       // of lists

 private:
  void record(const kapi::Call& call) {
    model::Crd crd = *objects[kapi::kCrd].at(0).as<model::Crd>();
    crd.lease_scheduler =
        call.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-scheduler"].str();
    crd.lease_term = call.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-term"].str();
    objects[kapi::kCrd].at(0) = std::make_shared<const model::Crd>(crd);
  }
};

}  // namespace gs::serve
