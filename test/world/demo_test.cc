// What `gpu-sandbox demo` prints is right, word by word: the tour of `make demo` where there is no kubectl.
#include "sandbox/serve/demo.h"

#include <gtest/gtest.h>

#include <sstream>

namespace gs::test {
namespace {

TEST(Demo, EveryOutputIsAsItShouldBe) {
  std::ostringstream out;
  EXPECT_TRUE(sandbox::runDemo(out)) << out.str();
}

}  // namespace
}  // namespace gs::test
