// The scheduler as its pages of health show it.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "kapi/kinds.h"
#include "process/health_page.h"
#include "scheduler/status_page.h"
#include "serve/combined/list_server_test.h"
#include "testing/builders.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using kapi::Kind;
using scheduler::Config;
using scheduler::Scheduler;

/// A scheduler and its API server.
class SchedulerPagesTest : public ::testing::Test, protected ListServer {
 protected:
  void start() { serve(machine->start(now)); }
  void lead() {
    addLeaseRecord();
    serve(machine->handle(kapi::Leadership{true, 1, now.mono + 1h}, now));
  }
  void serve(kapi::Effects effects) {
    for (const auto& effect : effects) {
      const auto* open = std::get_if<kapi::OpenWatch>(&effect);
      if (open != nullptr) { opened.insert({open->kind, open->query.ends_with("timeoutSeconds=3")}); }
      // The short ones are for catching up.
      if (open != nullptr && !open->query.ends_with("timeoutSeconds=3")) {
        streams[open->kind] = open->stream;
      }
      const auto* call = std::get_if<kapi::Call>(&effect);
      if (call == nullptr) { continue; }
      if (const auto outcome = answer(*call)) { serve(machine->handle(*outcome, now)); }
    }
  }
  net::Response get(const char* target, const char* method = "GET") {
    return page.answer({method, target, {}, ""});
  }
  /// The body of a /readyz that fails, "200" else.
  std::string unready() {
    const auto response = get("/readyz");
    if (response.status == 200) { return "200"; }
    EXPECT_EQ(response.status, 503);
    return response.body;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::map<Kind, kapi::Token> streams;
  std::set<std::pair<Kind, bool>> opened;  // streams: whether for catching up
  Now now{Mono{1h}, Wall{1'750'000'000s}};
  std::unique_ptr<Scheduler> machine = std::make_unique<Scheduler>(Config{}, Rng{1});

  bool answers = true;
  int counted = 0;  // its state
  bool unauthorized = false;
  k8s::ElectionThread::View election;
  process::HealthPage page{wiring()};

 private:
  template <class Request>
  auto asks(Request request) {
    return [this, request] { return answers ? std::optional{request(*machine)} : std::nullopt; };
  }
  process::HealthPage::Wiring wiring() {
    return {.failure = asks([](const Scheduler& s) { return s.failure(); }),
            .readiness = asks([](const Scheduler& s) { return s.readiness(); }),
            .state = asks([this](const Scheduler& s) {
              ++counted;
              return scheduler::stateMetrics(s);
            }),
            .unauthorized = [this] { return unauthorized; },
            .metrics = [] { return std::string{"# counted\n"}; },
            .election = [this] { return election; },
            .now = [this] { return now.mono; },
            .standalone_gauge = "runs_standalone"};
  }
};

TEST_F(SchedulerPagesTest, AServerThatWentBackInTimeMeansARestart) {
  start();
  lead();
  EXPECT_EQ(get("/healthz").status, 200);
  revision = 5;
  serve(machine->handle(kapi::WatchEnded{streams[kapi::kPod], 410, "expired"}, now));
  EXPECT_EQ(get("/healthz").status, 500);
  EXPECT_TRUE(has(get("/healthz").body, "history of pods went back in time"));
  EXPECT_FALSE(machine->leading());
  serve(machine->handle(kapi::Leadership{true, 2, now.mono + 1h}, now));
  EXPECT_FALSE(machine->leading()) << "it takes nothing more";
}

TEST_F(SchedulerPagesTest, TheStateIsCountedOnceASecondHoweverOftenItIsAskedFor) {
  start();
  for (int i = 0; i < 100; ++i) { EXPECT_TRUE(has(get("/metrics").body, "gpu_scheduler_leading 0")); }
  EXPECT_EQ(counted, 1);
  lead();
  now.mono += 1s;
  EXPECT_TRUE(has(get("/metrics").body, "gpu_scheduler_leading 1"));
  EXPECT_EQ(counted, 2);
}

TEST_F(SchedulerPagesTest, AStandbyBeginsToCatchUpWhenTheLeaderFallsSilent) {
  using Opened = std::set<std::pair<Kind, bool>>;
  Config config;
  config.listed_to_catch_up = 0;  // by a second watch of each kind
  machine = std::make_unique<Scheduler>(std::move(config), Rng{1});
  start();
  opened.clear();
  serve(machine->handle(kapi::Leadership{false, 0, {}, true}, now));
  EXPECT_EQ(
      opened,
      (Opened{
          {kapi::kPod, true}, {kapi::kNode, true}, {kapi::kGpuClaim, true}, {kapi::kGpuNodeStatus, true}}));
  EXPECT_FALSE(machine->leading());
  opened.clear();
  lead();
  EXPECT_EQ(opened, Opened{}) << "they are open";
  EXPECT_TRUE(machine->leading());
}

TEST_F(SchedulerPagesTest, OneThatIsStoppingDoesNotCatchUp) {
  start();
  opened.clear();
  machine->stopTaking();
  serve(machine->handle(kapi::Leadership{false, 0, {}, true}, now));
  EXPECT_TRUE(opened.empty());
}

TEST_F(SchedulerPagesTest, IsHealthyWhileTheThreadAnswers) {
  for (const char* path : {"/healthz", "/livez", "/healthz?x=1"}) {
    EXPECT_EQ(get(path).status, 200);
    EXPECT_EQ(get(path).body, "ok\n");
  }
  unauthorized = true;
  election.trouble = "the lease cannot be written";
  EXPECT_EQ(get("/healthz").status, 200) << "a restart would mend nothing";
}

TEST_F(SchedulerPagesTest, AThreadThatDoesNotAnswerIsA500Everywhere) {
  start();
  answers = false;
  for (const char* path : {"/healthz", "/livez", "/readyz", "/readyz?verbose", "/metrics"}) {
    EXPECT_EQ(get(path).status, 500) << path;
    EXPECT_EQ(get(path).body, "the owner thread does not answer\n");
  }
}

TEST_F(SchedulerPagesTest, AStandbyThatIsSyncedIsReady) {
  start();
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").body, "ok\n");
  EXPECT_EQ(get("/readyz?verbose").status, 200);
  EXPECT_EQ(get("/readyz?verbose").body,
            "cache/pods: ok\ncache/nodes: ok\ncache/gpuclaims: ok\ncache/gpunodestatuses: ok\n"
            "cache/namespaces: ok\ncache/poddisruptionbudgets: ok\n"
            "cache/resourceslices: ok\ncache/devicetaintrules: ok\ncache/resourceclaims: "
            "ok\ncache/deviceclasses: ok\n"
            "cache/persistentvolumes: ok\ncache/persistentvolumeclaims: ok\ncache/storageclasses: ok\n"
            "cache/csinodes: ok\ncache/csidrivers: ok\ncache/csistoragecapacities: ok\n"
            "cache/volumeattachments: ok\n"
            "cache/leases: ok\nrole: standby\ntoken: ok\n");
}

TEST_F(SchedulerPagesTest, EachKindMustBeListed) {
  const std::pair<Kind, const char*> kinds[] = {{kapi::kPod, "pods"},
                                                {kapi::kNode, "nodes"},
                                                {kapi::kGpuClaim, "gpuclaims"},
                                                {kapi::kGpuNodeStatus, "gpunodestatuses"},
                                                {kapi::kLease, "leases"}};
  for (const auto& [kind, name] : kinds) {
    machine = std::make_unique<Scheduler>(Config{}, Rng{1});
    silent = {kind};
    start();
    EXPECT_TRUE(has(unready(), std::string{"cache/"} + name + ": not listed yet\n"));
  }
}

TEST_F(SchedulerPagesTest, AListThatFailsIsSaid) {
  refusals[kapi::kNode] = 403;
  start();
  const std::string text = unready();
  EXPECT_TRUE(has(text, "cache/nodes: list of nodes: 403 no luck\n")) << text;
  EXPECT_TRUE(has(text, "cache/pods: ok\n")) << "a failure lists every check";
}

TEST_F(SchedulerPagesTest, AKindWhoseCrdIsMissingIsNoFailure) {
  refusals[kapi::kGpuClaim] = 404;
  start();
  EXPECT_EQ(unready(), "200");
  EXPECT_TRUE(has(get("/readyz?verbose").body, "cache/gpuclaims: ok (not served by the API server)\n"));
}

TEST_F(SchedulerPagesTest, AnInvalidTokenIsSaidAndTheFixNamed) {
  start();
  unauthorized = true;
  EXPECT_TRUE(
      has(unready(), "token: the API server answers 401 Unauthorized; give this process a valid token\n"));
}

TEST_F(SchedulerPagesTest, TroubleWithTheElectionIsAFailure) {
  start();
  election.trouble = "lease default/x cannot be written: 403";
  EXPECT_TRUE(has(unready(), "leader-election: lease default/x cannot be written: 403\n"));
}

TEST_F(SchedulerPagesTest, WhoRunsAloneIsReadyWithoutTheLease) {
  start();
  election.trouble = "lease default/x cannot be read: 403";
  election.alone = true;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_TRUE(has(get("/readyz?verbose").body,
                  "leader-election: ok, standalone: lease default/x cannot be read: 403\n"));
}

TEST_F(SchedulerPagesTest, AGaugeSaysThatItRunsAlone) {
  start();
  EXPECT_TRUE(has(get("/metrics").body, "# TYPE runs_standalone gauge\nruns_standalone 0\n"))
      << get("/metrics").body;
  election.alone = true;
  EXPECT_TRUE(has(get("/metrics").body, "\nruns_standalone 1\n"));
}

TEST_F(SchedulerPagesTest, ALeaderWhoseLeaseNamespaceIsNotSettledIsNotReady) {
  start();
  silent = {kapi::kCrd};
  lead();
  const std::string text = unready();
  EXPECT_TRUE(has(text, "role: leader, recovering\nlease-namespace: ")) << text;
}

TEST_F(SchedulerPagesTest, ALeaderThatCatchesUpIsReadyAndSaysWhatItWaitsFor) {
  start();
  silent = {kapi::kPod};
  lead();
  EXPECT_EQ(unready(), "200");
  EXPECT_TRUE(has(get("/readyz?verbose").body, "initial-sync: pods have not caught up yet\n"));
}

TEST_F(SchedulerPagesTest, DevicesAreCountedByNodeAndState) {
  add(kapi::kNode, testing::makeNode("node-a"));
  model::GpuNodeStatus status = testing::makeStatus("node-a", 4);
  status.observed_time = "t0";
  status.devices[1].in_use_by = {model::Uid{"ended"}};
  status.devices[2].health = model::Health::Unhealthy;
  add(kapi::kGpuNodeStatus, status);
  add(kapi::kNode, testing::makeNode("node-b"));
  add(kapi::kGpuNodeStatus, testing::makeStatus("node-b", 2));
  add(kapi::kGpuNodeStatus, testing::makeStatus("without-a-node", 4));
  add(kapi::kPod, testing::PodBuilder("agent").agent(true).on("node-a").running().value());
  add(kapi::kLease, testing::makeLease("node-a", 0, testing::PodBuilder("p").value(), "r", "node-a:0"));
  start();
  const std::string text = get("/metrics").body;
  EXPECT_TRUE(has(text,
                  "# TYPE gpu_scheduler_devices gauge\n"
                  "gpu_scheduler_devices{node=\"node-a\",state=\"draining\"} 1\n"
                  "gpu_scheduler_devices{node=\"node-a\",state=\"free\"} 1\n"
                  "gpu_scheduler_devices{node=\"node-a\",state=\"held\"} 1\n"
                  "gpu_scheduler_devices{node=\"node-a\",state=\"unhealthy\"} 1\n"
                  "gpu_scheduler_devices{node=\"node-b\",state=\"draining\"} 0\n"
                  "gpu_scheduler_devices{node=\"node-b\",state=\"free\"} 2\n"
                  "gpu_scheduler_devices{node=\"node-b\",state=\"held\"} 0\n"
                  "gpu_scheduler_devices{node=\"node-b\",state=\"unhealthy\"} 0\n"))
      << text;
  EXPECT_FALSE(has(text, "without-a-node"));
}

TEST_F(SchedulerPagesTest, MetricsAreThoseCountedThenTheState) {
  start();
  const auto response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(*net::findHeader(response.headers, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(response.body.starts_with("# counted\n# HELP gpu_scheduler_"));
  EXPECT_TRUE(has(response.body, "\ngpu_scheduler_leading 0\n"));
}

TEST_F(SchedulerPagesTest, ALeadersWaitingPodsAreCountedByQueue) {
  for (const char* name : {"p", "q"}) { add(kapi::kPod, testing::PodBuilder(name).gpus(1).value()); }
  start();
  lead();
  const std::string text = get("/metrics").body;
  EXPECT_TRUE(has(text,
                  "scheduler_pending_pods{queue=\"active\"} 0\n"
                  "scheduler_pending_pods{queue=\"backoff\"} 0\n"
                  "scheduler_pending_pods{queue=\"gated\"} 0\n"
                  "scheduler_pending_pods{queue=\"unschedulable\"} 2\n"))
      << text;
  EXPECT_TRUE(has(text, "\ngpu_scheduler_leading 1\n"));
}

TEST_F(SchedulerPagesTest, OnlyReadsOfItsOwnPathsAreServed) {
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/healthz/x").status, 404);
  EXPECT_EQ(get("/healthz", "POST").status, 405);
  EXPECT_EQ(get("/nowhere", "DELETE").status, 405);
  EXPECT_EQ(get("/healthz", "HEAD").status, 200);
}

}  // namespace
}  // namespace gs::serve
