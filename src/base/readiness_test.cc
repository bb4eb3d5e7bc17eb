#include "base/readiness.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Readiness, IsReadyWhileAllThatItNeedsIsFine) {
  Readiness one;
  EXPECT_TRUE(one.ready);
  one.note("limits", "a device plugin offers nvidia.com/gpu");
  one.need("pods", true, "");
  EXPECT_TRUE(one.ready) << "it goes on without what is only noted";
  one.need("store", false, "", "not opened yet");
  one.need("role", true, "leader");
  EXPECT_FALSE(one.ready);
  EXPECT_EQ(one.text(),
            "limits: a device plugin offers nvidia.com/gpu\npods: ok\nstore: not opened yet\nrole: leader\n");
}

TEST(Readiness, OfSeveralIsThatOfAll) {
  Readiness both;
  both.note("a", "");
  Readiness more;
  more.need("b", false, "no", "not yet");
  both.add(more);
  EXPECT_FALSE(both.ready);
  both.add({});
  EXPECT_FALSE(both.ready);
  EXPECT_EQ(both.text(), "a: ok\nb: no\n");
}

}  // namespace
}  // namespace gs
