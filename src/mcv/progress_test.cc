#include "mcv/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace gs::mcv {
namespace {

using std::chrono::milliseconds;

TEST(Progress, TheTextSaysBytesPercentAndRate) {
  EXPECT_EQ(progressText("extracting", 12'897'485, 47'815'066, 8'493'466),
            "extracting  12.3 MiB of 45.6 MiB  26%  8.1 MiB/s");
  EXPECT_EQ(progressText("pushing", 0, 0, 0), "pushing  0 B");
  EXPECT_EQ(progressText("pushing", 1023, 1024, 1), "pushing  1023 B of 1.0 KiB  99%  1 B/s");
  EXPECT_EQ(progressText("pushing", 300, 200, 0), "pushing  300 B of 200 B  100%");  // some were sent again
  EXPECT_EQ(progressText("x", std::int64_t{5} << 30, std::int64_t{7} << 40, 0), "x  5.0 GiB of 7.0 TiB  0%");
}

class ProgressLine : public ::testing::Test {
 protected:
  std::string taken() {
    std::string out = to_.str();
    to_.str("");
    return out;
  }
  ManualClock clock_;
  std::ostringstream to_;
};

TEST_F(ProgressLine, ComesWhenItTakesLongChangesFourTimesASecondAndGoes) {
  Progress progress{clock_, &to_};
  progress.begin("extracting", 4096);
  progress.add(1024);
  clock_.advance(milliseconds{249});
  progress.add(1024);
  EXPECT_EQ(taken(), "");
  clock_.advance(milliseconds{251});
  progress.add(0);
  EXPECT_EQ(taken(), "\r\x1b[Kextracting  2.0 KiB of 4.0 KiB  50%  4.0 KiB/s");
  int lines = 0;
  for (int i = 0; i < 1000; ++i) {
    clock_.advance(milliseconds{1});
    progress.add(1);
    lines += taken().empty() ? 0 : 1;
  }
  EXPECT_EQ(lines, 4);
  progress.end();
  EXPECT_EQ(taken(), "\r\x1b[K");
  progress.end();
  EXPECT_EQ(taken(), "");
}

TEST_F(ProgressLine, TheNextThingBeginsAtNothing) {
  {
    Progress progress{clock_, &to_};
    progress.begin("one", 10);
    clock_.advance(milliseconds{500});
    progress.add(10);
    (void)taken();
    progress.begin("two", 10);
    EXPECT_EQ(taken(), "\r\x1b[K");
    clock_.advance(milliseconds{500});
    progress.add(5);
    EXPECT_EQ(taken(), "\r\x1b[Ktwo  5 B of 10 B  50%  10 B/s");
  }
  EXPECT_EQ(taken(), "\r\x1b[K");
}

TEST_F(ProgressLine, WithoutATerminalThereIsNone) {
  Progress progress{clock_, nullptr};
  progress.begin("extracting", 10);
  clock_.advance(milliseconds{500});
  progress.add(10);
  progress.end();
  EXPECT_EQ(taken(), "");
}

}  // namespace
}  // namespace gs::mcv
