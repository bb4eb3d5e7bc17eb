#include "net/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/scripted_server.h"

namespace gs::net {
namespace {

using Peer = ScriptedServer::Peer;

ClientRequest requestTo(const ScriptedServer& server, std::string method, std::string body = {}) {
  ClientRequest request;
  request.method = std::move(method);
  request.url = server.url() + "/path?q=1";
  request.headers = {{"Accept", "application/json"}, {"Content-Type", "application/json"}};
  request.body = std::move(body);
  request.timeout = std::chrono::hours{1};  // never the reason for an end, unless a test says so
  return request;
}

/// Answers every request with 200 and its number on this connection.
void answerAll(Peer& peer) {
  for (int i = 0; peer.readRequest(); ++i) {
    peer.answer(200, std::to_string(peer.number()) + "." + std::to_string(i));
  }
}

TEST(HttpClient, SendsEachMethodAsItIsOverOneConnection) {
  ScriptedServer server{answerAll};
  HttpClient client{{}};
  int i = 0;
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "GET", "DELETE"}) {
    const bool with_body = std::string_view{method} != "GET" && i != 6;
    const Answer answer = client.send(requestTo(server, method, with_body ? "{\"a\":1}" : ""));
    EXPECT_EQ(answer.status, 200) << answer.message;
    EXPECT_EQ(answer.body, "0." + std::to_string(i));
    const Request seen = server.requests().back();
    EXPECT_EQ(seen.method, method);
    EXPECT_EQ(seen.target, "/path?q=1");
    EXPECT_EQ(seen.body, with_body ? "{\"a\":1}" : "");
    EXPECT_EQ(*findHeader(seen.headers, "accept"), "application/json");
    EXPECT_EQ(findHeader(seen.headers, "expect"), nullptr);
    ++i;
  }
}

TEST(HttpClient, GivesStatusHeadersAndRetryAfter) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) {
      peer.write(
          "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nX-A:  b \r\nContent-Length: 2\r\n\r\nno");
    }
  }};
  HttpClient client{{}};
  const Answer answer = client.send(requestTo(server, "POST", "x"));
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.retry_after, std::chrono::seconds{7});
  EXPECT_EQ(answer.body, "no");
  ASSERT_NE(findHeader(answer.headers, "x-a"), nullptr);
  EXPECT_EQ(answer.failure, Failure::None);
}

// The server reads the second request of a kept-alive connection and then closes without a word: it may have
// carried it out. libcurl would send it again on a new connection by itself.
class LostWrite : public testing::TestWithParam<const char*> {};
TEST_P(LostWrite, OnAKeptAliveConnectionIsNotRepeated) {
  for (const bool with_reset : {false, true}) {
    ScriptedServer server{[&](Peer& peer) {
      if (!peer.readRequest()) { return; }
      peer.answer(200, "{}");
      if (!peer.readRequest()) { return; }
      if (with_reset) { peer.resetAtEnd(); }
    }};
    HttpClient client{{}};
    ASSERT_EQ(client.send(requestTo(server, "GET")).status, 200);
    const Answer lost = client.send(requestTo(server, GetParam(), "{}"));
    EXPECT_EQ(lost.status, 0);
    EXPECT_EQ(lost.failure, Failure::Lost);
    EXPECT_TRUE(lost.sent);
    EXPECT_EQ(server.requests().size(), 2U) << "with_reset " << with_reset;
    EXPECT_EQ(client.send(requestTo(server, GetParam(), "{}")).status,
              200);  // a new one goes out on a new connection
    EXPECT_EQ(server.requests().size(), 3U);
  }
}
INSTANTIATE_TEST_SUITE_P(Methods, LostWrite, testing::Values("POST", "PUT", "PATCH", "DELETE"));

TEST(HttpClient, DeleteWithoutBodyIsNotRepeatedEither) {
  ScriptedServer server{[](Peer& peer) {
    if (peer.readRequest()) { peer.answer(200, "{}"); }
    static_cast<void>(peer.readRequest());
  }};
  HttpClient client{{}};
  ASSERT_EQ(client.send(requestTo(server, "GET")).status, 200);
  EXPECT_EQ(client.send(requestTo(server, "DELETE")).failure, Failure::Lost);
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(HttpClient, LostReadIsRepeatedOnANewConnection) {
  ScriptedServer server{[](Peer& peer) {
    if (peer.readRequest()) { peer.answer(200, "first"); }
    if (peer.readRequest() && peer.number() > 0) { peer.answer(200, "second"); }
  }};
  HttpClient client{{}};
  ASSERT_EQ(client.send(requestTo(server, "GET")).status, 200);
  const Answer again = client.send(requestTo(server, "GET"));
  EXPECT_EQ(again.status, 200) << again.message;
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST(HttpClient, WriteOnAConnectionThatTheServerClosedWhileIdleGoesOutOnANewOne) {
  ScriptedServer server{[](Peer& peer) {
    if (peer.readRequest()) { peer.answer(200, "{}"); }
  }};
  HttpClient client{{}};
  int applied = 0;
  int not_sent = 0;
  for (int i = 0; i < 20; ++i) {
    const Answer answer = client.send(requestTo(server, "POST", "{}"));
    applied += answer.status == 200 ? 1 : 0;
    not_sent += answer.status == 0 && !answer.sent ? 1 : 0;
    // The end of the connection may be on its way when the next write starts: then the write is lost,
    // as it must be.
  }
  EXPECT_GT(applied, 0);
  EXPECT_GE(server.requests().size(), static_cast<std::size_t>(applied));
  EXPECT_LE(server.requests().size(), 20U - static_cast<std::size_t>(not_sent));
}

TEST(HttpClient, RefusedConnectionWasNotSent) {
  std::string url;
  { url = "http://127.0.0.1:" + std::to_string(localPort(listenTcp("127.0.0.1:0")->get())); }
  HttpClient client{{}};
  ClientRequest request;
  request.method = "POST";
  request.url = url;
  request.body = "{}";
  const Answer answer = client.send(request);
  EXPECT_EQ(answer.failure, Failure::Unreachable);
  EXPECT_FALSE(answer.sent);
  EXPECT_NE(answer.message, "");
}

TEST(HttpClient, TimeoutAfterSendingSaysSent) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.waitForClose();
  }};
  HttpClient client{{}};
  ClientRequest request = requestTo(server, "POST", "{}");
  request.timeout = std::chrono::milliseconds{50};
  const Answer answer = client.send(request);
  EXPECT_EQ(answer.failure, Failure::Timeout);
  EXPECT_TRUE(answer.sent);
}

TEST(HttpClient, AnswerCutInTheMiddleIsLost) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.write("HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhal");
  }};
  HttpClient client{{}};
  const Answer answer = client.send(requestTo(server, "POST", "{}"));
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.failure, Failure::Lost);
  EXPECT_TRUE(answer.sent);
}

TEST(HttpClient, AnswerOverTheLimitIsNotRead) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) { peer.answer(200, std::string(1000, 'x')); }
  }};
  HttpClient client{{}};
  ClientRequest request = requestTo(server, "GET");
  request.max_body = 1000;
  EXPECT_EQ(client.send(request).body.size(), 1000U);
  request.max_body = 999;
  const Answer answer = client.send(request);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.failure, Failure::TooLarge);
}

TEST(HttpClient, BeforeSendIsAskedOncePerRequestAndNoKeepsItBack) {
  ScriptedServer server{answerAll};
  HttpClient client{{}};
  int asked = 0;
  ClientRequest request = requestTo(server, "PUT", "{}");
  request.before_send = [&] { return ++asked == 1; };
  EXPECT_EQ(client.send(request).status, 200);
  EXPECT_EQ(asked, 1);
  const Answer held = client.send(request);
  EXPECT_EQ(held.failure, Failure::Withheld);
  EXPECT_FALSE(held.sent);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(HttpClient, RedirectIsAnAnswer) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) {
      peer.write("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
    }
  }};
  HttpClient client{{}};
  EXPECT_EQ(client.send(requestTo(server, "GET")).status, 302);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(HttpClientStream, GivesLinesAsTheyComeHoweverTheyAreCut) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    for (const char* piece : {"on", "e\ntwo\n\nth", "ree\n", "rest"}) { peer.chunk(piece); }
    peer.chunk("");
    peer.waitForClose();
  }};
  HttpClient client{{}};
  std::vector<std::string> lines;
  const Answer answer = client.stream(requestTo(server, "GET"), [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  });
  EXPECT_EQ(answer.status, 200) << answer.message;
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three", "rest"}));
}

TEST(HttpClientStream, OtherStatusIsAnAnswerWithABody) {
  ScriptedServer server{[](Peer& peer) {
    while (peer.readRequest()) { peer.answer(410, "{\"code\":410}"); }
  }};
  HttpClient client{{}};
  const Answer answer = client.stream(requestTo(server, "GET"), [](std::string_view) { return true; });
  EXPECT_EQ(answer.status, 410);
  EXPECT_EQ(answer.body, "{\"code\":410}");
}

TEST(HttpClientStream, EndsWhenTheCalleeHasEnough) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("a\nb\nc\n");
    peer.waitForClose();
  }};
  HttpClient client{{}};
  int lines = 0;
  const Answer answer =
      client.stream(requestTo(server, "GET"), [&](std::string_view) { return ++lines < 2; });
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(lines, 2);
}

TEST(HttpClientStream, CutStreamIsLost) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("a\nhalf");
  }};
  HttpClient client{{}};
  int lines = 0;
  const Answer answer =
      client.stream(requestTo(server, "GET"), [&](std::string_view) { return ++lines > 0; });
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.failure, Failure::Lost);
  EXPECT_EQ(lines, 1);
}

TEST(HttpClientStream, LineOverTheLimitEndsIt) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    for (int i = 0; i < 4; ++i) { peer.chunk(std::string(40, 'x')); }
    peer.waitForClose();
  }};
  HttpClient client{{}};
  ClientRequest request = requestTo(server, "GET");
  request.max_body = 100;
  EXPECT_EQ(client.stream(request, [](std::string_view) { return true; }).failure, Failure::TooLarge);
}

TEST(HttpClientStream, CancelFromAnotherThreadEndsASilentStream) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("first\n");
    peer.waitForClose();
  }};
  HttpClient client{{}};
  std::jthread canceller;
  ClientRequest request = requestTo(server, "GET");
  request.timeout = {};
  const Answer answer = client.stream(request, [&](std::string_view) {
    canceller = std::jthread{[&] { client.cancel(); }};
    return true;
  });
  EXPECT_EQ(answer.failure, Failure::Cancelled);
  EXPECT_TRUE(client.cancelled());
  EXPECT_EQ(client.send(request).failure, Failure::Cancelled);  // for good
}

TEST(HttpClient, CancelEndsARequestThatGetsNoAnswer) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.waitForClose();
  }};
  HttpClient client{{}};
  const std::jthread canceller{[&] {
    server.waitForRequests(1);
    client.cancel();
  }};
  const Answer answer = client.send(requestTo(server, "POST", "{}"));
  EXPECT_EQ(answer.failure, Failure::Cancelled);
  EXPECT_TRUE(answer.sent);
}

TEST(HttpClient, LargeBodiesGoBothWays) {
  const std::string large(std::size_t{900} << 10, 'x');
  ScriptedServer server{[](Peer& peer) {
    while (const auto request = peer.readRequest()) { peer.answer(200, request->body); }
  }};
  HttpClient client{{}};
  const Answer answer = client.send(requestTo(server, "PUT", large));
  EXPECT_EQ(answer.status, 200) << answer.message;
  EXPECT_EQ(answer.body, large);
}

/// The body of a download, piece by piece into `out`.
TakePiece appendTo(std::string& out) {
  return [&out](const Answer& head, std::string_view piece) {
    EXPECT_EQ(head.status / 100, 2);
    out += piece;
    return true;
  };
}

TEST(HttpClientDownload, GivesTheBodyInPiecesWithItsHead) {
  const std::string large(std::size_t{300} << 10, 'x');
  ScriptedServer server{[&](Peer& peer) {
    while (peer.readRequest()) {
      peer.write("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/2\r\nContent-Length: " +
                 std::to_string(large.size()) + "\r\n\r\n" + large);
    }
  }};
  HttpClient client{{}};
  std::string range;
  std::string body;
  int pieces = 0;
  const Answer answer =
      client.download(requestTo(server, "GET"), [&](const Answer& head, std::string_view piece) {
        range = *findHeader(head.headers, "content-range");
        body += piece;
        ++pieces;
        return true;
      });
  EXPECT_EQ(answer.status, 206) << answer.message;
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(body, large);
  EXPECT_EQ(range, "bytes 0-1/2");
  EXPECT_GT(pieces, 1);
}

TEST(HttpClientDownload, ARefusalIsAnAnswerWithTheBeginningOfItsBody) {
  ScriptedServer server{[](Peer& peer) {
    if (peer.readRequest()) { peer.answer(404, "{}"); }
    if (peer.readRequest()) { peer.answer(500, std::string(kMostOfARefusal + 1, 'x')); }
  }};
  HttpClient client{{}};
  std::string body;
  ClientRequest request = requestTo(server, "GET");
  request.max_body = std::size_t{1} << 40;
  const Answer missing = client.download(request, appendTo(body));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "{}");
  const Answer broken = client.download(request, appendTo(body));
  EXPECT_EQ(broken.status, 500) << broken.message;
  EXPECT_EQ(broken.body.size(), kMostOfARefusal);
  EXPECT_EQ(body, "");
}

TEST(HttpClientDownload, AnEndlessBodyEndsAtTheLimit) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    for (int i = 0; i < 100; ++i) { peer.chunk(std::string(1000, 'x')); }
    peer.waitForClose();
  }};
  HttpClient client{{}};
  std::string body;
  ClientRequest request = requestTo(server, "GET");
  request.max_body = 10'000;
  const Answer answer = client.download(request, appendTo(body));
  EXPECT_EQ(answer.failure, Failure::TooLarge);
  EXPECT_EQ(answer.status, 0);
  EXPECT_LE(body.size(), 10'000U);
}

TEST(HttpClientDownload, EndsWellWhenNoMoreIsWanted) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("abc");
    peer.waitForClose();
  }};
  HttpClient client{{}};
  const Answer answer =
      client.download(requestTo(server, "GET"), [](const Answer&, std::string_view) { return false; });
  EXPECT_EQ(answer.status, 200) << answer.message;
}

TEST(HttpClientDownload, ABodyThatStallsIsATimeout) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("abc");
    peer.waitForClose();
  }};
  HttpClient client{{}};
  std::string body;
  ClientRequest request = requestTo(server, "GET");
  request.idle = std::chrono::milliseconds{50};
  const Answer answer = client.download(request, appendTo(body));
  EXPECT_EQ(answer.failure, Failure::Timeout);
  EXPECT_EQ(answer.message, "nothing came or went for 50 ms");
  EXPECT_EQ(body, "abc");
}

TEST(HttpClientDownload, ACutBodyIsLost) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal");
  }};
  HttpClient client{{}};
  std::string body;
  const Answer answer = client.download(requestTo(server, "GET"), appendTo(body));
  EXPECT_EQ(answer.failure, Failure::Lost);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(body, "hal");
}

TEST(HttpClientDownload, CancelEndsOne) {
  ScriptedServer server{[](Peer& peer) {
    static_cast<void>(peer.readRequest());
    peer.streamHead();
    peer.chunk("abc");
    peer.waitForClose();
  }};
  HttpClient client{{}};
  std::jthread canceller;
  const Answer answer = client.download(requestTo(server, "GET"), [&](const Answer&, std::string_view) {
    canceller = std::jthread{[&] { client.cancel(); }};
    return true;
  });
  EXPECT_EQ(answer.failure, Failure::Cancelled);
}

/// Reads `text` in pieces of at most 1000 bytes.
Upload uploadOf(const std::string& text, std::size_t announced) {
  return {announced, [&text, at = std::size_t{0}](char* to, std::size_t room) mutable {
            const std::size_t n = text.copy(to, std::min<std::size_t>(room, 1000), at);
            at += n;
            return n;
          }};
}

TEST(HttpClientUpload, SendsWhatItIsGivenPieceByPiece) {
  ScriptedServer server{[](Peer& peer) {
    while (const auto request = peer.readRequest()) {
      peer.answer(201, std::to_string(request->body.size()));
    }
  }};
  HttpClient client{{}};
  const std::string large(std::size_t{200} << 10, 'x');
  for (const std::string& text : {large, std::string{}}) {
    ClientRequest request = requestTo(server, "PUT");
    request.upload = uploadOf(text, text.size());
    const Answer answer = client.send(request);
    EXPECT_EQ(answer.status, 201) << answer.message;
    EXPECT_EQ(server.requests().back().body, text);
    EXPECT_EQ(server.requests().back().method, "PUT");
  }
  EXPECT_EQ(client.send(requestTo(server, "GET")).status, 201);
  EXPECT_EQ(server.requests().back().method, "GET");
}

TEST(HttpClientUpload, OneThatEndsEarlyIsCut) {
  ScriptedServer server{answerAll};
  HttpClient client{{}};
  const std::string text = "abc";
  ClientRequest request = requestTo(server, "PUT");
  request.upload = uploadOf(text, 10);
  EXPECT_EQ(client.send(request).failure, Failure::Cut);
}

}  // namespace
}  // namespace gs::net
