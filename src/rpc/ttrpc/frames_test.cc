#include "rpc/ttrpc/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rpc/ttrpc/mux.h"

namespace gs::rpc::ttrpc {
namespace {

std::string bytesOf(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) { out += static_cast<char>(value); }
  return out;
}

/// All frames in `bytes`, given in pieces of `at_once`.
std::vector<Frame> framesOf(std::string_view bytes, std::size_t at_once) {
  FrameReader reader;
  std::vector<Frame> out;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, at_once);
    bytes.remove_prefix(piece.size());
    for (;;) {
      const auto frame = reader.next(piece);
      EXPECT_TRUE(frame);
      if (!frame || !*frame) { break; }
      out.push_back(**frame);
    }
    EXPECT_TRUE(piece.empty());
  }
  return out;
}

TEST(TtrpcFrames, LayoutIsThatOfTtrpc) {
  std::string bytes;
  appendFrame(bytes, {.stream = 0x01020304, .type = FrameType::Response, .flags = 5, .data = "ab"});
  EXPECT_EQ(bytes, bytesOf({0, 0, 0, 2, 1, 2, 3, 4, 2, 5, 'a', 'b'}));
}

TEST(TtrpcFrames, AnyPiecesGiveTheSameFrames) {
  const std::vector<Frame> frames = {
      {.stream = 1, .type = FrameType::Request, .data = "first"},
      {.stream = 3, .type = FrameType::Response},
      {.stream = 0xFFFFFFFF,
       .type = static_cast<FrameType>(200),
       .flags = 255,
       .data = std::string(1000, '\0')},
  };
  std::string bytes;
  for (const Frame& frame : frames) { appendFrame(bytes, frame); }
  for (std::size_t at_once = 1; at_once <= bytes.size(); ++at_once) {
    ASSERT_EQ(framesOf(bytes, at_once), frames) << at_once;
  }
  EXPECT_EQ(framesOf(bytes.substr(0, bytes.size() - 1), 64).size(), 2U);
}

TEST(TtrpcFrames, LongOnesEndIt) {
  FrameReader reader;
  const std::string longest = bytesOf({0, 0x40, 0, 0, 0, 0, 0, 1, 1, 0});  // 4 MiB
  std::string_view bytes = longest;
  const auto frame = reader.next(bytes);
  ASSERT_TRUE(frame);
  EXPECT_FALSE(*frame) << "its data is awaited";

  FrameReader other;
  const std::string longer = bytesOf({0, 0x40, 0, 1, 0, 0, 0, 1, 1, 0});
  for (int i = 0; i < 2; ++i) {
    bytes = longer;
    const auto none = other.next(bytes);
    ASSERT_FALSE(none) << i;
    EXPECT_EQ(none.error().code, Code::Invalid);
    EXPECT_EQ(none.error().message, "a ttrpc frame of 4194305 bytes; at most 4194304 are read");
  }
}

/// What each connection was sent, in pieces of `at_once`.
std::vector<std::pair<std::uint32_t, std::string>> connectionsOf(std::string_view bytes,
                                                                 std::size_t at_once) {
  MuxReader reader;
  std::vector<std::pair<std::uint32_t, std::string>> out;
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, at_once);
    bytes.remove_prefix(piece.size());
    for (;;) {
      const auto part = reader.next(piece);
      EXPECT_TRUE(part);
      if (!part || !*part) { break; }
      EXPECT_FALSE((*part)->bytes.empty());
      if (out.empty() || out.back().first != (*part)->conn) { out.emplace_back((*part)->conn, ""); }
      out.back().second += (*part)->bytes;
    }
    EXPECT_TRUE(piece.empty());
  }
  return out;
}

TEST(NriMux, PiecesAreShortEnoughForARuntime) {
  std::string sent(10'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) { sent[i] = static_cast<char>(i % 251); }
  std::string bytes;
  appendPieces(bytes, 2, sent);
  std::string joined;
  for (std::size_t at = 0; at < bytes.size();) {
    ASSERT_EQ(bytes.substr(at, 4), bytesOf({0, 0, 0, 2}));
    const std::size_t size =
        static_cast<std::uint8_t>(bytes[at + 6]) * 256U + static_cast<std::uint8_t>(bytes[at + 7]);
    ASSERT_EQ(bytes.substr(at + 4, 2), bytesOf({0, 0}));
    ASSERT_GT(size, 0U);
    ASSERT_LE(8 + size, 4096U);
    joined += bytes.substr(at + 8, size);
    at += 8 + size;
  }
  EXPECT_EQ(joined, sent);
  std::string nothing;
  appendPieces(nothing, 2, "");
  EXPECT_EQ(nothing, "");
}

TEST(NriMux, AnyPiecesGiveTheSameBytes) {
  std::string bytes = bytesOf({0, 0, 0, 1, 0, 0, 0, 3, 'a', 'b', 'c'});
  bytes += bytesOf({0, 0, 0, 9, 0, 0, 0, 0});  // an empty one
  bytes += bytesOf({0xFF, 0, 0, 2, 0, 0, 0, 1, 'd'});
  bytes += bytesOf({0, 0, 0, 1, 0, 0, 0, 0});
  const std::vector<std::pair<std::uint32_t, std::string>> wanted = {{1, "abc"}, {0xFF000002, "d"}};
  for (std::size_t at_once = 1; at_once <= bytes.size(); ++at_once) {
    EXPECT_EQ(connectionsOf(bytes, at_once), wanted) << at_once;
  }
}

TEST(NriMux, LongOnesEndIt) {
  MuxReader reader;
  const std::string longest = bytesOf({0, 0, 0, 1, 0, 0x40, 0, 10, 'a'});  // 4 MiB and the head of a frame
  std::string_view bytes = longest;
  const auto part = reader.next(bytes);
  ASSERT_TRUE(part && *part);
  EXPECT_EQ((*part)->bytes, "a");

  MuxReader other;
  const std::string longer = bytesOf({0, 0, 0, 1, 0, 0x40, 0, 11});
  bytes = longer;
  const auto none = other.next(bytes);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "a piece of 4194315 bytes for connection 1; at most 4194314 are read");
}

}  // namespace
}  // namespace gs::rpc::ttrpc
