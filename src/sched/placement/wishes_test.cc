#include "sched/placement/wishes.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::sched {
namespace {

/// What all get where they differ in nothing: 3 * 100 for taints, 2 * 100 for spread.
constexpr std::int64_t kSame = 500;

struct WeighCase {
  const char* name;
  std::vector<NodeWish> nodes;
  std::vector<std::int64_t> weights;
};

NodeWish avoided(std::int64_t taints) { return {taints, 0, {}}; }
NodeWish liked(std::int64_t weight) { return {0, weight, {}}; }
NodeWish near(std::int64_t weight) { return {0, 0, {weight, 0, true}}; }
NodeWish beside(std::int64_t raw, bool is_counted = true) { return {0, 0, {0, raw, is_counted}}; }

class Weigh : public ::testing::TestWithParam<WeighCase> {};
TEST_P(Weigh, AsKubeSchedulerDoes) { EXPECT_EQ(weigh(GetParam().nodes), GetParam().weights); }
INSTANTIATE_TEST_SUITE_P(
    Table, Weigh,
    ::testing::Values(
        WeighCase{"Nobody", {}, {}}, WeighCase{"OneNode", {avoided(7)}, {200}},
        // 100 - 100 * n / 2, times 3
        WeighCase{"Taints", {avoided(0), avoided(1), avoided(2)}, {kSame, 350, 200}},
        // 100 * n / 80 = 0, 37, 100, times 2
        WeighCase{"NodeAffinity", {liked(0), liked(30), liked(80)}, {kSame, kSame + 74, kSame + 200}},
        // 100 * (5 + 2 - n) / 5 = 100, 40, 80, times 2
        WeighCase{"Spread", {beside(2), beside(5), beside(3)}, {500, 380, 460}},
        // 100 * (4 + 2 - n) / 4 = 100, none, 50
        WeighCase{"SpreadNeedsItsLabels", {beside(2), beside(0, false), beside(4)}, {500, 300, 400}},
        WeighCase{"SpreadNobodyThere", {beside(0), beside(0, false)}, {500, 300}},
        // 100 * (n + 10) / 15 = 0, 66, 100, times 2
        WeighCase{"PodAffinity", {near(-10), near(0), near(5)}, {kSame, kSame + 132, kSame + 200}},
        // 100 * (29 / 100) is a little below 29
        WeighCase{
            "PodAffinityInFloatingPoint", {near(0), near(29), near(100)}, {kSame, kSame + 56, kSame + 200}},
        WeighCase{"PodAffinityAllTheSame", {near(3), near(3)}, {kSame, kSame}},
        // 150 + 200 + 0 + 200; 300 + 0 + 200 + 200; 0 + 100 + 200 + 0
        WeighCase{"TheSum",
                  {{1, 10, {5, 4, false}}, {0, 0, {5, 4, true}}, {2, 5, {-5, 4, true}}},
                  {550, 700, 300}}),
    [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace gs::sched
