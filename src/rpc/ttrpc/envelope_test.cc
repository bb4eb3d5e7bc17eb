#include "rpc/ttrpc/envelope.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace gs::rpc::ttrpc {
namespace {

/// Of protobuf: field and type, length, bytes. (rpc/nri/golden_test.cc compares with what Go writes.)
TEST(TtrpcEnvelope, ARequestIsPrintedAndRead) {
  const Request request{.service = "s.P", .method = "Do", .payload = std::string("\x08\x00", 2)};
  const std::string bytes = printRequest(request);
  EXPECT_EQ(bytes, std::string("\x0A\x03s.P\x12\x02"
                               "Do\x1A\x02\x08\x00",
                               13));
  EXPECT_EQ(parseRequest(bytes), request);
  EXPECT_EQ(parseRequest(bytes + "\x20\x05"), request) << "with a timeout, which is not kept";
  EXPECT_EQ(parseRequest(""), Request{});
}

TEST(TtrpcEnvelope, AResponseIsPrintedAndRead) {
  const Response good{.payload = "p"};
  EXPECT_EQ(printResponse(good), "\x12\x01p") << "without a status";
  EXPECT_EQ(parseResponse(printResponse(good)), good);
  const Response bad = refusal(StatusCode::Unimplemented, "no");
  EXPECT_EQ(printResponse(bad), "\x0A\x06\x08\x0C\x12\x02no");
  EXPECT_EQ(parseResponse(printResponse(bad)), bad);
  EXPECT_EQ(printResponse({}), "");
  EXPECT_EQ(parseResponse(""), Response{});
}

TEST(TtrpcEnvelope, WhatIsNoneIsAnError) {
  for (const char* bytes : {"\xFF", "\x0A\x05x", "\x0A\x01\xFF"}) {
    EXPECT_FALSE(parseRequest(bytes));
    EXPECT_FALSE(parseResponse(bytes));
  }
}

TEST(TtrpcEnvelope, ASentenceCanBeRead) {
  EXPECT_EQ(refusal(StatusCode::Unknown, "GPU 3 is held").message, "GPU 3 is held");
  EXPECT_EQ(refusal(StatusCode::Unknown, "a\xFFz \xC3\xA9").message, "a?z \xC3\xA9");
  std::string sharp_s;
  for (int i = 0; i < 3000; ++i) { sharp_s += "\xC3\x9F"; }
  const std::string cut = refusal(StatusCode::Unknown, "x" + sharp_s).message;
  EXPECT_EQ(cut, "x" + sharp_s.substr(0, 1022)) << "no half of a character";
  EXPECT_TRUE(isUtf8(refusal(StatusCode::Unknown, std::string(5000, '\x80')).message));
}

}  // namespace
}  // namespace gs::rpc::ttrpc
