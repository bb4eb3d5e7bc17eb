#include "k8s/api.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include <fstream>
#include <thread>

#include "base/system_clock.h"
#include "base/temp_folder_test.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "net/scripted_server.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;
using net::ScriptedServer;
using Peer = ScriptedServer::Peer;

constexpr const char* kPod =
    R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u1","resourceVersion":"7"}})";

class ApiTest : public testing::Test {
 protected:
  Api& apiOf(const ScriptedServer& server, std::string token_file = {}) {
    Access access;
    access.server = server.url();
    access.token = "first";
    access.token_file = std::move(token_file);
    api_ = std::make_unique<Api>(access, "test/1", clock_);
    return *api_;
  }
  static kapi::Call patient(kapi::Call call) {
    call.token = 42;
    call.timeout = 1h;
    return call;
  }
  static kapi::Call read() { return patient(kapi::getObject(kapi::kPod, {"ns", "p"})); }
  static kapi::Call write() { return patient(kapi::deleteLease({"ns", "gpu-a-0"}, model::Uid{"u1"}, 7)); }
  static kapi::OpenWatch watchPods() {
    kapi::OpenWatch watch;
    watch.stream = 9;
    watch.kind = kapi::kPod;
    watch.query = "resourceVersion=5&allowWatchBookmarks=true";
    return watch;
  }

  SystemClock clock_;
  std::unique_ptr<Api> api_;
};

TEST_F(ApiTest, ReadIsSentAndDecoded) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) { peer.answer(200, kPod); }
  }};
  const auto client = apiOf(server).connect();
  const kapi::Outcome outcome = client->run(read(), {});
  EXPECT_EQ(outcome.token, 42U);
  EXPECT_EQ(outcome.result, kapi::CallResult::Applied);
  EXPECT_EQ(outcome.object.as<model::Pod>()->revision, 7U);
  const net::Request seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.target, "/api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(*net::findHeader(seen.headers, "authorization"), "Bearer first");
  EXPECT_EQ(*net::findHeader(seen.headers, "accept"), "application/json");
  EXPECT_EQ(*net::findHeader(seen.headers, "user-agent"), "test/1");
  EXPECT_EQ(net::findHeader(seen.headers, "content-type"), nullptr);
}

TEST_F(ApiTest, WriteCarriesItsBodyAndType) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) { peer.answer(200, R"({"kind":"Status","status":"Success"})"); }
  }};
  const auto client = apiOf(server).connect();
  EXPECT_EQ(client->run(write(), {}).result, kapi::CallResult::Applied);
  EXPECT_EQ(client->run(patient(kapi::fencePod({"ns", "p"}, model::Uid{"u1"}, "f")), {}).result,
            kapi::CallResult::Applied);
  const auto seen = server.requests();
  EXPECT_EQ(seen[0].method, "DELETE");
  EXPECT_NE(seen[0].body.find("preconditions"), std::string::npos);
  EXPECT_EQ(*net::findHeader(seen[0].headers, "content-type"), "application/json");
  EXPECT_EQ(seen[1].method, "PATCH");
  EXPECT_EQ(*net::findHeader(seen[1].headers, "content-type"), "application/merge-patch+json");
}

struct Answered {
  int status;
  kapi::CallResult result;
};
class ApiCallResult : public ApiTest, public testing::WithParamInterface<Answered> {};
TEST_P(ApiCallResult, OfAWriteByItsStatus) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) {
      peer.write(
          "HTTP/1.1 " + std::to_string(GetParam().status) +
          " X\r\nRetry-After: 3\r\nContent-Length: 34\r\n\r\n{\"kind\":\"Status\",\"message\":\"because\"}");
    }
  }};
  const kapi::Outcome outcome = apiOf(server).connect()->run(write(), {});
  EXPECT_EQ(outcome.http, GetParam().status);
  EXPECT_EQ(outcome.result, GetParam().result);
  EXPECT_EQ(outcome.retry_after, 3s);
  EXPECT_EQ(server.requests().size(), 1U);  // whatever the answer: sent once
}
INSTANTIATE_TEST_SUITE_P(
    Table, ApiCallResult,
    testing::Values(Answered{200, kapi::CallResult::Applied}, Answered{201, kapi::CallResult::Applied},
                    Answered{400, kapi::CallResult::Refused}, Answered{401, kapi::CallResult::Refused},
                    Answered{409, kapi::CallResult::Refused}, Answered{422, kapi::CallResult::Refused},
                    Answered{429, kapi::CallResult::Refused}, Answered{500, kapi::CallResult::Unknown},
                    Answered{502, kapi::CallResult::Unknown}, Answered{503, kapi::CallResult::Unknown},
                    Answered{504, kapi::CallResult::Unknown}));

TEST_F(ApiTest, WriteThatGetsNoAnswerInTimeIsUnknown) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.waitForClose();
  }};
  kapi::Call call = write();
  call.timeout = 50ms;
  const kapi::Outcome outcome = apiOf(server).connect()->run(call, {});
  EXPECT_EQ(outcome.result, kapi::CallResult::Unknown);
  EXPECT_EQ(outcome.http, 0);
  EXPECT_NE(outcome.message.find("/leases/gpu-a-0"), std::string::npos) << outcome.message;
}

TEST_F(ApiTest, WriteWhoseConnectionIsLostIsUnknownAndNotRepeated) {
  ScriptedServer server{[](Peer& peer) {
    if (peer.readRequest()) { peer.answer(200, kPod); }
    static_cast<void>(peer.readRequest());
  }};
  const auto client = apiOf(server).connect();
  EXPECT_EQ(client->run(read(), {}).result, kapi::CallResult::Applied);
  EXPECT_EQ(client->run(write(), {}).result, kapi::CallResult::Unknown);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(ApiTest, WriteToNobodyIsNotSent) {
  Access access;
  access.server = "http://127.0.0.1:" + std::to_string(net::localPort(net::listenTcp("127.0.0.1:0")->get()));
  Api api{access, "test/1", clock_};
  EXPECT_EQ(api.connect()->run(write(), {}).result, kapi::CallResult::NotSent);
}

TEST_F(ApiTest, WriteThatMayNotBeSentIsNotSent) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) { peer.answer(200, kPod); }
  }};
  EXPECT_EQ(apiOf(server).connect()->run(write(), [] { return false; }).result, kapi::CallResult::NotSent);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(ApiTest, CancelledWriteIsUnknownAndLaterOnesAreNotSent) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.waitForClose();
  }};
  const auto client = apiOf(server).connect();
  const std::jthread canceller{[&] {
    server.waitForRequests(1);
    client->cancel();
  }};
  EXPECT_EQ(client->run(write(), {}).result, kapi::CallResult::Unknown);
  EXPECT_EQ(client->run(write(), {}).result, kapi::CallResult::NotSent);
  EXPECT_TRUE(client->cancelled());
}

TEST_F(ApiTest, After401AReadIsSentAgainWithTheNewTokenAWriteIsNot) {
  const TempFolder folder;
  const std::string file = folder.path("token");
  std::ofstream{file} << "old";
  ScriptedServer server{[&](Peer& peer) {
    while (const auto request = peer.readRequest()) {
      const bool good = *net::findHeader(request->headers, "authorization") == "Bearer new";
      if (!good) { std::ofstream{file} << "new"; }  // rotated just now
      peer.answer(good ? 200 : 401, good ? kPod : R"({"kind":"Status","reason":"Unauthorized"})");
    }
  }};
  Api& api = apiOf(server, file);
  const auto client = api.connect();
  EXPECT_EQ(client->run(read(), {}).result, kapi::CallResult::Applied);
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_FALSE(api.health().state().unauthorized);

  std::ofstream{file} << "old";
  Api& second = apiOf(server, file);
  const auto writer = second.connect();
  EXPECT_EQ(writer->run(write(), {}).http, 401);
  EXPECT_EQ(server.requests().size(), 3U);
  EXPECT_TRUE(second.health().state().unauthorized);
  EXPECT_EQ(writer->run(write(), {}).http, 200);  // the next write has the new token
}

TEST_F(ApiTest, HealthFollowsTheAnswers) {
  int status = 401;
  ScriptedServer server{[&](Peer& peer) {
    while (peer.readRequest()) { peer.answer(status, "{}"); }
  }};
  Api& api = apiOf(server);
  const auto client = api.connect();
  static_cast<void>(client->run(read(), {}));
  EXPECT_TRUE(api.health().state().unauthorized);
  status = 500;  // says nothing about the token
  static_cast<void>(client->run(write(), {}));
  EXPECT_TRUE(api.health().state().unauthorized);
  status = 404;
  static_cast<void>(client->run(read(), {}));
  EXPECT_FALSE(api.health().state().unauthorized);
}

// ---- Watches

TEST_F(ApiTest, WatchGivesEventsAndItsEnd) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk(std::string{R"({"type":"ADDED","object":)"} + kPod + "}\n");
    peer.chunk(
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"11\"}}}\n");
    peer.chunk("");
    peer.waitForClose();
  }};
  std::vector<kapi::WatchEvent> events;
  const auto ended = apiOf(server).connect()->watch(watchPods(), [&](kapi::WatchEvent event) {
    events.push_back(std::move(event));
    return true;
  });
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].stream, 9U);
  EXPECT_EQ(events[0].key.name, "p");
  EXPECT_EQ(events[1].type, kapi::WatchType::Bookmark);
  EXPECT_EQ(events[1].revision, 11U);
  EXPECT_EQ(ended.stream, 9U);
  EXPECT_EQ(ended.http, 200);
  EXPECT_EQ(ended.message, "");
  EXPECT_EQ(server.requests()[0].target,
            "/api/v1/pods?watch=true&resourceVersion=5&allowWatchBookmarks=true");
}

TEST_F(ApiTest, WatchEndsWithTheErrorEventsCode) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}\n");
    peer.waitForClose();
  }};
  const auto ended = apiOf(server).connect()->watch(watchPods(), [](kapi::WatchEvent) { return true; });
  EXPECT_EQ(ended.http, 410);
  EXPECT_EQ(ended.message, "too old");
}

TEST_F(ApiTest, WatchThatIsRefusedSaysWhy) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) { peer.answer(403, R"({"kind":"Status","message":"pods is forbidden"})"); }
  }};
  const auto ended = apiOf(server).connect()->watch(watchPods(), [](kapi::WatchEvent) { return true; });
  EXPECT_EQ(ended.http, 403);
  EXPECT_EQ(ended.message, "pods is forbidden");
}

TEST_F(ApiTest, WatchThatIsCutIsNotANormalEnd) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
  }};
  const auto ended = apiOf(server).connect()->watch(watchPods(), [](kapi::WatchEvent) { return true; });
  EXPECT_EQ(ended.http, 0);
  EXPECT_NE(ended.message, "");
}

}  // namespace
}  // namespace gs::k8s
