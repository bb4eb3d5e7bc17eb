#include "model/gpu_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::model {
namespace {

using Of = GpuLimit::Of;

/// "0+2 2+1", and behind "=" the limit whose request serves this one too.
std::string ranges(const std::vector<GpuLimit>& limits) {
  std::string out;
  const auto all = rangesOf(limits);
  for (std::size_t i = 0; i < all.size(); ++i) {
    out += (out.empty() ? "" : " ") + std::to_string(all[i].first) + "+" + std::to_string(all[i].count);
    if (all[i].by != i) { out += "=" + std::to_string(all[i].by); }
  }
  return out;
}

TEST(GpuRanges, WhatRunsTogetherHasGpusOfItsOwn) {
  EXPECT_EQ(ranges({{"a", 2}, {"b", 2}, {"c", 1}}), "0+2 2+2 4+1");
  EXPECT_EQ(ranges({}), "");
}

TEST(GpuRanges, OneAfterTheOtherWithTheSameGpusShareARequest) {
  EXPECT_EQ(ranges({{"i", 8, Of::Init}, {"j", 8, Of::Init}, {"main", 8}}), "0+8 0+8=0 0+8=0");
  EXPECT_EQ(ranges({{"i", 1, Of::Init}, {"log", 1, Of::Sidecar}, {"j", 1, Of::Init}, {"main", 1}}),
            "0+1 0+1=0 1+1 1+1=2");
}

TEST(GpuRanges, WhoHasAPartHasARequestOfItsOwn) {
  EXPECT_EQ(ranges({{"i", 1, Of::Init}, {"j", 2, Of::Init}, {"main", 2}}), "0+1 0+2 0+2=1");
}

TEST(GpuRanges, ResultsAreThoseOfAllRequests) {
  EXPECT_EQ(resultsFor({}), 0U);
  EXPECT_EQ(resultsFor({{"a", 2}, {"b", 1}}), 3U);
  EXPECT_EQ(resultsFor({{"i", 8, Of::Init}, {"j", 8, Of::Init}, {"main", 8}}), 8U);
  EXPECT_EQ(resultsFor({{"i", 7, Of::Init}, {"j", 6, Of::Init}, {"main", 8}}), 21U);
}

}  // namespace
}  // namespace gs::model
