#include "k8s/election_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "base/deadline_test.h"
#include "base/system_clock.h"
#include "json/value.h"
#include "k8s/api.h"
#include "net/http_server.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;

/// One Lease as an API server keeps it: create, read, and update with its resourceVersion.
class LeaseServer {
 public:
  LeaseServer()
      : server_{std::move(*net::HttpServer::start(net::HttpServer::Options{},
                                                  [this](const net::Request& r) { return answer(r); }))} {}
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  [[nodiscard]] std::string holder() const {
    MutexLock lock{mutex_};
    return std::string{lease_["spec"]["holderIdentity"].str()};
  }
  /// From now on nothing is answered until the other way round.
  void hang(bool on) {
    MutexLock lock{mutex_};
    hanging_ = on;
    changed_.notifyAll();
  }

 private:
  net::Response answer(const net::Request& request) {
    MutexLock lock{mutex_};
    while (hanging_) { changed_.wait(mutex_); }
    if (request.method == "GET") {
      return lease_.isNull() ? net::jsonResponse(404, R"({"kind":"Status","reason":"NotFound"})")
                             : net::jsonResponse(200, json::print(lease_));
    }
    json::Value sent = *json::parse(request.body);
    const bool create = request.method == "POST";
    const bool stale =
        create ? !lease_.isNull()
               : sent["metadata"]["resourceVersion"].str() != lease_["metadata"]["resourceVersion"].str();
    if (stale) { return net::jsonResponse(409, R"({"kind":"Status","reason":"Conflict"})"); }
    sent.child("metadata").set("resourceVersion", std::to_string(++revision_));
    sent.child("metadata").set("uid", "u1");
    lease_ = sent;
    return net::jsonResponse(create ? 201 : 200, json::print(lease_));
  }

  mutable Mutex mutex_;
  Signal changed_;
  bool hanging_ GS_GUARDED_BY(mutex_) = false;
  int revision_ GS_GUARDED_BY(mutex_) = 0;
  json::Value lease_ GS_GUARDED_BY(mutex_);
  std::unique_ptr<net::HttpServer> server_;
};

/// A process that takes part: a loop whose machine notes what it is told, a gate and the thread.
class Candidate {
 public:
  Candidate(const LeaseServer& server, std::string identity, const Clock& clock)
      : clock_{clock}, identity_{std::move(identity)}, loop_{clock, 4} {
    Access access;
    access.server = server.url();
    api_ = std::make_unique<Api>(access, "test/1", clock);
    loop_.start({.begin = [](Now) { return kapi::Effects{}; },
                 .handle =
                     [this](const Event& event, Now) {
                       if (const auto* told = std::get_if<kapi::Leadership>(&event)) { note(*told); }
                       return kapi::Effects{};
                     }},
                [](kapi::Effects, std::uint64_t) {});
  }
  ~Candidate() {
    thread_.reset();
    loop_.stop();
  }
  void run(Duration lease = 3s, Duration renew = 2s, Duration retry = 5ms) {
    controller::Election::Config config;
    config.lease = {"ns", "scheduler.gpu.scheduling"};
    config.identity = identity_;
    config.lease_duration = lease;
    config.renew_deadline = renew;
    config.retry_period = retry;
    thread_ = std::make_unique<ElectionThread>(
        controller::Election{config, Rng{1}},
        ElectionThread::Wiring{[this] { return api_->connect(); }, loop_, gate_, clock_});
  }
  /// Waits until the machine was told so.
  kapi::Leadership waitUntil(bool leading, std::uint64_t term) {
    const Deadline deadline{"the machine is told who leads"};
    MutexLock lock{mutex_};
    while (told_.leading != leading || told_.term != term) { changed_.wait(mutex_); }
    return told_;
  }
  [[nodiscard]] ElectionThread& thread() { return *thread_; }
  [[nodiscard]] LeaderGate& gate() { return gate_; }
  [[nodiscard]] EventLoop& loop() { return loop_; }

 private:
  void note(const kapi::Leadership& told) {
    MutexLock lock{mutex_};
    told_ = told;
    changed_.notifyAll();
  }

  const Clock& clock_;
  const std::string identity_;
  Mutex mutex_;
  Signal changed_;
  kapi::Leadership told_ GS_GUARDED_BY(mutex_);
  LeaderGate gate_;
  std::unique_ptr<Api> api_;
  EventLoop loop_;
  std::unique_ptr<ElectionThread> thread_;
};

class ElectionThreadTest : public testing::Test {
 protected:
  SystemClock clock_;
  LeaseServer server_;
};

TEST_F(ElectionThreadTest, TakesAFreeLeaseAndGivesItBackAtStop) {
  Candidate a{server_, "a", clock_};
  a.run();
  const kapi::Leadership told = a.waitUntil(true, 1);
  EXPECT_TRUE(a.gate().open(1, clock_.now().mono));
  EXPECT_GT(told.until, Mono{});
  EXPECT_EQ(server_.holder(), "a");
  EXPECT_EQ(a.thread().view().holder, "a");
  a.thread().stop(1h);
  EXPECT_EQ(server_.holder(), "");
  EXPECT_FALSE(a.gate().open(1, clock_.now().mono));
  a.thread().stop(1h);
}

TEST_F(ElectionThreadTest, StandbyTakesOverWhatIsGivenBackLongBeforeItRunsOut) {
  Candidate a{server_, "a", clock_};
  Candidate b{server_, "b", clock_};
  a.run(1h, 30min);
  a.waitUntil(true, 1);
  b.run(1h, 30min);
  while (b.thread().view().holder != "a") {}
  EXPECT_FALSE(b.gate().leadership().leading);
  a.thread().stop(1h);
  b.waitUntil(true, 1);
  EXPECT_EQ(server_.holder(), "b");
}

TEST_F(ElectionThreadTest, AServerThatHangsShutsTheGateAndTheLoopIsTold) {
  Candidate a{server_, "a", clock_};
  a.run(200ms, 100ms);
  a.waitUntil(true, 1);
  server_.hang(true);
  a.waitUntil(false, 1);
  EXPECT_FALSE(a.gate().open(1, clock_.now().mono));
  server_.hang(false);
  a.waitUntil(true, 2);
}

TEST_F(ElectionThreadTest, AHungOwnerLosesTheLease) {
  Candidate a{server_, "a", clock_};
  Candidate b{server_, "b", clock_};
  a.run(200ms, 100ms);
  a.waitUntil(true, 1);
  std::latch release{1};
  EXPECT_TRUE(a.loop().ask([&] { release.wait(); }));
  b.run(200ms, 100ms);
  b.waitUntil(true, 1);
  EXPECT_FALSE(a.gate().open(1, clock_.now().mono));
  release.count_down();
  a.waitUntil(false, 1);
}

TEST_F(ElectionThreadTest, StopDoesNotWaitForAServerThatHangs) {
  Candidate a{server_, "a", clock_};
  a.run();
  a.waitUntil(true, 1);
  server_.hang(true);
  a.thread().stop(10ms);
  EXPECT_FALSE(a.gate().open(1, clock_.now().mono));
  server_.hang(false);
}

}  // namespace
}  // namespace gs::k8s
