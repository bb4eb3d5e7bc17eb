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

TEST(JsonLine, EveryValueIsAString) {
  const std::vector<Field> fields{{"pod", "team-a/train-0"}, {"gpus", 4}, {"leader", true}, {"none", ""}};
  EXPECT_EQ(
      formatJson(Level::Info, "pod bound", fields),
      R"("level":"info","msg":"pod bound","pod":"team-a/train-0","gpus":"4","leader":"true","none":"")");
}

TEST(JsonLine, OutsideTextCannotForgeAMemberOrALine) {
  const std::vector<Field> fields{{"na\"me", std::string{"x\",\"level\":\"error\n\t\x1b\\\x7f\x00", 23}}};
  EXPECT_EQ(formatJson(Level::Warn, "a\rb", fields),
            R"("level":"warn","msg":"a\u000db","na\"me":"x\",\"level\":\"error\n\t\u001b\\\u007f\u0000")");
}

TEST(JsonLine, WhatIsNoUtf8IsReplacedAndTheRestKept) {
  struct Row {
    const char* name;
    std::string bytes;
    const char* shown;
  };
  for (const Row& row : {Row{"two, three and four bytes", "\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80", "ö€😀"},
                         Row{"cut off", "a\xe2\x82", "a\uFFFD\uFFFD"},
                         Row{"a lone byte",
                             "\xff"
                             "b",
                             "\uFFFDb"},
                         Row{"longer than need be", "\xc0\xaf", "\uFFFD\uFFFD"},
                         Row{"half of a pair", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
                         Row{"above the last", "\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"}}) {
    const std::vector<Field> fields{{"v", row.bytes}};
    EXPECT_EQ(formatJson(Level::Info, "m", fields),
              std::string{R"("level":"info","msg":"m","v":")"} + row.shown + '"')
        << row.name;
  }
}

TEST(JsonLine, NoTwoMembersHaveOneName) {
  const std::vector<Field> fields{{"msg", "a"}, {"level", "b"}, {"ts", "c"},
                                  {"pod", "d"}, {"pod", "e"},   {"pod_", "f"}};
  EXPECT_EQ(formatJson(Level::Info, "m", fields),
            R"("level":"info","msg":"m","msg_":"a","level_":"b","ts_":"c","pod":"d","pod_":"e","pod__":"f")");
}

TEST(Log, AsJsonEachLineIsAnObject) {
  testing::internal::CaptureStderr();
  setFormat(Format::Json);
  info("bound", {{"pod", "a/b"}});
  setFormat(Format::Text);
  info("bound");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(written.substr(0, 9), R"({"ts":"20)");
  const auto end = written.find('\n');
  EXPECT_EQ(written.substr(30, end - 30), R"(Z","level":"info","msg":"bound","pod":"a/b"})") << written;
  EXPECT_EQ(written.substr(end + 1, 5), "ts=20");
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
