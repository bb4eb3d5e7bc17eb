#include "process/health_page.h"

#include <gtest/gtest.h>

namespace gs::process {
namespace {

const Readiness kNotListed{false, {{"cache", "not listed yet"}}};

/// With a machine, and all around it, as the test sets them. (With a scheduler:
/// serve/combined/scheduler_pages_test.cc.)
class HealthPageTest : public testing::Test {
 protected:
  [[nodiscard]] net::Response get(const char* target) const { return page.answer({"GET", target, {}, ""}); }

  std::optional<std::string> failure = "";
  std::optional<Readiness> readiness = Readiness{true, {{"cache", "ok"}}};
  std::optional<std::string> dump = "what is known\n";
  bool unauthorized = false;
  k8s::ElectionThread::View election;
  [[nodiscard]] HealthPage::Wiring wiring() {
    return {.failure = [this] { return failure; },
            .readiness = [this] { return readiness; },
            .state = [] { return std::optional<std::string>{"state 1\n"}; },
            .unauthorized = [this] { return unauthorized; },
            .metrics = [] { return std::string{"counted 1\n"}; },
            .election = [this] { return election; },
            .now = [] { return Mono{}; },
            .service = "gpu-scheduler",
            .standalone_gauge = "runs_standalone",
            .others = {{"/debug/ledger", [this] { return dump; }}}};
  }
  HealthPage page{wiring()};
};

TEST_F(HealthPageTest, IsReadyWhenTheMachineIsAndItsTokenIsTaken) {
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz?verbose").body, "cache: ok\ntoken: ok\n");
  readiness = kNotListed;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/readyz").body, "cache: not listed yet\ntoken: ok\n");
  readiness = Readiness{};
  unauthorized = true;
  EXPECT_EQ(get("/readyz").status, 503);
}

TEST_F(HealthPageTest, WhoLeadsWithoutTheLeaseIsReadyAndSaysSo) {
  EXPECT_NE(get("/metrics").body.find("\nruns_standalone 0\n"), std::string::npos) << get("/metrics").body;
  election.trouble = "lease x cannot be read: 403";
  EXPECT_EQ(get("/readyz").status, 503);
  election.alone = true;
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz?verbose").body,
            "cache: ok\ntoken: ok\nleader-election: ok, standalone: lease x cannot be read: 403\n");
  EXPECT_NE(get("/metrics").body.find("\nruns_standalone 1\n"), std::string::npos) << get("/metrics").body;
}

TEST_F(HealthPageTest, AMachineThatCanDoNothingMoreIsToBeRestarted) {
  EXPECT_EQ(get("/healthz").status, 200);
  failure = "history went back";
  EXPECT_EQ(get("/healthz").status, 500);
  EXPECT_EQ(get("/healthz").body, "history went back\n");
  failure = std::nullopt;
  EXPECT_EQ(get("/healthz").body, "the owner thread does not answer\n");
}

TEST_F(HealthPageTest, SaysInJsonWhatTheMapSchedulerSaid) {
  EXPECT_EQ(get("/health").status, 200);
  EXPECT_EQ(get("/health").body, R"({"service":"gpu-scheduler","status":"healthy"})");
  EXPECT_EQ(get("/health").headers, (net::Headers{{"Content-Type", "application/json"}}));
  EXPECT_EQ(get("/ready?x=1").status, 200);
  EXPECT_EQ(get("/ready").body, R"({"service":"gpu-scheduler","status":"ready"})");
  readiness = kNotListed;
  EXPECT_EQ(get("/ready").status, 503);
  EXPECT_EQ(get("/ready").body, R"({"service":"gpu-scheduler","status":"not ready"})");
  EXPECT_EQ(get("/health").status, 200);
  failure = "history went back";
  EXPECT_EQ(get("/health").status, 500);
  EXPECT_EQ(get("/health").body, R"({"service":"gpu-scheduler","status":"unhealthy"})");
  EXPECT_EQ(get("/health/x").status, 404);
}

TEST_F(HealthPageTest, AProgramWithoutSuchUsersHasNeither) {
  auto plain = wiring();
  plain.service.clear();
  HealthPage other{std::move(plain)};
  EXPECT_EQ(other.answer({"GET", "/health", {}, ""}).status, 404);
  EXPECT_EQ(other.answer({"GET", "/ready", {}, ""}).status, 404);
}

TEST_F(HealthPageTest, APageForWhoDebugsIsTheMachinesText) {
  EXPECT_EQ(get("/debug/ledger?x").status, 200);
  EXPECT_EQ(get("/debug/ledger").body, "what is known\n");
  EXPECT_EQ(get("/debug").status, 404);
  dump = std::nullopt;
  EXPECT_EQ(get("/debug/ledger").status, 500);
}

TEST_F(HealthPageTest, WhereAnybodyMayAskThereIsNothingToDebug) {
  for (const char* path : {"/healthz", "/livez", "/readyz", "/metrics"}) {
    EXPECT_TRUE(HealthPage::isHealth(path));
  }
  EXPECT_FALSE(HealthPage::isHealth("/debug/ledger"));
  EXPECT_FALSE(HealthPage::isHealth("/healthz/x"));
}

}  // namespace
}  // namespace gs::process
