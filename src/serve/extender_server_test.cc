#include "serve/extender_server.h"

#include <gtest/gtest.h>

#include "base/system_clock.h"
#include "net/http_client.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using extender::Answer;

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
                     [this](extender::Ticket ticket, const extender::Question& question, Now) {
                       asked_ = question.asked;
                       server_.deliver(ticket, says_);
                       return kapi::Effects{};
                     },
                 .table = [this] { return table_; },
                 .others = [](const net::Request&) { return net::textResponse(200, "other"); },
                 .leader = [] { return std::string{}; }},
                Forwarder{{}},
                metrics_} {
    const Status started = server_.start({.address = "127.0.0.1:0"});
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
  }
  net::Answer filter(net::Headers headers = {}) {
    net::ClientRequest request;
    request.method = "POST";
    request.url = "http://127.0.0.1:" + std::to_string(server_.port()) + "/scheduler/filter";
    request.headers = std::move(headers);
    request.body = kFilter;
    return client_.send(request);
  }

  const extender::NodeTablePtr table_ = std::make_shared<const extender::NodeTable>(sched::Ledger{});
  Answer says_;
  bool takes_ = true;
  Mono asked_{};
  Metrics metrics_;
  ExtenderServer server_;
  net::HttpClient client_{{}};
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
  EXPECT_GE(asked_, before);
  EXPECT_LE(asked_, after);
  static_cast<void>(filter({{"X-Gpu-Admission-Forwarded", "60000"}}));
  EXPECT_LE(asked_, after - 50s) << "where it was sent on from it waited, too";
  static_cast<void>(filter({{"X-Gpu-Admission-Forwarded", "true"}}));
  EXPECT_GE(asked_, after);
}

TEST_F(ExtenderServerTest, AMachineThatTakesNothingIsUnavailable) {
  takes_ = false;
  const auto answer = filter();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "the extender's thread does not answer\n");
}

}  // namespace
}  // namespace gs::serve
