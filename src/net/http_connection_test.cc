#include "net/http_connection.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <variant>

namespace gs::net {
namespace {

using Turn = HttpConnection::Turn;
using std::chrono::seconds;

/// What a peer does, one operation after the other; then nothing.
struct Script {
  std::deque<std::variant<std::string, Went>> reads;
  std::deque<std::variant<std::size_t, Went>> writes;  // how many bytes are taken at most
  std::string written{};
  bool end_written = false;
};

class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(Script& script) : script_{script} {}
  Went read(std::span<char> into, std::size_t& got) override {
    if (script_.reads.empty()) { return Went::NeedsInput; }
    auto next = std::move(script_.reads.front());
    script_.reads.pop_front();
    if (const auto* went = std::get_if<Went>(&next)) { return *went; }
    got = std::get<std::string>(next).copy(into.data(), into.size());
    return Went::Ok;
  }
  Went write(std::string_view data, bool, std::size_t& took) override {
    took = data.size();
    if (!script_.writes.empty()) {
      const auto next = script_.writes.front();
      script_.writes.pop_front();
      if (const auto* went = std::get_if<Went>(&next)) { return *went; }
      took = std::min(took, std::get<std::size_t>(next));
    }
    script_.written += data.substr(0, took);
    return Went::Ok;
  }
  void endWriting() override { script_.end_written = true; }
  [[nodiscard]] int fd() const override { return -1; }

 private:
  Script& script_;
};

class HttpConnectionTest : public testing::Test {
 protected:
  Turn advance() { return connection.advance(now, scratch); }
  /// Reads the request that is there and answers it with its own body.
  void echo(bool keep) {
    EXPECT_EQ(advance(), Turn::Answer);
    const Request request = connection.take();
    connection.answer(textResponse(200, request.body), keep, now);
  }
  static std::string answerOf(const std::string& body, bool keep) {
    return renderResponse(textResponse(200, body), keep, false);
  }

  Mono now{seconds{1000}};
  Script script;
  ConnectionRules rules{.limits = {.header_bytes = 200, .body_bytes = 100},
                        .idle_timeout = seconds{60},
                        .request_timeout = seconds{10}};
  HttpConnection connection{std::make_unique<ScriptedTransport>(script), rules, now};
  std::array<char, 64> scratch{};
};

const std::string kPost = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n";

TEST_F(HttpConnectionTest, ARequestInPiecesHasOneDeadlineFromItsFirstByte) {
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_TRUE(connection.resting());
  EXPECT_EQ(connection.deadline(), now + seconds{60});
  now += seconds{5};
  const Mono begun = now;
  for (const std::string& piece : {kPost.substr(0, 10), kPost.substr(10), std::string{"ab"}}) {
    script.reads.emplace_back(piece);
    EXPECT_EQ(advance(), Turn::Input);
    EXPECT_FALSE(connection.resting());
    EXPECT_EQ(connection.deadline(), begun + seconds{10});
    now += seconds{1};
  }
  EXPECT_GE(connection.held(), 2U);
  script.reads.emplace_back("cd");
  echo(true);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_EQ(script.written, answerOf("abcd", true));
  EXPECT_TRUE(connection.resting());
  EXPECT_EQ(connection.deadline(), now + seconds{60});
}

TEST_F(HttpConnectionTest, AnAnswerGoesAsThePeerTakesIt) {
  script.reads.emplace_back(kPost + "abcd");
  script.writes = {std::size_t{3}, Went::NeedsRoom, std::size_t{1}, Went::NeedsRoom, Went::NeedsRoom};
  echo(true);
  EXPECT_EQ(advance(), Turn::Room);
  EXPECT_TRUE(connection.writing());
  const Mono deadline = connection.deadline();
  now += seconds{1};
  EXPECT_EQ(advance(), Turn::Room);
  EXPECT_EQ(advance(), Turn::Room);
  EXPECT_EQ(connection.deadline(), deadline);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_EQ(script.written, answerOf("abcd", true));
}

TEST_F(HttpConnectionTest, PipelinedRequestsAreAnsweredInOrder) {
  script.reads.emplace_back(kPost + "abcd");
  script.reads.emplace_back(kPost + "efgh");
  echo(true);
  echo(false);
  EXPECT_EQ(advance(), Turn::Over);
  EXPECT_EQ(script.written, answerOf("abcd", true) + answerOf("efgh", false));
}

TEST_F(HttpConnectionTest, ARefusalIsWrittenAndTheRestIsReadUntilThePeerIsDone) {
  script.reads.emplace_back("rubbish\r\n\r\n");
  script.writes = {Went::NeedsRoom};
  EXPECT_EQ(advance(), Turn::Room);
  EXPECT_FALSE(script.end_written);
  script.reads = {"more", "and more", Went::NeedsInput, "the last", Went::Ended};
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_TRUE(script.end_written);
  EXPECT_EQ(connection.deadline(), now + seconds{2});
  EXPECT_TRUE(script.written.starts_with("HTTP/1.1 400"));
  EXPECT_EQ(advance(), Turn::Over);
}

TEST_F(HttpConnectionTest, ARefusalInTheMidstOfARequestSaysItsStatus) {
  script.reads.emplace_back(kPost + "ab");
  EXPECT_EQ(advance(), Turn::Input);
  connection.refuse(503, now);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_TRUE(script.written.starts_with("HTTP/1.1 503"));
}

TEST_F(HttpConnectionTest, WhoAlwaysHasMoreLetsOthersGoFirst) {
  script.reads.emplace_back(kPost);
  for (int i = 0; i < 100; ++i) { script.reads.emplace_back(""); }
  EXPECT_EQ(advance(), Turn::Again);
  connection.refuse(503, now);
  for (int i = 0; i < 100; ++i) { script.reads.emplace_back("x"); }
  EXPECT_EQ(advance(), Turn::Again);
  EXPECT_EQ(connection.held(), 0U);
}

TEST_F(HttpConnectionTest, SaysContinueBeforeItReadsOn) {
  script.reads.emplace_back("POST / HTTP/1.1\r\nExpect: 100-continue\r\n");
  script.reads.emplace_back("Content-Length: 4\r\n\r\n");
  script.writes = {Went::NeedsRoom};
  EXPECT_EQ(advance(), Turn::Room);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_EQ(script.written, "HTTP/1.1 100 Continue\r\n\r\n");
  script.reads.emplace_back("abcd");
  echo(true);
  EXPECT_EQ(advance(), Turn::Input);
}

TEST_F(HttpConnectionTest, HeadHasNoBody) {
  script.reads.emplace_back("HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(advance(), Turn::Answer);
  static_cast<void>(connection.take());
  EXPECT_TRUE(connection.isHead());
  connection.answer(textResponse(200, "body"), true, now);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_EQ(script.written, renderHead(textResponse(200, "body"), true));
}

TEST_F(HttpConnectionTest, APeerThatLeavesOrBreaksEndsIt) {
  for (const Went went : {Went::Ended, Went::Failed}) {
    for (const bool begun : {false, true}) {
      Script own;
      HttpConnection broken{std::make_unique<ScriptedTransport>(own), rules, now};
      if (begun) { own.reads.emplace_back("GET /"); }
      own.reads.emplace_back(went);
      EXPECT_EQ(broken.advance(now, scratch), Turn::Over);
    }
  }
  script.reads.emplace_back(kPost + "abcd");
  script.writes = {Went::Failed};
  echo(true);
  EXPECT_EQ(advance(), Turn::Over);
}

/// TLS may have to read before it can write, and the other way round.
TEST_F(HttpConnectionTest, WaitsForWhateverTheTransportNeeds) {
  script.reads = {Went::NeedsRoom, kPost + "abcd"};
  EXPECT_EQ(advance(), Turn::Room);
  script.writes = {Went::NeedsInput};
  echo(true);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_EQ(advance(), Turn::Input);
  EXPECT_EQ(script.written, answerOf("abcd", true));
}

}  // namespace
}  // namespace gs::net
