#include "kapi/time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace gs::kapi {
namespace {

Wall at(std::int64_t micros) { return Wall{std::chrono::microseconds{micros}}; }

TEST(Time, IsWrittenAsKubernetesWritesIt) {
  EXPECT_EQ(timeText(at(1'750'000'000'123'456)), "2025-06-15T15:06:40Z");
  EXPECT_EQ(microTimeText(at(1'750'000'000'123'456)), "2025-06-15T15:06:40.123456Z");
  EXPECT_EQ(microTimeText(at(1'750'000'000'000'000)), "2025-06-15T15:06:40.000000Z");
  EXPECT_EQ(timeText(at(-1)), "1969-12-31T23:59:59Z");
}

TEST(Time, IsReadInAllItsForms) {
  EXPECT_EQ(parseTime("2025-06-15T15:06:40Z"), at(1'750'000'000'000'000));
  EXPECT_EQ(parseTime("2025-06-15T15:06:40.123456Z"), at(1'750'000'000'123'456));
  EXPECT_EQ(parseTime("2025-06-15T15:06:40.5Z"), at(1'750'000'000'500'000));
  EXPECT_EQ(parseTime("2025-06-15T15:06:40.123456789Z"), at(1'750'000'000'123'456));
  EXPECT_EQ(parseTime("2025-06-15T17:06:40+02:00"), at(1'750'000'000'000'000));
  EXPECT_EQ(parseTime("2025-06-15T10:36:40-04:30"), at(1'750'000'000'000'000));
  EXPECT_EQ(parseTime("2024-02-29T00:00:00Z"), at(1'709'164'800'000'000));
}

TEST(Time, RefusesEverythingElse) {
  for (const char* text :
       {"", "now", "2025-06-15", "2025-06-15T15:06:40", "2025-13-15T15:06:40Z", "2025-02-29T15:06:40Z",
        "2025-06-15T25:06:40Z", "2025-06-15T15:06:60Z", "2025-06-15 15:06:40Z", "2025-06-15T15:06:40.Z",
        "2025-06-15T15:06:40Zx", "2025-06-15T15:06:40+0200", "-025-06-15T15:06:40Z", "0000-06-15T15:06:40Z",
        "2025-06-15T15:06:40+24:00", "2025-+6-15T15:06:40Z"}) {
    EXPECT_EQ(parseTime(text), std::nullopt) << text;
  }
}

TEST(TimeProperty, MicroTimesSurvive) {
  EXPECT_TRUE(rc::check([] {
    const Wall t = at(*rc::gen::inRange<std::int64_t>(-62'135'596'800'000'000, 253'402'300'800'000'000));
    RC_ASSERT(parseTime(microTimeText(t)) == t);
    RC_ASSERT(parseTime(timeText(t)) == std::chrono::floor<std::chrono::seconds>(t));
  }));
}

}  // namespace
}  // namespace gs::kapi
