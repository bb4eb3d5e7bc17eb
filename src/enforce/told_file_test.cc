#include "enforce/told_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "enforce/cdi/index.h"
#include "enforce/fixture_test.h"

namespace gs::enforce {
namespace {

TEST(ToldFile, IsAGoodCdiFileWithADeviceForEachNumber) {
  const auto spec = cdi::readSpec("/var/run/cdi/told.json", toldFile());
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->devices.size(), kMostTold + 1);
  const cdi::Index index = fixture::indexOf({}, {false, true, true});
  for (const std::size_t gpus : {std::size_t{0}, std::size_t{1}, kMostTold}) {
    EXPECT_TRUE(index.find(toldDevice(gpus))) << toldDevice(gpus);
  }
  const auto three = index.find(toldDevice(3));
  ASSERT_TRUE(three);
  const auto& env = three->device->edits.env;
  EXPECT_NE(std::find(env.begin(), env.end(), "CUDA_VISIBLE_DEVICES=0,1,2"), env.end());
  EXPECT_NE(std::find(env.begin(), env.end(), "NVIDIA_VISIBLE_DEVICES=void"), env.end());
}

}  // namespace
}  // namespace gs::enforce
