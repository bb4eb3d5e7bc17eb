#include "base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace gs::log {
namespace {

TEST(LogLine, PlainValuesStayBare) {
  const std::vector<Field> fields{{"pod", "team-a/train-0"}, {"gpus", 4}, {"leader", true}};
  EXPECT_EQ(formatLine(Level::Info, "bound", fields),
            "level=info msg=bound pod=team-a/train-0 gpus=4 leader=true");
}

TEST(LogLine, SpacesEqualsQuotesAndEmptyAreQuoted) {
  const std::vector<Field> fields{{"a", "x y"}, {"b", "k=v"}, {"c", "say \"hi\" \\"}, {"d", ""}};
  EXPECT_EQ(formatLine(Level::Warn, "two words", fields),
            R"(level=warn msg="two words" a="x y" b="k=v" c="say \"hi\" \\" d="")");
}

TEST(LogLine, OutsideTextCannotForgeALine) {
  const std::vector<Field> fields{{"name", std::string{"x\nts=1 level=error\x1b[31m\t\x00", 25}}};
  EXPECT_EQ(formatLine(Level::Error, "bad", fields),
            R"(level=error msg=bad name="x\nts=1 level=error\x1b[31m\t\x00")");
}

TEST(LogLine, Utf8IsLeftAlone) {
  const std::vector<Field> fields{{"name", "größe"}};
  EXPECT_EQ(formatLine(Level::Debug, "m", fields), "level=debug msg=m name=größe");
}

TEST(Log, WritesTimeAndLineAboveTheLevel) {
  testing::internal::CaptureStderr();
  setLevel(Level::Warn);
  EXPECT_FALSE(enabled(Level::Info));
  info("not shown");
  warn("shown {}", {{"pod", "a/b"}});
  setLevel(Level::Info);
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(written.substr(0, 5), "ts=20");
  EXPECT_EQ(written.substr(written.find(' ')), " level=warn msg=\"shown {}\" pod=a/b\n");
  EXPECT_EQ(written.find("not shown"), std::string::npos);
}

}  // namespace
}  // namespace gs::log
