// An API server with the objects that a test gives it: answers reads, and takes the record of the lease namespace; other
// writes it leaves unanswered. Included by tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kapi/call.h"
#include "model/object.h"

namespace gs::serve {

class ListServer {
 public:
  template <class T>
  void add(model::Kind kind, T object) {
    objects[kind].emplace_back(std::make_shared<const T>(std::move(object)));
  }
  /// So that a scheduler may lead with leases in namespace default.
  void addLeaseRecord() {
    add(model::Kind::Crd, model::Crd{"gpuclaims.gpu.scheduling", model::Uid{"u"}, 1, "default", ""});
  }

  /// nullopt: nothing comes back.
  std::optional<kapi::Outcome> answer(const kapi::Call& call) {
    const bool records = call.kind == model::Kind::Crd && !kapi::isRead(call.verb);
    if (records) { record(call); }
    if ((!kapi::isRead(call.verb) && !records) || silent.contains(call.kind)) { return std::nullopt; }
    const auto refused = refusals.find(call.kind);
    kapi::Outcome o;
    o.token = call.token;
    o.http = refused == refusals.end() ? 200 : refused->second;
    o.fate = o.http == 200 ? kapi::Fate::Applied : kapi::Fate::Refused;
    o.message = o.http == 200 ? "" : "no luck";
    o.list_revision = revision;
    if (call.verb == kapi::Verb::List) {
      o.items = objects[call.kind];
    } else if (!objects[call.kind].empty()) {
      o.object = objects[call.kind].at(0);
    }
    return o;
  }

  std::map<model::Kind, std::vector<model::Object>> objects;
  std::map<model::Kind, int> refusals;  // kinds whose reads are answered so
  std::set<model::Kind> silent;         // kinds whose reads are not answered
  model::Revision revision = 10;        // of lists

 private:
  void record(const kapi::Call& call) {
    model::Crd crd = *std::get<model::Ptr<model::Crd>>(objects[model::Kind::Crd].at(0));
    crd.lease_scheduler =
        call.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-scheduler"].str();
    crd.lease_term = call.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-term"].str();
    objects[model::Kind::Crd].at(0) = std::make_shared<const model::Crd>(crd);
  }
};

}  // namespace gs::serve
