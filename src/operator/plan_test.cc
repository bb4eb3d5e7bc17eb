#include "operator/plan.h"

#include <gtest/gtest.h>

#include "kcache/kinds/names.h"

namespace gs::gkm {
namespace {

using kcache::State;

const std::string kDigest = "sha256:" + std::string(64, 'a');

struct Says {
  const char* node;
  kcache::Counts counts{.nodes = 1};
  const char* error = "";
  const char* unload_error = "";
};

struct Row {
  const char* what;
  std::vector<Says> nodes;
  bool is_deleting = false;
  std::optional<State> before{};  // as its status has it
  const char* cause_before = "";
  Act act = Act::WriteStatus;
  State state{};
  const char* cause = "";
};

Tally tallyOf(const Row& row) {
  Tally out;
  for (const Says& one : row.nodes) {
    out.say(one.node, one.node, {one.counts, one.error, one.unload_error});
  }
  return out;
}

kcache::Cache cacheOf(const Row& row, const Tally& tally) {
  kcache::Cache out;
  out.key = {"ns", "one"};
  out.digest = kDigest;
  out.is_deleting = row.is_deleting;
  out.finalizers.names = {kcache::kCacheFinalizer};
  if (row.before) {
    kcache::CacheStatus& status = out.status.emplace();
    status.resolved_digest = kDigest;
    status.counts = tally.counts();
    status.condition = kcache::Condition{*row.before, kcache::messageOf(*row.before, row.cause_before), {}};
  }
  return out;
}

TEST(Plan, IsWhatTheNodesSayAndTheStatusDoesNot) {
  const kcache::Counts has{.nodes = 1, .nodes_not_in_use = 1};
  const kcache::Counts fails{.nodes = 1, .nodes_error = 1};
  const Says full{"node-a", fails, "disk full", ""};
  const Says busy{"node-b", fails, "", "is busy"};
  const std::vector<Row> rows{
      {.what = "new", .nodes = {}, .state = State::Pending},
      {.what = "extracted", .nodes = {{"node-a", has}}, .state = State::Extracted},
      {.what = "is so", .nodes = {{"node-a", has}}, .before = State::Extracted, .act = Act::Nothing},
      {.what = "an error first", .nodes = {full, busy}, .state = State::Error, .cause = "node-a: disk full"},
      {.what = "an error that is there",
       .nodes = {full},
       .before = State::Error,
       .cause_before = "node-a: disk full",
       .act = Act::Nothing},
      {.what = "deleting, nobody has it", .nodes = {}, .is_deleting = true, .act = Act::RemoveFinalizer},
      {.what = "deleting, a node has it",
       .nodes = {{"node-a", has}},
       .is_deleting = true,
       .before = State::Running,
       .act = Act::Nothing},
      {.what = "deleting, a node cannot remove it",
       .nodes = {busy},
       .is_deleting = true,
       .before = State::Extracted,
       .state = State::UnloadError,
       .cause = "node-b: is busy"},
      {.what = "deleting, and another node could not extract it",
       .nodes = {full, busy},
       .is_deleting = true,
       .before = State::Error,
       .state = State::UnloadError,
       .cause = "node-b: is busy"},
      {.what = "deleting, an extraction failed",
       .nodes = {full},
       .is_deleting = true,
       .before = State::Extracted,
       .act = Act::Nothing},
      {.what = "deleting, the node can remove it now",
       .nodes = {{"node-b", has}},
       .is_deleting = true,
       .before = State::UnloadError,
       .cause_before = "node-b: is busy",
       .state = State::Extracted},
  };
  for (const Row& row : rows) {
    const Tally tally = tallyOf(row);
    const Plan plan = planOf(cacheOf(row, tally), tally, {});
    EXPECT_EQ(plan.act, row.act) << row.what;
    if (row.act != Act::WriteStatus || plan.act != row.act) { continue; }
    EXPECT_STREQ(kcache::nameOf(plan.status.condition->state), kcache::nameOf(row.state)) << row.what;
    EXPECT_EQ(plan.status.condition->message, kcache::messageOf(row.state, row.cause)) << row.what;
  }
}

TEST(Plan, OnlyACauseThatIsNewIsNotUrgent) {
  const Row row{.what = "",
                .nodes = {{"node-a", {.nodes = 1}, "disk full"}},
                .before = State::Error,
                .cause_before = "node-a: no such image"};
  const Tally tally = tallyOf(row);
  EXPECT_TRUE(planOf(cacheOf(row, tally), tally, {}).is_cause_only);
  kcache::Cache other = cacheOf(row, tally);
  other.status->counts.nodes = 7;
  EXPECT_FALSE(planOf(other, tally, {}).is_cause_only);
}

}  // namespace
}  // namespace gs::gkm
