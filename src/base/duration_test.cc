#include "base/duration.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsWhatGoWrites) {
  EXPECT_EQ(parseDuration("5s").value(), 5s);
  EXPECT_EQ(parseDuration("500ms").value(), 500ms);
  EXPECT_EQ(parseDuration("1m30s").value(), 90s);
  EXPECT_EQ(parseDuration("1.5h").value(), 90min);
  EXPECT_EQ(parseDuration("24h").value(), 24h);
}

class NoDuration : public ::testing::TestWithParam<const char*> {};
TEST_P(NoDuration, IsAnsweredWithWhatToWrite) {
  const auto read = parseDuration(GetParam());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Invalid);
  EXPECT_NE(read.error().message.find(GetParam()), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(Table, NoDuration,
                         ::testing::Values("", "5", "s", "5x", "0s", "-5s", "1..5s", "5s x", "1e3s", "25h",
                                           "5 s", "99999999999999999999999h"));

}  // namespace
}  // namespace gs
