#include "process/klog_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "process/flags.h"
#include "process/process.h"

namespace gs::process {
namespace {

using Words = std::vector<std::string>;

TEST(AsPflag, NamesMayHaveUnderscoresAndValuesKeepThem) {
  EXPECT_EQ(asPflag({"--log_dir=/a_b", "--stderr_threshold", "a_b", "-v=4", "-v", "3"}),
            (Words{"--log-dir=/a_b", "--stderr-threshold", "a_b", "--v=4", "-v", "3"}));
  EXPECT_EQ(asPflag({"--", "--a_b"}), (Words{"--", "--a_b"}));
  EXPECT_EQ(asPflag({}), Words{});
}

KlogFlags parsed(Words arguments) {
  KlogFlags f;
  CLI::App app;
  addKlog(app, f);
  parse(app, asPflag(arguments));
  return f;
}

TEST(KlogFlags, TheGuidesCommandLine) {
  const KlogFlags f = parsed({"--v=4", "--logtostderr=true"});
  EXPECT_EQ(f.verbosity, 4);
  EXPECT_EQ(f.without_meaning, (Words{"--logtostderr"}));
}

TEST(KlogFlags, EveryFormOfVerbosity) {
  for (const Words& words :
       {Words{"-v", "4"}, Words{"-v=4"}, Words{"--v=4"}, Words{"--v", "4"}, Words{"-v4"}}) {
    EXPECT_EQ(parsed(words).verbosity, 4) << words.at(0);
  }
}

TEST(KlogFlags, ThoseWithoutMeaningAreTakenWithAndWithoutAValue) {
  const KlogFlags f = parsed({"--alsologtostderr", "--log_backtrace_at=:0", "--log-dir", "/var/log",
                              "--log-flush-frequency=5s", "--stderrthreshold=2", "--vmodule=a=1,b=2"});
  EXPECT_EQ(f.without_meaning.size(), 6U);
  EXPECT_FALSE(f.verbosity);
}

/// Sets LOG_LEVEL while it lives.
class LogLevel {
 public:
  explicit LogLevel(const char* value) { ::setenv("LOG_LEVEL", value, 1); }
  LogLevel(const LogLevel&) = delete;
  LogLevel& operator=(const LogLevel&) = delete;
  ~LogLevel() { ::unsetenv("LOG_LEVEL"); }
};

TEST(KlogFlags, NothingInTheEnvironmentKeepsAProgramFromStarting) {
  for (const char* value : {"", "info", "4", "-1", "99999999999999999999", "loud"}) {
    const LogLevel set{value};
    EXPECT_NO_THROW(parsed({})) << value;
  }
}

TEST(KlogFlags, LogLevelIsANumberOrAName) {
  struct Row {
    const char* text;
    std::optional<log::Level> level;
  };
  for (const Row& row :
       {Row{"0", log::Level::Info}, Row{"3", log::Level::Info}, Row{"4", log::Level::Debug},
        Row{"10", log::Level::Debug}, Row{"-1", log::Level::Info}, Row{"debug", log::Level::Debug},
        Row{"info", log::Level::Info}, Row{"INFO", log::Level::Info}, Row{"warn", log::Level::Warn},
        Row{"Warning", log::Level::Warn}, Row{"error", log::Level::Error}, Row{"", std::nullopt},
        Row{"loud", std::nullopt}, Row{"4x", std::nullopt}}) {
    EXPECT_EQ(logLevelOf(row.text), row.level) << row.text;
  }
}

struct Read {
  std::string text = "default";
  std::string other;
  int number = 1;
};
Read read(const Words& arguments) {
  Read r;
  CLI::App app;
  app.add_option("--text", r.text);
  app.add_option("--other", r.other);
  app.add_option("--number", r.number);
  parse(app, arguments);
  return r;
}

/// As Helm templates write a value that is not set.
TEST(Parse, AnEmptyValueIsEmptyAndTakesNoOtherArgument) {
  EXPECT_EQ(read({"--text=", "--other=x"}).text, "");
  EXPECT_EQ(read({"--text=", "--other=x"}).other, "x");
  EXPECT_EQ(read({"--other=a=", "--text="}).other, "a=");
  EXPECT_EQ(read({"--text=--other="}).text, "--other=");
  EXPECT_THROW(read({"--number=", "--other=x"}), CLI::ParseError);
  EXPECT_THROW(read({"--text=", "x"}), CLI::ParseError) << "x belongs to no flag";
}

TEST(Parse, WithoutMeaningTakesNoOtherArgumentEither) {
  EXPECT_EQ(parsed({"--vmodule=", "--v=4"}).verbosity, 4);
}

bool wantsVersion(const Words& arguments) {
  bool wanted = false;
  CLI::App app;
  addVersion(app, wanted);
  std::string other;
  app.add_option("--other", other);
  parse(app, arguments);
  return wanted;
}

TEST(Version, AsPflagReadsIt) {
  for (const char* word : {"--version", "--version=true", "--version=raw", "--version=1", "--version=T"}) {
    EXPECT_TRUE(wantsVersion({word})) << word;
  }
  for (const char* word : {"--version=false", "--version=0", "--version=False", "--other=x"}) {
    EXPECT_FALSE(wantsVersion({word})) << word;
  }
  EXPECT_TRUE(wantsVersion({"--version", "--other", "x"}));
  EXPECT_THROW(wantsVersion({"--version=maybe"}), CLI::ParseError);
}

TEST(Version, OneNumberForAllPrograms) {
  EXPECT_EQ(versionOf("gpu-admission"), "gpu-admission-0.1");
  EXPECT_EQ(userAgentOf("gpu-scheduler"), "gpu-scheduler/0.1");
}

TEST(KlogFlags, OthersAreRefused) { EXPECT_THROW(parsed({"--log-cat=1"}), CLI::ParseError); }

}  // namespace
}  // namespace gs::process
