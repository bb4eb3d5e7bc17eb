#include "process/klog_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

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
  Words words = asPflag(arguments);
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  app.parse(words);
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
  EXPECT_EQ(f.verbosity, 0);
}

TEST(KlogFlags, OthersAreRefused) { EXPECT_THROW(parsed({"--log-cat=1"}), CLI::ParseError); }

}  // namespace
}  // namespace gs::process
