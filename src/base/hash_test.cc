#include "base/hash.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Sha256Hex, KnownAnswers) {  // FIPS 180-2
  EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesGiveWhatTheWholeGives) {
  const std::string whole(1000, 'x');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{999}}) {
    Sha256 hash;
    for (std::size_t at = 0; at < whole.size(); at += piece) {
      hash.update(std::string_view{whole}.substr(at, piece));
    }
    EXPECT_EQ(hash.hex(), sha256Hex(whole)) << piece;
  }
}

TEST(Sha256, GoesOnAfterItsDigestWasRead) {
  Sha256 hash;
  EXPECT_EQ(hash.hex(), sha256Hex(""));
  hash.update("a");
  EXPECT_EQ(hash.hex(), sha256Hex("a"));
  hash.update("bc");
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.hex(), sha256Hex("abc"));
}

}  // namespace
}  // namespace gs
