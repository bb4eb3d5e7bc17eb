#include "process/program.h"

#include <gtest/gtest.h>

#include <sstream>

#include "process/flags.h"
#include "process/process.h"

namespace gs::process {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

/// A program with a flag of every kind and commands in two rooms.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    program.root().topic("Where").text("--address,--bind", "HOST:PORT", address, "Where it listens");
    program.root().topic("Log").choice("--format", {"text", "json"}, format, "How lines look");
    program.root().topic("Log").choice("--inject", {"auto", "true", "false"}, inject, "Whether it does",
                                       "true");
    Command make = program.root().command("make", "Makes things");
    make.topic("Amounts")
        .number("--count", "N", 1, 9, count, "How many")
        .number("-v,--v", "N", verbosity, "How loud")
        .duration("--within", within, "Until then")
        .flag("--elect,!--no-elect", elect, "With a leader")
        .name("--profile", profile, "Whose it is");
    make.word("name", name, "Its name");
    make.does([this] { return done("make"); });
    Command gpu = program.root().command("gpu", "Does something to a GPU");
    gpu.topic("Cluster").text("--kubeconfig", "FILE", kubeconfig, "Whom it asks");
    gpu.command("fail", "Breaks it").word("id", id, "Its number").does([this] { return done("fail"); });
    gpu.command("repair", "Mends it").does([this] { return done("repair"); });
  }
  int done(const std::string& what) {
    did += what;
    return 7;
  }
  /// What it says and does; the exit status is `status`.
  std::string says(const Words& words, int status) {
    std::ostringstream text;
    EXPECT_EQ(program.run(words, text, text), status) << text.str();
    return text.str();
  }
  /// The first line of what is wrong.
  std::string wrong(const Words& words) {
    const std::string text = says(words, 2);
    EXPECT_EQ(did, "");
    return text.substr(0, text.find('\n'));
  }

  std::string address = "127.0.0.1:0";
  std::string format = "text";
  std::string inject = "auto";
  int count = 3;
  std::optional<int> verbosity;
  Duration within = 90s;
  bool elect = true;
  std::string profile = "plain";
  std::string name;
  std::string kubeconfig;
  std::string id;
  std::string did;
  Program program{"tool", "Does this. And that."};
};

TEST_F(ProgramTest, DoesWhatTheWordsSayAndExitsAsThatDoes) {
  EXPECT_EQ(says({"--address=a:1", "make", "x", "--count", "9", "--within=5s", "--no-elect", "-v", "4"}, 7),
            "");
  EXPECT_EQ(did, "make");
  EXPECT_EQ(name, "x");
  EXPECT_EQ(address, "a:1");
  EXPECT_EQ(count, 9);
  EXPECT_EQ(within, 5s);
  EXPECT_FALSE(elect);
}

TEST_F(ProgramTest, AChoiceThatMayStandAloneLeavesTheNextArgument) {
  EXPECT_EQ(says({"--inject", "make", "x"}, 7), "");
  EXPECT_EQ(inject, "true");
  EXPECT_EQ(says({"--inject=false", "make", "x"}, 7), "");
  EXPECT_EQ(inject, "false");
}

TEST_F(ProgramTest, WrongArgumentsEndAsItWasTold) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(program.run({"--nonsense"}, out, err), 2);
  program.refusesWith(3);
  EXPECT_EQ(program.run({"--nonsense"}, out, err), 3);
  EXPECT_EQ(program.run({"make", "n", "--elect="}, out, err), 3);
}

TEST_F(ProgramTest, ACommandOfACommandTakesItsFlagsToo) {
  says({"gpu", "fail", "-1", "--kubeconfig", "k"}, 7);
  EXPECT_EQ(did + id + kubeconfig, "fail-1k");
}

TEST_F(ProgramTest, WhatHoldsWithoutAFlagStays) {
  says({"make", "x"}, 7);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(within, 90s);
  EXPECT_TRUE(elect);
  EXPECT_EQ(address, "127.0.0.1:0");
}

/// As Helm templates write a value that is not set.
TEST_F(ProgramTest, AnEmptyValueIsEmptyAndTakesNoOtherArgument) {
  says({"--address=", "make", "--no-elect", "a=b"}, 7);
  EXPECT_EQ(address, "");
  EXPECT_EQ(name, "a=b");
  EXPECT_FALSE(elect);
}

/// As pflag: a manifest that appends one overrides what stands before it.
TEST_F(ProgramTest, OfAFlagThatIsGivenTwiceTheLastCounts) {
  says({"--format=json", "--format", "text", "make", "x", "--count=4", "--count=5", "--within=1s",
        "--within=2s", "-v", "1", "--v=2", "--elect=false", "--elect", "--profile=a", "--profile=b"},
       7);
  EXPECT_EQ(format, "text");
  EXPECT_EQ(count, 5);
  EXPECT_EQ(within, 2s);
  EXPECT_EQ(verbosity, 2);
  EXPECT_TRUE(elect);
  EXPECT_EQ(profile, "b");
  std::string given;
  for (const auto& field : program.settings()) { given += field.key + "=" + field.value + " "; }
  EXPECT_EQ(given, "count=5 v=2 within=2s profile=b ");
}

TEST_F(ProgramTest, OfATruthThatIsGivenTwiceTheLastCounts) {
  says({"make", "x", "--elect", "--no-elect"}, 7);
  EXPECT_FALSE(elect);
}

TEST_F(ProgramTest, BehindTwoHyphensStandsAWordThatLooksLikeAFlag) {
  says({"make", "--count=4", "--", "--count=5"}, 7);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(name, "--count=5");
}

struct Slip {
  const char* name;
  Words words;
  const char* answer;
};
class Slips : public ProgramTest, public testing::WithParamInterface<Slip> {};
TEST_P(Slips, AreAnsweredWithWhatToWrite) { EXPECT_EQ(wrong(GetParam().words), GetParam().answer); }
INSTANTIATE_TEST_SUITE_P(
    Table, Slips,
    testing::Values(
        Slip{"NoCommand", {}, "'tool' needs a command: make, gpu, help, completion, man"},
        Slip{"NearACommand", {"mkae"}, "'tool' has no command mkae; did you mean make?"},
        Slip{"NearNone",
             {"frobnicate"},
             "'tool' has no command frobnicate; there are make, gpu, help, completion, man"},
        Slip{
            "CommandOfACommand", {"gpu", "repiar"}, "'tool gpu' has no command repiar; did you mean repair?"},
        Slip{"NoneOfIt", {"gpu"}, "'tool gpu' needs a command: fail, repair"},
        Slip{"NearAFlag",
             {"make", "x", "--cuont=1"},
             "'tool make' has no flag --cuont; did you mean --count?"},
        Slip{"OneHyphen", {"make", "x", "-count"}, "'tool make' has no flag -count; did you mean --count?"},
        Slip{"NearAFlagAbove",
             {"gpu", "fail", "1", "--kubecfg=k"},
             "'tool gpu fail' has no flag --kubecfg; did you mean --kubeconfig?"},
        Slip{"FlagOfAnother",
             {"--count=1", "make", "x"},
             "--count is a flag of 'tool make': write it behind that"},
        Slip{"OneWordTooMany", {"make", "x", "y"}, "'y' is more than 'tool make' takes"},
        Slip{"OneWordTooManyBelow", {"gpu", "fail", "1", "2"}, "'2' is more than 'tool gpu fail' takes"},
        Slip{"AWordIsMissing", {"make"}, "'tool make': name is required"},
        Slip{"NoNumber", {"make", "x", "--count=many"}, "--count is 'many'; write a number from 1 to 9"},
        Slip{"EmptyNumber", {"make", "x", "--count="}, "--count is ''; write a number from 1 to 9"},
        Slip{"TooLarge", {"make", "x", "--count=10"}, "--count is '10'; write a number from 1 to 9"},
        Slip{"FarTooLarge",
             {"make", "x", "--v=99999999999999999999"},
             "--v is '99999999999999999999'; write a number from -2147483648 to 2147483647"},
        Slip{"NoDuration",
             {"make", "x", "--within=5"},
             "--within: '5' is not a duration; write such as 5s or 500ms"},
        Slip{"NoneOfThem", {"--format=xml"}, "--format is 'xml'; write text or json"},
        Slip{"NoChoice", {"--format"}, "--format needs a value"},
        Slip{"EmptyChoice", {"--inject=", "make", "x"}, "--inject is ''; write auto, true or false"},
        Slip{"NeitherTrueNorFalse",
             {"make", "x", "--elect=maybe"},
             "--elect: 'maybe' is neither true nor false"},
        Slip{"NotNeitherTrueNorFalse",
             {"make", "x", "--no-elect=maybe"},
             "--elect: 'maybe' is neither true nor false"},
        Slip{"EmptyTruth", {"make", "x", "--elect="}, "--elect: '' is neither true nor false"},
        Slip{"EmptyTruthOfItsOpposite",
             {"make", "--no-elect=", "x"},
             "--no-elect: '' is neither true nor false"},
        Slip{"EmptyVersion", {"--version=", "make", "x"}, "--version: '' is neither true nor false"},
        Slip{"EmptyName", {"make", "x", "--profile="}, "--profile is ''; write a name"},
        Slip{"EmptyWord", {"make", ""}, "name is ''; write one that is not empty"},
        Slip{"AWordBehindTwoHyphens",
             {"--", "-y"},
             "'tool' has no command -y; there are make, gpu, help, completion, man"},
        Slip{"NoValue", {"make", "x", "--count"}, "--count needs a value"},
        Slip{"NoShellAtAll", {"completion"}, "'tool completion': shell is required; write bash, zsh or fish"},
        Slip{"NoShell", {"completion", "tcsh"}, "shell is 'tcsh'; write bash, zsh or fish"},
        Slip{"HelpOfNothing", {"help", "gpu", "fali"}, "'tool gpu' has no command fali; did you mean fail?"},
        Slip{"VersionOfWhat", {"--version=maybe"}, "--version: 'maybe' is neither true nor false"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST_F(ProgramTest, ASlipSaysWhereToLookToo) {
  EXPECT_EQ(says({"gpu", "fali"}, 2),
            "'tool gpu' has no command fali; did you mean fail?\n'tool gpu --help' says what there is.\n");
}

TEST_F(ProgramTest, HelpIsByTopicWithUnitsAndWhatHoldsWithoutIt) {
  const std::string page = R"(Makes things

Usage: tool make NAME [FLAGS]

Arguments:
  NAME                        Its name

Amounts:
  --count N                   How many, 1 to 9 (default 3)
  -v, --v N                   How loud
  --within DURATION           Until then (default 1m30s)
  --elect, --no-elect         With a leader (default true)
  --profile NAME              Whose it is (default plain)

General:
  -h, --help                  This text
)";
  EXPECT_EQ(says({"make", "--help"}, 0), page);
  EXPECT_EQ(says({"help", "make"}, 0), page);
  EXPECT_EQ(says({"make", "x", "-h"}, 0), page);
}

TEST_F(ProgramTest, HelpOfTheProgramNamesItsCommands) {
  const std::string page = R"(Does this. And that.

Usage: tool COMMAND

Commands:
  make                        Makes things
  gpu                         Does something to a GPU
  help                        What --help says of a command
  completion                  A shell's script that completes commands, flags and values
  man                         The manual page, for who packages it

Where:
  --address, --bind HOST:PORT
                              Where it listens (default 127.0.0.1:0)

Log:
  --format text|json          How lines look (default text)
  --inject auto|true|false    Whether it does (default auto)

General:
  -h, --help                  This text
  --version                   The version, and nothing else

'tool help COMMAND' says more of a command.
)";
  EXPECT_EQ(says({"--help"}, 0), page);
  EXPECT_EQ(says({"help"}, 0), page);
}

TEST_F(ProgramTest, HelpOfACommandsCommandNamesTheFlagsThatItTakesFromAbove) {
  EXPECT_NE(
      says({"gpu", "fail", "--help"}, 0).find("\nCluster:\n  --kubeconfig FILE           Whom it asks\n"),
      std::string::npos);
}

TEST_F(ProgramTest, LongSentencesAreBrokenAtAHundredColumns) {
  std::string other;
  std::string words;
  for (int i = 0; i < 60; ++i) { words += "word "; }
  program.root().text("--other", "X", other, words + "end");
  std::istringstream lines{says({"--help"}, 0)};
  int of_it = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    if (line.find("word word") != std::string::npos) { of_it += line.find("word") == 30 ? 1 : 100; }
  }
  EXPECT_EQ(of_it, 5);
}

TEST_F(ProgramTest, VersionAsPflagReadsIt) {
  for (const char* word : {"--version", "--version=true", "--version=raw", "--version=1", "--version=T"}) {
    EXPECT_EQ(says({word}, 0), "tool-0.1\n") << word;
  }
  EXPECT_EQ(says({"--version", "make", "x"}, 0), "tool-0.1\n");
  EXPECT_EQ(says({"--version", "extra"}, 0), "tool-0.1\n") << "a value stands behind = only";
  for (const char* word : {"--version=false", "--version=0", "--version=False"}) {
    EXPECT_EQ(says({word, "gpu", "repair"}, 7), "") << word;
  }
}

TEST_F(ProgramTest, SettingsAreWhatWasGivenAndChangesSomething) {
  says({"--format=text", "--address=https://me:secret@host/x@y", "make", "x", "--no-elect", "--count=4",
        "--within=90s"},
       7);
  std::string out;
  for (const auto& field : program.settings()) { out += field.key + "=" + field.value + " "; }
  EXPECT_EQ(out, "address=https://host/x@y count=4 within=90s elect=false ");
}

TEST_F(ProgramTest, EveryFlagAndCommandIsInTheManualPage) {
  const std::string page = says({"man"}, 0);
  EXPECT_TRUE(page.starts_with(".TH TOOL 1 \"\" \"tool\\-0.1\" \"\"\n.SH NAME\ntool \\- Does this\n"))
      << page;
  for (const char* text :
       {"\\fB\\-\\-address\\fR, \\fB\\-\\-bind\\fR \\fIHOST:PORT\\fR\nWhere it listens (default "
        "127.0.0.1:0)\n",
        ".SS tool make NAME [FLAGS]\nMakes things\n", "\\fB\\-v\\fR, \\fB\\-\\-v\\fR \\fIN\\fR\nHow loud\n",
        ".SS tool gpu fail ID [FLAGS]\n", ".SS tool gpu repair [FLAGS]\n", "\\fB\\-\\-kubeconfig\\fR",
        ".SS tool completion bash|zsh|fish [FLAGS]\n", ".SS tool man [FLAGS]\n", ".SS Log\n",
        "\\fB\\-\\-version\\fR", ".SH EXIT STATUS\n"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text << page;
  }
}

TEST_F(ProgramTest, EveryShellsScriptHasEveryFlagCommandAndChoice) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = says({"completion", shell}, 0);
    const bool bare = shell == "fish";  // -l NAME
    for (const char* flag : {"address", "bind", "format", "count", "v", "within", "elect", "no-elect",
                             "kubeconfig", "help", "version"}) {
      const std::string name = bare ? std::string{" -l "} + flag : std::string{"--"} + flag;
      EXPECT_NE(script.find(name), std::string::npos) << shell << name;
    }
    for (const char* word :
         {"make", "gpu", "fail", "repair", "completion", "man", "text json", "bash zsh fish"}) {
      EXPECT_NE(script.find(word), std::string::npos) << shell << word;
    }
  }
}

// ---- flags that several programs have

TEST(Flags, AnElectionsTimesAreInOrder) {
  ElectionFlags flags;
  flags.lease = "leader";
  flags.config.identity = "me";
  const auto election = electionOf(flags, "here");
  ASSERT_TRUE(election && *election);
  EXPECT_EQ((*election)->lease, (model::ObjectKey{"here", "leader"}));
  flags.lease_namespace = "there";
  EXPECT_EQ((*electionOf(flags, "here"))->lease.ns, "there");
  flags.config.renew_deadline = flags.config.lease_duration;
  EXPECT_EQ(electionOf(flags, "here").error().code, Code::Invalid);
  flags = {};
  flags.config.retry_period = flags.config.renew_deadline;
  EXPECT_EQ(electionOf(flags, "here").error().code, Code::Invalid);
  flags = {};
  flags.elect = false;
  EXPECT_EQ(electionOf(flags, "here").value(), std::nullopt);
}

TEST(Flags, WhoGivesNoNameGetsTheHostsAndARandomPart) {
  const auto first = electionOf({}, "here").value()->identity;
  EXPECT_TRUE(first.starts_with(hostName() + "_")) << first;
  EXPECT_NE(first, electionOf({}, "here").value()->identity);
}

TEST(Flags, ACertificateAndItsKeyGoTogetherAndAClientsCaNeedsThem) {
  EXPECT_EQ(serverTlsOf({}).value(), std::nullopt);
  const auto both = serverTlsOf({"cert", "key", "ca"});
  ASSERT_TRUE(both && *both);
  EXPECT_EQ((*both)->cert_file + (*both)->key_file + (*both)->client_ca_file, "certkeyca");
  EXPECT_NE(serverTlsOf({"cert", "", ""}).error().message.find("go together"), std::string::npos);
  EXPECT_NE(serverTlsOf({"", "key", ""}).error().message.find("go together"), std::string::npos);
  EXPECT_NE(serverTlsOf({"", "", "ca"}).error().message.find("needs --tls-cert-file"), std::string::npos);
}

}  // namespace
}  // namespace gs::process
