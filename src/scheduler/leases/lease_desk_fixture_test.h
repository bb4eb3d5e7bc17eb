// For tests only: a lease desk, and an API server that answers what the test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/leases/lease_desk.h"
#include "testing/builders.h"

namespace gs::scheduler {

class LeaseDeskTest : public ::testing::Test {
 protected:
  Claimant claimant(const char* pod, const char* reservation, bool shared = false) {
    return {model::Uid{pod},
            {"default", pod},
            model::ReservationId{reservation},
            model::NodeName{"node-a"},
            0,
            "GPU-0",
            "node-a:0",
            shared};
  }
  kapi::Call sent() {
    kapi::Effects out;
    desk.pump(now, out);
    EXPECT_EQ(out.size(), 1U);
    return out.empty() ? kapi::Call{} : std::get<kapi::Call>(out.at(0));
  }
  static kapi::Outcome outcomeOf(const kapi::Effect& call, kapi::CallResult result, int http) {
    kapi::Outcome o;
    o.token = std::get<kapi::Call>(call).token;
    o.result = result;
    o.http = http;
    return o;
  }
  bool silent() {
    kapi::Effects out;
    desk.pump(now, out);
    return out.empty();
  }
  void answer(const kapi::Call& call, kapi::CallResult result, int http, model::Object object = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    if (http == 404) { o.reason = "NotFound"; }
    o.object = std::move(object);
    desk.handle(o, Now{now, {}}, ignored);
  }
  /// A lease of the API as an answer: `holders` empty: exclusive of `pod`.
  model::Object lease(const char* pod, const char* reservation, model::Revision revision,
                      std::vector<const char*> holders = {}) {
    model::Lease l =
        testing::makeLease("node-a", 0, testing::PodBuilder(pod).uid(pod).value(), reservation, "node-a:0");
    l.revision = revision;
    if (!holders.empty()) {
      l.holder = "shared";
      for (const char* h : holders) {
        l.holders.push_back(
            {model::Uid{h}, {"default", h}, 0, 0, model::ReservationId{reservation}, "node-a:0"});
      }
    }
    return std::make_shared<const model::Lease>(l);
  }
  /// What the desk told, one line.
  std::string told() {
    (void)silent();
    std::string text;
    for (const auto& n : desk.takeNotices()) {
      static const char* names[] = {"held", "lost", "refused", "gone"};
      text +=
          std::string{names[static_cast<int>(n.what)]} + ":" + n.uid.text + (n.was_unknown ? "?" : "") + " ";
    }
    return text;
  }

  /// Running pod "p" of reservation "r" takes its lease again, and this one stands there without its label.
  void runsAndFindsUnlabelled(const model::Object& there) {
    model::Lease bare = *there.as<model::Lease>();
    bare.managed = false;
    Claimant again = claimant("p", "r");
    again.over_own = true;
    desk.take(key, again, false);
    answer(sent(), kapi::CallResult::Refused, 409);
    answer(sent(), kapi::CallResult::Applied, 200, std::make_shared<const model::Lease>(bare));
  }

  engine::Engine engine;
  controller::Parts parts;
  kapi::Effects ignored;
  LeaseDesk desk{engine, model::kMaxSharers, parts};
  const model::ObjectKey key{"default", "gpu-node-a-0"};
  Mono now{std::chrono::hours{1}};
};

}  // namespace gs::scheduler
