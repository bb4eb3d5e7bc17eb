// One candidate whose runner is the test, beside its API server. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/election_server_test.h"

namespace gs::controller {

/// One candidate and the server, moved by hand. Calls are carried out and answered at once unless `cut`.
class One {
 public:
  explicit One(const std::string& identity = "me") : One{configOf(identity)} {}
  explicit One(Election::Config config) : machine_{std::move(config), Rng{3}} {}

  void start() { take(machine_.start(now())); }
  void stop() { take(machine_.stop(now())); }
  void run(Duration how_long) {
    const Mono end = now().mono + how_long;
    while (now().mono < end) {
      clock_.advance(std::chrono::milliseconds{50});
      take(machine_.tick(now()));
    }
  }
  /// Answers the call that waits while cut.
  void answer(kapi::CallResult result, bool apply) {
    ASSERT_TRUE(waiting_.has_value());
    kapi::Outcome o;
    if (apply) { o = server.serve(*waiting_); }
    if (result != kapi::CallResult::Applied) {
      o = kapi::Outcome{};
      o.token = waiting_->token;
      o.result = result;
    }
    waiting_.reset();
    take(machine_.handle(o, now()));
  }
  /// The call that waits is answered 429.
  void busy(Duration retry_after) {
    ASSERT_TRUE(waiting_.has_value());
    kapi::Outcome o;
    o.token = waiting_->token;
    o.result = kapi::CallResult::Refused;
    o.http = 429;
    o.retry_after = retry_after;
    waiting_.reset();
    take(machine_.handle(o, now()));
  }
  void advance(Duration by) { clock_.advance(by); }
  Now now() const { return clock_.now(); }
  bool leads() const { return machine_.leading(); }
  Election& machine() { return machine_; }

  LeaseServer server;
  bool cut = false;          // calls stay under way
  bool cut_pods = false;     // those that read pods
  bool owner_hangs = false;  // no pong
  int pings = 0;
  int calls = 0;
  bool released = false;
  std::optional<kapi::Leadership> leadership;
  std::vector<Duration> timeouts;
  std::vector<std::string> logs;

 private:
  void take(Election::Output out) {
    if (out.leadership) { leadership = out.leadership; }
    released |= out.released;
    if (out.ping) {
      ++pings;
      if (!owner_hangs) { machine_.pong(now()); }
    }
    for (const kapi::Effect& e : out.effects) {
      const auto* call = std::get_if<kapi::Call>(&e);
      if (const auto* line = std::get_if<kapi::Log>(&e)) { logs.push_back(line->message); }
      if (call == nullptr) { continue; }
      ++calls;
      timeouts.push_back(call->timeout);
      if (cut || (cut_pods && call->kind == kHolderPod)) {
        waiting_ = *call;
      } else {
        take(machine_.handle(server.serve(*call), now()));
      }
    }
  }

  Election machine_;
  ManualClock clock_;
  std::optional<kapi::Call> waiting_;
};

}  // namespace gs::controller
