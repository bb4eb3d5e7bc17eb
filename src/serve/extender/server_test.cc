#include "serve/extender/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <latch>
#include <thread>

#include "base/system_clock.h"
#include "net/http_client.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using extender::Answer;

constexpr std::size_t kMostBytes = std::size_t{128} << 20;
constexpr Duration kPatience = 10min;  // a hundred megabytes, on a machine that does thirty other things

constexpr const char* kFilter =
    R"({"Pod":{"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"containers":[{"resources":)"
    R"({"limits":{"tencent.com/vcuda-core":"10","tencent.com/vcuda-memory":"1"}}}]}},"NodeNames":["n"]})";

/// A machine that says at once what it was told to say.
class ExtenderServerTest : public ::testing::Test {
 protected:
  ExtenderServerTest()
      : server_{{"v-test", {}},
                {.act =
                     [this](const auto& action) {
                       if (takes_) { (void)action(Now{}); }
                       return takes_;
                     },
                 .ask =
                     [this](extender::RequestId request_id, const extender::Request& request, Now) {
                       since_ = request.asked;
                       if (asked_) { asked_(); }
                       server_.deliver(request_id, says_);
                       return kapi::Effects{};
                     },
                 .table = [this] { return table_; },
                 .others = [](const net::Request&) { return net::textResponse(200, "other"); },
                 .leader = [] { return std::string{}; }},
                Forwarder{{}},
                metrics_,
                {.small = std::size_t{10} << 20, .most = std::size_t{100} << 20, .patience = 50ms}} {
    const Status started =
        server_.start({.address = "127.0.0.1:0",
                       .connection = {.limits = {.body_bytes = kMostBytes}, .request_timeout = kPatience}});
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
  }
  net::Answer filter(std::string body = kFilter, net::Headers headers = {}) {
    net::HttpClient client{{}};
    net::ClientRequest request;
    request.method = "POST";
    request.url = "http://127.0.0.1:" + std::to_string(server_.port()) + "/scheduler/filter";
    request.headers = std::move(headers);
    request.body = std::move(body);
    request.timeout = kPatience;
    return client.send(request);
  }
  /// As far as we know that it is large, but not more.
  static std::string largeFilter() {
    std::string body = kFilter;
    body.insert(1, R"("x":")" + std::string(std::size_t{11} << 20, 'x') + R"(",)");
    return body;
  }

  const extender::NodeTablePtr table_ = std::make_shared<const extender::NodeTable>(sched::Ledger{});
  Answer says_;
  std::function<void()> asked_;
  bool takes_ = true;
  Mono since_{};
  Metrics metrics_;
  ExtenderServer server_;
};

TEST_F(ExtenderServerTest, TellsWhatTheMachineSays) {
  says_.kind = Answer::Kind::Chosen;
  const auto answer = filter();
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find(R"("NodeNames":["n"])"), std::string::npos) << answer.body;
  EXPECT_NE(metrics_.text().find(R"(verb="filter")"), std::string::npos);
}

TEST_F(ExtenderServerTest, WhoNoLongerLeadsTellsNobodyOfDevices) {
  says_.kind = Answer::Kind::Chosen;
  says_.good_until = SystemClock{}.now().mono;
  const auto answer = filter();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "this replica did not renew its lead in time\n");
  says_.good_until = Mono::max();
  EXPECT_EQ(filter().status, 200);
}

TEST_F(ExtenderServerTest, SaysSinceWhenItsCallerWaits) {
  const Mono before = SystemClock{}.now().mono;
  static_cast<void>(filter());
  const Mono after = SystemClock{}.now().mono;
  EXPECT_GE(since_, before);
  EXPECT_LE(since_, after);
  static_cast<void>(filter(kFilter, {{"X-Gpu-Admission-Forwarded", "60000"}}));
  EXPECT_LE(since_, after - 50s) << "where it was sent on from it waited, too";
  static_cast<void>(filter(kFilter, {{"X-Gpu-Admission-Forwarded", "true"}}));
  EXPECT_GE(since_, after);
}

TEST_F(ExtenderServerTest, LargeBodiesThatAreTooMuchTogetherAreRefused) {
  says_.kind = Answer::Kind::Nowhere;
  EXPECT_EQ(filter(largeFilter()).status, 200);
  asked_ = [&] {
    asked_ = nullptr;
    net::Answer beside;
    std::jthread{[&] { beside = filter(largeFilter() + std::string(std::size_t{95} << 20, ' ')); }}.join();
    EXPECT_EQ(beside.status, 503);
    EXPECT_EQ(beside.body,
              "too many large requests are being answered; ask again, or let the scheduler send names only "
              "(nodeCacheCapable)\n");
    std::jthread{[&] { beside = filter(); }}.join();
    EXPECT_EQ(beside.status, 200) << "small ones are answered";
  };
  EXPECT_EQ(filter(largeFilter()).status, 200);
  EXPECT_EQ(filter(largeFilter()).status, 200);
}

/// Bytes that are in memory now.
[[maybe_unused]] std::size_t residentBytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what was given back
TEST_F(ExtenderServerTest, WhatReadingALargeBodyTookIsGivenBack) {
  EXPECT_EQ(filter("[").status, 200);
  const std::size_t before = residentBytes();
  std::latch together{3};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      std::string body(std::size_t{30} << 20, '[');
      together.arrive_and_wait();  // so that each has a worker
      const auto answer = filter(std::move(body));
      EXPECT_EQ(answer.status, 200);
      EXPECT_NE(answer.body.find("\"Error\":\"unexpected EOF"), std::string::npos) << answer.body;
    });
  }
  callers.clear();  // joins
  EXPECT_LT(residentBytes(), before + (std::size_t{100} << 20)) << "each took four bytes for a byte";
}
#endif

TEST_F(ExtenderServerTest, AMachineThatTakesNothingIsUnavailable) {
  takes_ = false;
  const auto answer = filter();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "the extender's thread does not answer\n");
}

}  // namespace
}  // namespace gs::serve
