// A reflector whose runner is the test: effects are kept and looked at, answers and events are given by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "controller/reflector.h"
#include "controller/reflector_objects_test.h"

namespace gs::controller {

/// Plays the runner by hand: keeps the last effects and finds what a test wants to see.
class Hand {
 public:
  explicit Hand(int page_size = 500, kapi::Kind kind = kWatchedKind, std::size_t listed_to_catch_up = 0)
      : machine_{{kind, 9, "ns", {"a=b", ""}, false, page_size, listed_to_catch_up}, Rng{1}} {}

  Reflector& machine() { return machine_; }
  Now now() const { return clock_.now(); }
  void advance(Duration by) { clock_.advance(by); }

  const Reflector::Output& take(Reflector::Output out) {
    last_ = std::move(out);
    for (const kapi::Effect& e : last_.effects) {
      if (const auto* call = std::get_if<kapi::Call>(&e)) { call_ = *call; }
      if (const auto* open = std::get_if<kapi::OpenWatch>(&e)) { open_ = *open; }
      if (const auto* wake = std::get_if<kapi::Wake>(&e)) { wake_ = wake->at; }
    }
    return last_;
  }
  const Reflector::Output& start() { return take(machine_.start(now())); }
  const Reflector::Output& tick() { return take(machine_.tick(now())); }
  const Reflector::Output& expectCatchUp() { return take(machine_.expectCatchUp(now())); }
  const Reflector::Output& catchUp(model::Revision r) { return take(machine_.catchUp(r, now())); }
  const Reflector::Output& listed(model::Revision revision, std::vector<model::Object> items,
                                  std::string more = {}) {
    kapi::Outcome o;
    o.token = call_.token;
    o.result = kapi::CallResult::Applied;
    o.http = 200;
    o.list_revision = revision;
    o.items = std::move(items);
    o.continue_token = std::move(more);
    return take(machine_.handle(o, now()));
  }
  const Reflector::Output& listFails(int http, Duration retry_after = {}) {
    kapi::Outcome o;
    o.token = call_.token;
    o.result = http == 404 ? kapi::CallResult::Refused : kapi::CallResult::Unknown;
    o.http = http;
    o.message = "broken";
    o.retry_after = retry_after;
    return take(machine_.handle(o, now()));
  }
  const Reflector::Output& tooLarge() {
    kapi::Outcome o;
    o.token = call_.token;
    o.too_large = true;
    return take(machine_.handle(o, now()));
  }
  const Reflector::Output& event(kapi::Token stream, kapi::WatchType type, const std::string& name,
                                 const std::string& uid, model::Revision revision) {
    return take(machine_.handle(
        kapi::WatchEvent{stream, type, leaseObject(keyed(name), uid, revision), keyed(name), revision},
        now()));
  }
  const Reflector::Output& bookmark(kapi::Token stream, model::Revision revision) {
    return take(
        machine_.handle(kapi::WatchEvent{stream, kapi::WatchType::Bookmark, {}, {}, revision}, now()));
  }
  const Reflector::Output& ended(kapi::Token stream, int http) {
    return take(machine_.handle(kapi::WatchEnded{stream, http, http == 200 ? "" : "broken"}, now()));
  }
  /// Listed at revision 10 with object "a", and watching.
  void begin() {
    start();
    listed(10, {leaseObject(keyed("a"), "u-a", 5)});
  }

  template <class T>
  int count() const {
    int n = 0;
    for (const kapi::Effect& e : last_.effects) { n += std::holds_alternative<T>(e) ? 1 : 0; }
    return n;
  }
  const kapi::Call& call() const { return call_; }
  const kapi::OpenWatch& open() const { return open_; }
  Duration untilWake() const { return wake_ - now().mono; }

 private:
  Reflector machine_;
  ManualClock clock_;
  Reflector::Output last_;
  kapi::Call call_;
  kapi::OpenWatch open_;
  Mono wake_{};
};

}  // namespace gs::controller
