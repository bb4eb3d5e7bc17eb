#include "runner/send_rule.h"

#include <gtest/gtest.h>

namespace gs::runner {
namespace {

using namespace std::chrono_literals;

TEST(MaySend, InItsOwnTermUntilThatEnds) {
  const Mono until{10s};
  const kapi::Leadership leads{.leading = true, .term = 2, .until = until};
  EXPECT_TRUE(maySend(leads, 2, until - 1ns));
  EXPECT_FALSE(maySend(leads, 2, until)) << "the renew deadline is over";
  EXPECT_FALSE(maySend(leads, 1, Mono{})) << "decided in an earlier term";
  EXPECT_FALSE(maySend({.leading = false, .term = 2, .until = until}, 2, Mono{}));
  EXPECT_FALSE(maySend({}, 0, Mono{})) << "before anything was said";
}

struct Row {
  const char* what;
  bool leader_only, stopping, overdue, leads;
  const char* why;  // "": it is sent
};

class WhyNotSent : public testing::TestWithParam<Row> {};

TEST_P(WhyNotSent, SaysWhatTheMachineIsTold) {
  const Row& row = GetParam();
  QueuedCall queued;
  queued.call.token = 7;
  queued.call.leader_only = row.leader_only;
  queued.overdue = row.overdue;
  queued.held_for = 3s;
  const auto outcome = whyNotSent(queued, row.stopping, row.leads);
  ASSERT_EQ(outcome.has_value(), *row.why != '\0') << row.what;
  if (!outcome) { return; }
  EXPECT_EQ(outcome->token, 7U);
  EXPECT_EQ(outcome->result, kapi::CallResult::NotSent);
  EXPECT_NE(outcome->message.find(row.why), std::string::npos) << outcome->message;
  EXPECT_EQ(outcome->retry_after, row.overdue && !row.stopping ? Duration{3s} : Duration{}) << row.what;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WhyNotSent,
    testing::Values(Row{"anybody's", false, false, false, false, ""},
                    Row{"a leader's", true, false, false, true, ""},
                    Row{"of who does not lead", true, false, false, false, "we do not lead"},
                    Row{"held back for too long", false, false, true, true, "asked to wait (429)"},
                    Row{"the process ends", false, true, false, true, "is stopping"},
                    Row{"it ends while the call is held", true, true, true, true, "is stopping"}),
    [](const auto& row) { return "Row" + std::to_string(row.index); });

}  // namespace
}  // namespace gs::runner
