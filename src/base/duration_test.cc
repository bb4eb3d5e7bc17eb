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

TEST(Duration, IsPrintedAsItIsRead) {
  struct Row {
    Duration duration;
    const char* text;
  };
  for (const Row& row : {Row{5s, "5s"}, Row{500ms, "500ms"}, Row{90s, "1m30s"}, Row{90min, "1h30m"},
                         Row{24h, "24h"}, Row{1h + 1ms, "1h1ms"}, Row{1500ms, "1s500ms"}}) {
    EXPECT_EQ(printDuration(row.duration), row.text);
    EXPECT_EQ(parseDuration(row.text), row.duration);
  }
  EXPECT_EQ(printDuration(Duration::zero()), "0s");
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
