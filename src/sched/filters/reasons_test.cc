#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sched/filters/each_reason_test.h"
#include "sched/filters/filter.h"

namespace gs::sched {
namespace {

TEST(ReasonRows, EachHasAKindOfItsOwnAndWordsWithoutAComma) {
  std::set<std::string> kinds;
  eachReason([&](Reason reason) {
    const ReasonRow& row = rowOf(reason);
    EXPECT_EQ(row.reason, reason);
    EXPECT_TRUE(kinds.insert(row.kind).second) << row.kind;
    EXPECT_EQ(std::string{row.kind}.find(','), std::string::npos) << "kinds are joined by commas";
    for (const char* detail : {"", "x"}) {
      const std::string words = row.words({reason, detail, 3, 2});
      EXPECT_FALSE(words.empty()) << row.kind;
      EXPECT_EQ(words.find(','), std::string::npos) << words;
      EXPECT_EQ(*detail == '\0' ? std::string::npos : words.find("{}"), std::string::npos) << words;
    }
  });
}

TEST(ReasonRows, WordsHaveTheirDetailAndNumbers) {
  const auto words = [](Reason reason, const char* detail) {
    return rowOf(reason).words({reason, detail, 3, 2});
  };
  EXPECT_EQ(words(Reason::UntoleratedTaint, "k: v"), "node(s) had untolerated taint {k: v}");
  EXPECT_EQ(words(Reason::InsufficientResource, "{cpu}"), "Insufficient {cpu}");
  EXPECT_EQ(words(Reason::TooFewFree, ""), "node(s) had too few free GPUs: need 3 and most free is 2");
  EXPECT_EQ(words(Reason::HostPortsTaken, ""), "node(s) didn't have free ports for the requested pod ports");
}

TEST(ReasonRows, APodThatGoesCuresTheseAndNoOthers) {
  const std::set<Reason> cured{Reason::ExceedsQuota,
                               Reason::HostPortsTaken,
                               Reason::TooManyPods,
                               Reason::InsufficientResource,
                               Reason::ExistingAntiAffinity,
                               Reason::TooFewFree,
                               Reason::GpusHeld,
                               Reason::TopologyUnmet,
                               Reason::ClaimsUnmet,
                               Reason::NotTakenYet,
                               Reason::DiskInUse,
                               Reason::VolumeOfOnePod,
                               Reason::TooManyVolumes,
                               Reason::SpreadUnmet,
                               Reason::PodAntiAffinity};
  eachReason([&](Reason reason) {
    EXPECT_EQ(isCuredBy(reason, Cure::PodGone), cured.contains(reason)) << rowOf(reason).kind;
  });
}

TEST(ReasonRows, WhoHoldsGpusIsToldOfReasonsThatAPodCures) {
  const std::set<Reason> held{Reason::TooFewFree, Reason::GpusHeld, Reason::TopologyUnmet};
  eachReason([&](Reason reason) {
    EXPECT_EQ(rowOf(reason).is_held, held.contains(reason)) << rowOf(reason).kind;
    EXPECT_TRUE(!rowOf(reason).is_held || isCuredBy(reason, Cure::PodGone)) << rowOf(reason).kind;
  });
}

/// Whatever a node says, something may change it: else a pod would wait for nothing.
TEST(ReasonRows, NoneIsWithoutACure) {
  eachReason([](Reason reason) { EXPECT_NE(rowOf(reason).cures, 0) << rowOf(reason).kind; });
}

/// An autoscaler is not asked for a node where none would help.
TEST(ReasonRows, ANewNodeIsNoCureOfThese) {
  for (const Reason reason :
       {Reason::OtherName, Reason::TriedInVain, Reason::ExceedsQuota, Reason::AwaitsStatus,
        Reason::AwaitsLook, Reason::NotTakenYet, Reason::VolumeOfOnePod, Reason::VolumeMissing}) {
    EXPECT_FALSE(isCuredBy(reason, Cure::OtherNode)) << rowOf(reason).kind;
  }
  EXPECT_TRUE(isCuredBy(Reason::InsufficientResource, Cure::OtherNode));
  EXPECT_TRUE(isCuredBy(Reason::TooFewFree, Cure::OtherNode));
}

TEST(ReasonRowsDeathTest, AReasonThatThereIsNotIsABug) {
  EXPECT_DEATH((void)rowOf(static_cast<Reason>(kReasons)), "reason");
}

}  // namespace
}  // namespace gs::sched
