#include "serve/extender_server.h"

#include <gtest/gtest.h>

#include "net/http_client.h"

namespace gs::serve {
namespace {

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
                     [this](extender::Ticket ticket, const extender::Question&, Now) {
                       server_.deliver(ticket, says_);
                       return kapi::Effects{};
                     },
                 .table = [this] { return table_; },
                 .others = [](const net::Request&) { return net::textResponse(200, "other"); },
                 .leader = [] { return std::string{}; },
                 .leads = [this] { return leads_; }},
                Forwarder{{}},
                metrics_} {
    const Status started = server_.start({.address = "127.0.0.1:0"});
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
  }
  net::Answer filter() {
    net::ClientRequest request;
    request.method = "POST";
    request.url = "http://127.0.0.1:" + std::to_string(server_.port()) + "/scheduler/filter";
    request.body = kFilter;
    return client_.send(request);
  }

  const extender::NodeTablePtr table_ = std::make_shared<const extender::NodeTable>(sched::Ledger{});
  Answer says_;
  bool takes_ = true;
  bool leads_ = true;
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
  leads_ = false;
  const auto answer = filter();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "this replica did not renew its lead in time\n");
  says_.kind = Answer::Kind::Nowhere;
  EXPECT_EQ(filter().status, 200) << "that nothing fits is no promise";
}

TEST_F(ExtenderServerTest, AMachineThatTakesNothingIsUnavailable) {
  takes_ = false;
  const auto answer = filter();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "the extender's thread does not answer\n");
}

}  // namespace
}  // namespace gs::serve
