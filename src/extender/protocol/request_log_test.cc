#include "extender/protocol/request_log.h"

#include <gtest/gtest.h>

#include "extender/extender_hand_test.h"

namespace gs::extender {
namespace {

class RequestLogTest : public ExtenderTest {
 protected:
  /// "message pod reason", or "" where nothing is said.
  std::string told(const std::string& pod, AnswerKind kind, const std::string& text) {
    Request q;
    q.pod = std::make_shared<const model::Pod>(vcudaPod(pod, {}));
    Answer a;
    a.kind = kind;
    a.text = text;
    const auto line = log.lineOf(q, a, now.mono);
    if (!line) { return ""; }
    std::string out = line->message;
    for (const auto& [key, value] : line->fields) { out += " " + key + "=" + value; }
    return out;
  }
  RequestLog log;
};

TEST_F(RequestLogTest, APodIsToldOnceForEachKindOfReason) {
  EXPECT_EQ(told("p", AnswerKind::Failed, "it cannot be read: 500 x"),
            "failed pod=default/p reason=it cannot be read: 500 x");
  EXPECT_EQ(told("p", AnswerKind::Failed, "it cannot be read: 503 x"), "") << "only its number is another";
  EXPECT_EQ(told("p", AnswerKind::Nowhere, "more containers than 64"),
            "refused pod=default/p reason=more containers than 64");
  EXPECT_NE(told("q", AnswerKind::Failed, "it cannot be read: 500 x"), "");
  EXPECT_EQ(told("p", AnswerKind::Unavailable, "no leader"), "");
  EXPECT_EQ(told("p", AnswerKind::Untouched, ""), "");
  EXPECT_EQ(told("p", AnswerKind::Chosen, ""), "");
  EXPECT_NE(told("p", AnswerKind::Failed, "it cannot be read: 500 x"), "")
      << "it had been given a node since";
  log.forget(vcudaPod("p", {}).uid);
  EXPECT_NE(told("p", AnswerKind::Failed, "it cannot be read: 500 x"), "");
}

TEST_F(RequestLogTest, LinesOfAMinuteAreBoundedAndTheNextOneCountsWhatWasLeftOut) {
  std::size_t lines = 0;
  for (int i = 0; i < 100; ++i) {
    lines += told("p" + std::to_string(i), AnswerKind::Failed, "x").empty() ? 0 : 1;
  }
  EXPECT_EQ(lines, RequestLog::kMostLines);
  now.mono += RequestLog::kWithin;
  EXPECT_EQ(told("q", AnswerKind::Failed, "x"), "failed pod=default/q reason=x left_out=40");
  EXPECT_EQ(told("r", AnswerKind::Failed, "x"), "failed pod=default/r reason=x");
}

TEST_F(RequestLogTest, WhatIsKeptOfPodsIsBounded) {
  for (int i = 0; i < 10'000; ++i) {
    static_cast<void>(told("p" + std::to_string(i), AnswerKind::Failed, "x"));
  }
  EXPECT_LE(log.pods(), 4096U);
}

/// The machine's own answers.
TEST_F(RequestLogTest, TheExtenderLogsARefusalOnceWhateverItsNumbersAre) {
  std::vector<std::string> lines;
  const auto run_and_collect = [&](const model::Pod& pod, const std::vector<std::string>& nodes) {
    desk.ask(extender, ++last, request(Verb::Filter, pod, nodes), now);
    extender.settle(now);
    for (const auto& effect : extender.takeEffects()) {
      const auto* line = std::get_if<kapi::Log>(&effect);
      if (line != nullptr) { lines.push_back(line->message + ": " + line->fields.at(1).second); }
    }
    static_cast<void>(extender.takeAnswers());
  };
  addNode(gpuNode("a", 2));
  addNode(gpuNode("cpu", 0));
  lead();
  const model::Pod pod = create("p", {{300, 0}});
  run_and_collect(pod, {"a"});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "refused: 0/1 nodes fit: 1 pod uid-p does not match with this node: needs 3 whole GPUs; free: 2 "
            "of 2 whole");
  create("other", {{100, 0}});
  server.pods["other"].annotations = {{kIds0, "0"}};
  bindTo("other", "a");
  run_and_collect(pod, {"a"});
  EXPECT_EQ(lines.size(), 1U) << "another number of free ones";
  run_and_collect(pod, {"a", "cpu"});
  EXPECT_EQ(lines.size(), 2U) << "another kind of reason";
}

}  // namespace
}  // namespace gs::extender
