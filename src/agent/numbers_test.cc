#include "agent/numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

namespace gs::agent {
namespace {

struct Placed {
  const char* address;  // "" none
  Counted counted = Counted::Yes;
  const char* above = "";
};

std::vector<Device> placedDevices(const std::vector<Placed>& all) {
  Hardware hardware;
  for (const Placed& one : all) {
    Gpu gpu;
    gpu.pci_bus_id = one.address;
    gpu.counted = one.counted;
    gpu.above = one.above;
    hardware.gpus.push_back(gpu);
  }
  return devicesOf(hardware);
}

struct NumbersCase {
  const char* name;
  std::vector<Placed> gpus;
  std::vector<Numbers> numbers;
};
class NumbersTable : public ::testing::TestWithParam<NumbersCase> {};
TEST_P(NumbersTable, Are) { EXPECT_EQ(numbersOf(placedDevices(GetParam().gpus)), GetParam().numbers); }
INSTANTIATE_TEST_SUITE_P(
    Table, NumbersTable,
    ::testing::Values(
        NumbersCase{"None", {}, {}}, NumbersCase{"AllThere", {{"1"}, {"2"}, {"3"}}, {{0, 0}, {1, 1}, {2, 2}}},
        NumbersCase{"OneIsNotListed", {{"1"}, {"2", Counted::No}, {"3"}}, {{0, 0}, {}, {1, 1}}},
        NumbersCase{"OneIsLost", {{"1"}, {"2", Counted::Maybe}, {"3"}}, {{0, 0}, {1, 1}, {1, 2}}},
        NumbersCase{"OneIsLostAndOneNotListed",
                    {{"1", Counted::Maybe}, {"2", Counted::No}, {"3"}, {"4"}},
                    {{0, 0}, {}, {0, 1}, {1, 2}}},
        NumbersCase{"OneIsLostSomewhere", {{"1"}, {"2"}, {"", Counted::Maybe}}, {{0, 1}, {1, 2}, {0, 2}}},
        NumbersCase{
            "OneIsLostAboveAnother", {{"1"}, {"2"}, {"", Counted::Maybe, "1"}}, {{0, 0}, {1, 2}, {1, 2}}},
        NumbersCase{"OneIsLostAboveAll", {{"1"}, {"2"}, {"", Counted::Maybe, "2"}}, {{0, 0}, {1, 1}, {2, 2}}},
        NumbersCase{"OneCannotSayWhereItIs", {{"1"}, {""}}, {{0, 1}, {0, 1}}},
        NumbersCase{"OnNoBus", {{""}, {""}}, {{0, 0}, {1, 1}}},
        NumbersCase{"OnNoBusAndLost", {{"", Counted::Maybe}, {""}}, {{0, 0}, {0, 1}}}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Numbers, AreSureOfOneThatIsCountedWhereItStands) {
  const auto all = placedDevices({{"1", Counted::Maybe}, {"2"}, {"3", Counted::No}, {"4"}});
  const auto numbers = numbersOf(all);
  for (std::size_t i = 0; i < all.size(); ++i) { EXPECT_FALSE(isSure(all[i], numbers[i])) << i; }
  const auto well = placedDevices({{"1"}, {"2"}});
  for (std::size_t i = 0; i < well.size(); ++i) { EXPECT_TRUE(isSure(well[i], numbersOf(well)[i])) << i; }
}

/// All orders in which the driver may count them, each as the places that it counts.
std::vector<std::vector<std::size_t>> waysToCount(const std::vector<Device>& all) {
  std::vector<std::vector<std::size_t>> ways{{}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Gpu& gpu = all[i].gpu;
    if (gpu.counted == Counted::No) { continue; }
    std::vector<std::vector<std::size_t>> next;
    for (const auto& way : ways) {
      if (gpu.counted == Counted::Maybe) { next.push_back(way); }
      for (std::size_t at = 0; at <= way.size(); ++at) {
        const bool is_last = at == way.size();
        if (!gpu.pci_bus_id.empty() && !is_last) { continue; }  // they come by their addresses
        const bool too_low =
            std::any_of(way.begin() + static_cast<std::ptrdiff_t>(at), way.end(), [&](auto k) {
              return !gpu.above.empty() && !all[k].gpu.pci_bus_id.empty() &&
                     all[k].gpu.pci_bus_id <= gpu.above;
            });
        if (too_low) { continue; }
        auto with = way;
        with.insert(with.begin() + static_cast<std::ptrdiff_t>(at), i);
        next.push_back(std::move(with));
      }
    }
    ways = std::move(next);
  }
  return ways;
}

RC_GTEST_PROP(NumbersProperty, AreThoseOfAllWaysToCount, ()) {
  const int placed = *rc::gen::inRange(1, 5);
  const int lost = *rc::gen::inRange(0, 3);
  Hardware hardware;
  for (int i = 0; i < placed + lost; ++i) {
    Gpu gpu;
    gpu.counted = *rc::gen::element(Counted::Yes, Counted::Yes, Counted::Maybe, Counted::No);
    if (i < placed) { gpu.pci_bus_id = std::to_string(i + 1); }
    if (i >= placed) {
      gpu.counted = *rc::gen::element(Counted::Yes, Counted::Maybe);
      gpu.above = *rc::gen::element(std::string{}, std::to_string(1 + *rc::gen::inRange(0, placed)));
    }
    hardware.gpus.push_back(gpu);
  }
  const auto all = devicesOf(hardware);
  std::vector<Numbers> want(all.size(), Numbers{1000, -1});
  for (const auto& way : waysToCount(all)) {
    for (std::size_t number = 0; number < way.size(); ++number) {
      Numbers& of = want[way[number]];
      of.first = std::min(of.first, static_cast<int>(number));
      of.last = std::max(of.last, static_cast<int>(number));
    }
  }
  for (Numbers& of : want) {
    if (of.last < 0) { of = {}; }
  }
  RC_ASSERT(numbersOf(all) == want);
}

}  // namespace
}  // namespace gs::agent
