#include "net/request_parser.h"

#include <gtest/gtest.h>

namespace gs::net {
namespace {

constexpr const char* kTwo =
    "GET /x?y HTTP/1.1\r\nHost: a\r\n\r\n"
    "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";

TEST(RequestParser, ReadsByteByByteWhatItReadsAtOnce) {
  RequestParser parser{{}};
  std::vector<Request> seen;
  for (const char* at = kTwo; *at != '\0'; ++at) {
    parser.feed({at, 1});
    if (parser.ready()) { seen.push_back(parser.take()); }
  }
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].method, "GET");
  EXPECT_EQ(seen[0].target, "/x?y");
  EXPECT_EQ(seen[0].path(), "/x");
  EXPECT_EQ(seen[1].method, "POST");
  EXPECT_EQ(seen[1].body, "abc");
}

TEST(RequestParser, KeepsThePipelinedRequestForLater) {
  RequestParser parser{{}};
  parser.feed(kTwo);
  ASSERT_TRUE(parser.ready());
  EXPECT_EQ(parser.take().target, "/x?y");
  ASSERT_TRUE(parser.ready());
  EXPECT_EQ(parser.take().body, "abc");
  EXPECT_FALSE(parser.ready());
  EXPECT_FALSE(parser.begun());
}

TEST(RequestParser, HeaderLimitIsTheSameHoweverTheBytesAreCut) {
  const std::string header = "GET / HTTP/1.1\r\nA: " + std::string(40, 'x') + "\r\n\r\n";
  for (const bool fits : {true, false}) {
    for (std::size_t piece = 1; piece <= header.size(); ++piece) {
      RequestParser parser{{.header_bytes = header.size() - (fits ? 0 : 1), .body_bytes = 0}};
      for (std::size_t at = 0; at < header.size(); at += piece) { parser.feed(header.substr(at, piece)); }
      EXPECT_EQ(parser.ready(), fits) << piece;
      EXPECT_EQ(parser.bad(), fits ? 0 : 431) << piece;
    }
  }
}

TEST(RequestParser, EndlessChunkHeaderIsRefused) {
  RequestParser parser{{.header_bytes = 256, .body_bytes = 1000}};
  parser.feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;");
  for (int i = 0; i < 300 && parser.bad() == 0; ++i) { parser.feed("x"); }
  EXPECT_EQ(parser.bad(), 431);
}

TEST(RequestParser, ReadsAChunkedBody) {
  RequestParser parser{{}};
  parser.feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  EXPECT_TRUE(parser.begun());
  parser.feed("1\r\n!\r\n0\r\n\r\n");
  ASSERT_TRUE(parser.ready());
  EXPECT_EQ(parser.take().body, "hello!");
}

TEST(RequestParser, AsksForTheBodyOnceWhenThePeerWaits) {
  RequestParser parser{{}};
  parser.feed("PUT / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_TRUE(parser.wantsContinue());
  EXPECT_FALSE(parser.wantsContinue());
  parser.feed("x");
  EXPECT_TRUE(parser.ready());
}

TEST(RequestParser, KeepAliveIsThePeersWish) {
  for (const auto& [text, expect] : std::vector<std::pair<const char*, bool>>{
           {"GET / HTTP/1.1\r\n\r\n", true},
           {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
           {"GET / HTTP/1.0\r\n\r\n", false},
           {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
       }) {
    RequestParser parser{{}};
    parser.feed(text);
    ASSERT_TRUE(parser.ready()) << text;
    EXPECT_EQ(parser.keepAlive(), expect) << text;
  }
}

struct Refusal {
  const char* name;
  std::string bytes;
  int status;
};
class RequestParserRefuses : public testing::TestWithParam<Refusal> {};
TEST_P(RequestParserRefuses, WithStatus) {
  RequestParser parser{{.header_bytes = 256, .body_bytes = 100}};
  parser.feed(GetParam().bytes);
  EXPECT_EQ(parser.bad(), GetParam().status);
  EXPECT_FALSE(parser.ready());
}
INSTANTIATE_TEST_SUITE_P(
    Table, RequestParserRefuses,
    testing::Values(
        Refusal{"NoHttp", "hello\r\n\r\n", 400}, Refusal{"LongTarget", "GET /" + std::string(300, 'a'), 431},
        Refusal{"LongHeader", "GET / HTTP/1.1\r\nA: " + std::string(300, 'a') + "\r\n\r\n", 431},
        Refusal{"LongBody", "POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413},
        Refusal{"LongChunkedBody",
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x'), 413},
        Refusal{"TwoLengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        Refusal{"LengthAndChunked",
                "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        Refusal{"NegativeLength", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        Refusal{"SpaceBeforeColon", "GET / HTTP/1.1\r\nA : b\r\n\r\n", 400}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(RenderResponse, LeavesOutAHeaderThatWouldForgeAnother) {
  const Response response{200, {{"A", "b\r\nEvil: yes"}, {"B", "c"}}, "body"};
  EXPECT_EQ(renderResponse(response, true, false),
            "HTTP/1.1 200 OK\r\nB: c\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_EQ(renderResponse(response, false, true),
            "HTTP/1.1 200 OK\r\nB: c\r\nContent-Length: 4\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace gs::net
