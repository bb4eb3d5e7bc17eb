#include "process/service.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/deadline_test.h"
#include "base/temp_folder_test.h"
#include "net/http_client.h"

namespace gs::process {
namespace {

/// Leads as soon as it is told to, and has something under way until `ends`.
class SomeMachine {
 public:
  kapi::Effects start(Now /*now*/) {
    did += "start ";
    return {};
  }
  kapi::Effects handle(const k8s::Event& event, Now /*now*/) {
    if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
      did += leadership->leading ? "leads " : "lost ";
    }
    return {};
  }
  void stopTaking() {
    did += "stops ";
    taking = false;
  }
  [[nodiscard]] bool underWay() const { return !taking && looked++ < 3; }
  [[nodiscard]] const std::string& failure() const { return failed; }
  [[nodiscard]] Readiness readiness() const { return {}; }

  std::string did;
  std::string failed;
  bool taking = true;
  mutable int looked = 0;
};

/// A Service of which nothing but the cluster is real: nobody answers there.
class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    std::ofstream{kubeconfig} << R"({apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {token: secret}}],
contexts: [{name: c, context: {cluster: c, user: u, namespace: team}}]})";
  }
  ~ServiceTest() override { ::alarm(0); }  // what endSoon() set
  Service::Options options() {
    return {.cluster = {.kubeconfig = kubeconfig}, .pages = "127.0.0.1:0", .said = {{"quotas", "none"}}};
  }
  Machine machine() {
    Machine out = machineOf(some);
    out.state = [] { return std::string{"some_state 1\n"}; };
    return out;
  }
  /// Runs it until SIGTERM, which comes once its endpoint was started; the exit status, and what it logged.
  int run(Service& service, const std::vector<Endpoint>& endpoints = {}) {
    testing::internal::CaptureStderr();
    const int status = service.run(machine(), endpoints);
    logged = testing::internal::GetCapturedStderr();
    return status;
  }
  static Endpoint terminatesOnceServed() {
    return {.serves = "nobody",
            .start =
                [] {
                  ::kill(::getpid(), SIGTERM);  // it is blocked until run() waits for it
                  return Status{};
                },
            .stop = [] {}};
  }

  const StopSignals blocked;  // before any thread
  TempFolder folder;
  const std::string kubeconfig = folder.path("kubeconfig");
  Program program{"some-program", "Does something."};
  SomeMachine some;
  std::string logged;
};

TEST_F(ServiceTest, RunsItsMachineUntilItIsToldToEndAndWaitsForWhatIsUnderWay) {
  const Deadline deadline{"the service ends"};
  auto service = Service::make(program, options());
  ASSERT_TRUE(service) << service.error().message;
  EXPECT_EQ((*service)->leaseNamespace(), "team");
  EXPECT_EQ(run(**service, {terminatesOnceServed()}), 0);
  EXPECT_EQ(some.did, "start leads stops ");
  EXPECT_EQ(some.looked, 4) << "until nothing was";
  EXPECT_NE(logged.find("msg=stopping signal=15"), std::string::npos) << logged;
  EXPECT_NE(logged.find("msg=stopped"), std::string::npos) << logged;
}

TEST_F(ServiceTest, OneLineSaysByWhatItGoes) {
  const Deadline deadline{"the service ends"};
  std::string flag = "x";
  std::string identity;
  std::string address;
  program.root()
      .text("--flag", "X", flag, "A flag")
      .text("--identity", "NAME", identity, "Said once")
      .text("--address", "HOST:PORT", address, "Said once too");
  program.root().does([] { return 0; });
  std::ostringstream text;
  ASSERT_EQ(program.run({"--identity=me", "--flag=y", "--address=:80"}, text, text), 0);
  auto with_election = options();
  with_election.said.emplace_back("address", address);
  with_election.election.emplace();
  with_election.election->lease = "leader";
  with_election.election->config.identity = "me";
  auto service = Service::make(program, with_election);
  ASSERT_TRUE(service);
  EXPECT_EQ(run(**service, {terminatesOnceServed()}), 0);
  const auto from = logged.find("level=info msg=running");
  ASSERT_NE(from, std::string::npos) << logged;
  const std::string line = logged.substr(from, logged.find('\n', from) - from);
  EXPECT_TRUE(
      line.starts_with("level=info msg=running program=some-program-0.1 server=http://127.0.0.1:1 "
                       "lease=team/leader identity=me "
                       "pages=127.0.0.1:"))
      << line;
  EXPECT_TRUE(line.ends_with(" quotas=none address=:80 flag=y")) << line;
  EXPECT_EQ(logged.find("secret"), std::string::npos);
}

TEST_F(ServiceTest, ItsPagesAreTheMachines) {
  const Deadline deadline{"the service ends"};
  auto service = Service::make(program, options());
  ASSERT_TRUE(service);
  std::string health;
  std::string metrics;
  int ledger = 0;
  std::jthread asks;
  const Endpoint endpoint{.serves = "nobody",
                          .start =
                              [&] {
                                asks = std::jthread{[&] {
                                  health = (*service)->page({"GET", "/readyz", {}, ""}).body;
                                  metrics = (*service)->page({"GET", "/metrics", {}, ""}).body;
                                  ledger = (*service)->page({"GET", "/debug/ledger", {}, ""}).status;
                                  ::kill(::getpid(), SIGTERM);
                                }};
                                return Status{};
                              },
                          .stop = [] {}};
  EXPECT_EQ(run(**service, {endpoint}), 0);
  asks.join();
  EXPECT_EQ(health, "ok\n");
  EXPECT_NE(metrics.find("some_state 1\n"), std::string::npos) << metrics;
  EXPECT_EQ(ledger, 404);
}

TEST_F(ServiceTest, WhatCannotBeServedIsSaidAndNothingIsBegun) {
  auto taken = net::HttpServer::start({}, [](const net::Request&) { return net::Response{}; });
  ASSERT_TRUE(taken);
  auto where = options();
  where.pages = "127.0.0.1:" + std::to_string((*taken)->port());
  auto service = Service::make(program, where);
  ASSERT_TRUE(service);
  EXPECT_EQ(run(**service), 1);
  EXPECT_NE(logged.find("cannot serve health and metrics"), std::string::npos) << logged;
  service->reset();
  service = Service::make(program, options());
  const Endpoint refused{
      .serves = "schedulers", .start = [] { return fail(Code::Unavailable, "no port"); }, .stop = [] {}};
  EXPECT_EQ(run(**service, {refused}), 1);
  EXPECT_NE(logged.find("msg=\"cannot serve schedulers\" error=\"no port\""), std::string::npos) << logged;
  EXPECT_EQ(some.did, "");
}

TEST_F(ServiceTest, WithoutItsPagesItMayGoOn) {
  const Deadline deadline{"the service ends"};
  auto taken = net::HttpServer::start({}, [](const net::Request&) { return net::Response{}; });
  ASSERT_TRUE(taken);
  auto where = options();
  where.pages = "127.0.0.1:" + std::to_string((*taken)->port());
  where.goes_on_without_pages = true;
  auto service = Service::make(program, where);
  ASSERT_TRUE(service);
  EXPECT_EQ(run(**service, {terminatesOnceServed()}), 0);
  EXPECT_NE(logged.find("level=warn msg=\"no pages of health and metrics\""), std::string::npos) << logged;
  EXPECT_EQ(logged.find(" pages="), std::string::npos) << logged;
}

TEST_F(ServiceTest, AClusterThatCannotBeFoundIsAnError) {
  auto where = options();
  where.cluster.kubeconfig = folder.path("none");
  const auto service = Service::make(program, where);
  ASSERT_FALSE(service);
  EXPECT_TRUE(service.error().message.starts_with("cannot reach a cluster: ")) << service.error().message;
}

}  // namespace
}  // namespace gs::process
