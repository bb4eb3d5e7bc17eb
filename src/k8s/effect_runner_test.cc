// The rim in one piece: loop, runner, pools, client and HTTP, against a fake API server.
#include "k8s/effect_runner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/deadline_test.h"
#include "base/system_clock.h"
#include "k8s/api.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "net/scripted_server.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;
using net::ScriptedServer;
using Peer = ScriptedServer::Peer;

/// A machine whose effects the test gives, and which notes every event.
class EffectRunnerTest : public testing::Test {
 protected:
  void start(ScriptedServer::Script script) {
    server_ = std::make_unique<ScriptedServer>(std::move(script));
    Access access;
    access.server = server_->url();
    api_ = std::make_unique<Api>(access, "test/1", clock_);
    runner_ = std::make_unique<EffectRunner>(EffectRunner::Wiring{
        .connect = [this] { return api_->connect(); }, .loop = loop_, .clock = clock_, .gate = &gate_});
    loop_.start(
        {.begin = [](Now) { return kapi::Effects{}; },
         .handle = [this](const Event& event, Now) { return handle(event); }},
        [this](kapi::Effects effects, std::uint64_t term) { runner_->submit(std::move(effects), term); });
  }
  void TearDown() override {
    runner_->drain(0s);
    loop_.stop();
  }
  /// Gives the machine's next effects.
  void act(kapi::Effects effects) {
    {
      MutexLock lock{mutex_};
      next_ = std::move(effects);
    }
    EXPECT_TRUE(loop_.post(kapi::TimerDue{}));
  }
  std::vector<Event> waitForEvents(std::size_t count) {
    const Deadline deadline{"so many events came"};
    MutexLock lock{mutex_};
    while (events_.size() < count) { changed_.wait(mutex_); }
    return events_;
  }
  static kapi::Call bind(kapi::Token token, bool leader_only) {
    model::Pod pod;
    pod.key = {"ns", "p"};
    pod.uid = model::Uid{"u1"};
    pod.revision = 7;
    kapi::Call call = kapi::bindPod(pod, model::NodeName{"node-a"}, {});
    call.token = token;
    call.leader_only = leader_only;
    call.timeout = 1h;
    return call;
  }
  static kapi::OpenWatch watch(kapi::Token stream) {
    kapi::OpenWatch made;
    made.stream = stream;
    made.kind = kapi::kNode;
    return made;
  }

  SystemClock clock_;
  LeaderGate gate_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Api> api_;
  EventLoop loop_{clock_, 8};
  std::unique_ptr<EffectRunner> runner_;

 private:
  kapi::Effects handle(const Event& event) {
    MutexLock lock{mutex_};
    if (std::holds_alternative<kapi::TimerDue>(event)) { return std::exchange(next_, {}); }
    events_.push_back(event);
    changed_.notifyAll();
    return {};
  }

  Mutex mutex_;
  Signal changed_;
  kapi::Effects next_ GS_GUARDED_BY(mutex_);
  std::vector<Event> events_ GS_GUARDED_BY(mutex_);
};

TEST_F(EffectRunnerTest, BindingGoesOutOnlyWhileWeLead) {
  start([](Peer& peer) {
    while (peer.readRequest()) { peer.answer(201, R"({"kind":"Status","status":"Success"})"); }
  });
  act({bind(1, true)});
  EXPECT_EQ(std::get<kapi::Outcome>(waitForEvents(1)[0]).result, kapi::CallResult::NotSent);
  const kapi::Leadership leading{true, 1, Mono::max()};
  gate_.set(leading);
  loop_.postLeadership(leading);
  waitForEvents(2);
  act({bind(2, true)});
  const auto outcome = std::get<kapi::Outcome>(waitForEvents(3)[2]);
  EXPECT_EQ(outcome.token, 2U);
  EXPECT_EQ(outcome.result, kapi::CallResult::Applied);
  EXPECT_EQ(server_->requests().size(), 1U);
}

TEST_F(EffectRunnerTest, WatchEventsComeInOrderThroughASmallMailbox) {
  start([](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    for (int i = 1; i <= 500; ++i) {
      peer.chunk(R"({"type":"ADDED","object":{"metadata":{"name":"n","resourceVersion":")" +
                 std::to_string(i) + "\"}}}\n");
    }
    peer.chunk("");
    peer.waitForClose();
  });
  act({watch(5)});
  const auto events = waitForEvents(501);
  for (std::size_t i = 0; i < 500; ++i) { EXPECT_EQ(std::get<kapi::WatchEvent>(events[i]).revision, i + 1); }
  EXPECT_EQ(std::get<kapi::WatchEnded>(events[500]).http, 200);
}

TEST_F(EffectRunnerTest, ManyCallsAtOnceAllComeBackThroughASmallMailbox) {
  start([](Peer& peer) {
    while (peer.readRequest()) { peer.answer(404, R"({"kind":"Status","reason":"NotFound"})"); }
  });
  kapi::Effects effects;
  for (kapi::Token t = 1; t <= 1000; ++t) {
    kapi::Call call = kapi::getObject(kapi::kPod, {"ns", "p"});
    call.token = t;
    effects.emplace_back(std::move(call));
  }
  act(std::move(effects));
  std::vector<kapi::Token> tokens;
  for (const Event& event : waitForEvents(1000)) { tokens.push_back(std::get<kapi::Outcome>(event).token); }
  std::sort(tokens.begin(), tokens.end());
  for (kapi::Token t = 1; t <= 1000; ++t) { EXPECT_EQ(tokens[t - 1], t); }
}

TEST_F(EffectRunnerTest, ClosedWatchIsSilentAndItsConnectionEnds) {
  start([](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.waitForClose();  // returns only when we close
  });
  act({watch(5)});
  server_->waitForRequests(1);
  act({kapi::CloseWatch{5}, watch(6)});
  server_->waitForRequests(2);
  runner_->drain(0s);
  EXPECT_TRUE(waitForEvents(0).empty());
}

TEST_F(EffectRunnerTest, DrainEndsWatchesAndAHangingWriteWhichIsUnknown) {
  start([](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.waitForClose();
  });
  act({watch(5), bind(1, false)});
  server_->waitForRequests(2);
  runner_->drain(1ms);
  runner_->drain(1ms);
  EXPECT_EQ(std::get<kapi::Outcome>(waitForEvents(1)[0]).result, kapi::CallResult::Unknown);
  act({bind(2, false)});
  EXPECT_EQ(std::get<kapi::Outcome>(waitForEvents(2)[1]).result, kapi::CallResult::NotSent);
}

}  // namespace
}  // namespace gs::k8s
