#include "process/klog_flags.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "process/program.h"

namespace gs::process {
namespace {

using Words = std::vector<std::string>;

KlogFlags parsed(const Words& arguments, int status = 0) {
  KlogFlags f;
  Program program{"p", ""};
  program.takesUnderscores();
  addKlog(program.root(), f);
  program.root().does([] { return 0; });
  std::ostringstream text;
  EXPECT_EQ(program.run(arguments, text, text), status) << text.str();
  return f;
}

TEST(KlogFlags, NamesMayHaveUnderscoresAndValuesKeepThem) {
  const KlogFlags f =
      parsed({"--log_dir=/a_b", "--stderrthreshold", "a_b", "--skip_headers", "--log_format=json", "-v=3"});
  EXPECT_EQ(f.without_meaning, (Words{"--log-dir", "--stderrthreshold", "--skip-headers"}));
  EXPECT_EQ(f.log.format, "json");
  EXPECT_EQ(f.verbosity, 3);
  parsed({"--", "--skip_headers"}, 2);
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
    parsed({});
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

TEST(KlogFlags, AnEmptyValueTakesNoOtherArgument) { EXPECT_EQ(parsed({"--vmodule=", "--v=4"}).verbosity, 4); }

TEST(KlogFlags, OthersAreRefused) { parsed({"--log-cat=1"}, 2); }

}  // namespace
}  // namespace gs::process
