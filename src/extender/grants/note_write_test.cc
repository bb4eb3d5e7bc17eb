#include "extender/grants/note_write.h"

#include <gtest/gtest.h>

#include <vector>

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

class NoteWriteTest : public ::testing::Test {
 protected:
  /// The waits after each of so many failures in a row.
  std::vector<Duration> waits(int failures) {
    std::vector<Duration> out;
    for (int i = 0; i < failures; ++i) {
      write.failed(now, 0, {});
      out.push_back(write.due() - now);
    }
    return out;
  }

  NoteWrite write;
  Mono now{1h};
};

TEST_F(NoteWriteTest, OneCallAtATimeAndNoneOfWhatIsWritten) {
  EXPECT_TRUE(write.mayLeave(now));
  write.sent(7);
  EXPECT_FALSE(write.mayLeave(now));
  EXPECT_EQ(write.due(), Mono::max());
  EXPECT_FALSE(write.answered(8)) << "another one";
  EXPECT_TRUE(write.isUnderWay());
  EXPECT_TRUE(write.answered(7));
  EXPECT_TRUE(write.mayLeave(now));
  write.written();
  EXPECT_FALSE(write.mayLeave(now));
  EXPECT_EQ(write.due(), Mono::max());
  write.remove();
  EXPECT_TRUE(write.mayLeave(now));
}

TEST_F(NoteWriteTest, WaitsLongerEachTimeAndLongestWhereLeastDependsOnIt) {
  EXPECT_EQ(waits(7), (std::vector<Duration>{200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10s}));
  EXPECT_FALSE(write.mayLeave(now + 10s - 1ns));
  EXPECT_TRUE(write.mayLeave(now + 10s));
  write.remove();
  EXPECT_EQ(waits(9).back(), 1min);
  NoteWrite orphan;
  orphan.removeOrphan(now + 10s, 0);
  EXPECT_EQ(orphan.due(), now + 10s);
  write = orphan;
  EXPECT_EQ(waits(12).back(), 5min);
}

TEST_F(NoteWriteTest, NeverSoonerThanTheServerAskedForOrRefusalsSay) {
  write.failed(now, 0, 7s);
  EXPECT_EQ(write.due(), now + 7s);
  write.failed(now, 4, {});
  EXPECT_EQ(write.due(), now + 1600ms);
}

TEST_F(NoteWriteTest, AfterAWriteTookEffectTheNextFailureIsTheFirst) {
  (void)waits(5);
  write.applied();
  EXPECT_EQ(waits(1).back(), 200ms);
  (void)waits(5);
  write.written();
  write.begin();
  EXPECT_EQ(waits(1).back(), 200ms);
}

TEST_F(NoteWriteTest, WhatMayStillLandIsReadAndUnsettledUntilSomethingTookEffect) {
  write.mayLand();
  EXPECT_TRUE(write.mustRead());
  EXPECT_TRUE(write.isUnsettled());
  write.wasRead();
  EXPECT_FALSE(write.mustRead());
  EXPECT_TRUE(write.isUnsettled()) << "that it was not there yet proves nothing";
  write.applied();
  EXPECT_FALSE(write.isUnsettled());
  write.mayLand();
  write.settled();
  EXPECT_FALSE(write.isUnsettled());
  write.readFirst();
  EXPECT_TRUE(write.mustRead());
  EXPECT_FALSE(write.isUnsettled());
}

TEST_F(NoteWriteTest, ASlotIsNeededWhereNobodyWaits) {
  EXPECT_FALSE(write.needsSlot(false));
  write.failed(now, 0, {});
  EXPECT_TRUE(write.needsSlot(false));
  EXPECT_FALSE(write.needsSlot(true));
  write.applied();
  write.beginIdly();
  EXPECT_TRUE(write.needsSlot(false));
  write.begin();
  EXPECT_FALSE(write.needsSlot(false));
  write.nobodyWaits();
  EXPECT_TRUE(write.needsSlot(false));
  write.applied();
  write.removeIdly();
  EXPECT_TRUE(write.needsSlot(false));
  write.queued(true);
  EXPECT_EQ(write.due(), Mono::max()) << "the slot is what it waits for";
  write.queued(false);
  EXPECT_NE(write.due(), Mono::max());
}

TEST_F(NoteWriteTest, WhatOthersChangeIsMendedAtOnceThenEverMoreSlowly) {
  write.written();
  EXPECT_EQ(write.changedByOthers(now), 1);
  EXPECT_TRUE(write.isWriting());
  EXPECT_TRUE(write.mayLeave(now));
  EXPECT_FALSE(write.needsSlot(false));
  std::vector<Duration> waits;
  for (int i = 2; i < 13; ++i) {
    now += 1h;
    write.written();
    EXPECT_EQ(write.changedByOthers(now), i);
    waits.push_back(write.due() - now);
    EXPECT_TRUE(write.needsSlot(false));
  }
  EXPECT_EQ(waits.at(0), 200ms);
  EXPECT_EQ(waits.at(1), 400ms);
  EXPECT_EQ(waits.back(), 1min);
}

TEST_F(NoteWriteTest, AnOrphanThatIsDecidedAboutWaitsNoMoreUnlessItFailed) {
  write.removeOrphan(now + 10s, 0);
  write.decided(0);
  EXPECT_FALSE(write.isOrphan());
  EXPECT_TRUE(write.mayLeave(now));
  write.removeOrphan(now + 10s, 0);
  write.failed(now, 0, 20s);
  write.decided(3);
  EXPECT_FALSE(write.mayLeave(now + 20s - 1ns));
  write.failed(now, 0, {});
  EXPECT_EQ(write.due(), now + 1600ms) << "the fourth in a row";
}

}  // namespace
}  // namespace gs::extender
