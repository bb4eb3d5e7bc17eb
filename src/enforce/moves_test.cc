#include "enforce/moves.h"

#include <gtest/gtest.h>

#include <vector>

#include "enforce/fixture_test.h"

namespace gs::enforce {
namespace {

using fixture::gpu;
using fixture::Node;
using Moves = std::vector<Move>;

TEST(Moves, AreReadAsTheyArePrinted) {
  const Node node{4, true};
  const DeviceTable table{node.record};
  const Moves moves{{gpu(0), gpu(1)}, {{3, 1}, gpu(2)}};
  EXPECT_EQ(printMoves(moves, table), "GPU-0>GPU-1,MIG-3-1>GPU-2");
  EXPECT_EQ(readMoves(printMoves(moves, table), table), moves);
  EXPECT_EQ(printMoves({}, table), "");
  EXPECT_TRUE(readMoves("", table).empty());
}

TEST(Moves, WhatCannotBeReadIsLeftOut) {
  const Node node{4};
  const DeviceTable table{node.record};
  EXPECT_EQ(readMoves("x>GPU-1,GPU-0,>,GPU-1>,GPU-2>GPU-3, GPU-0>GPU-9", table), (Moves{{gpu(2), gpu(3)}}));
}

}  // namespace
}  // namespace gs::enforce
