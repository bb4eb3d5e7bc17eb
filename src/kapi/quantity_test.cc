#include "kapi/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gs::kapi {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
using Maybe = std::optional<std::int64_t>;

struct QuantityCase {
  const char* text;
  Maybe units;
  Maybe milli;
};
class QuantityTable : public testing::TestWithParam<QuantityCase> {};
TEST_P(QuantityTable, Reads) {
  const auto units = quantityUnits(GetParam().text);
  const auto milli = quantityMilli(GetParam().text);
  EXPECT_EQ(units ? Maybe{*units} : Maybe{}, GetParam().units);
  EXPECT_EQ(milli ? Maybe{*milli} : Maybe{}, GetParam().milli);
}
INSTANTIATE_TEST_SUITE_P(
    Forms, QuantityTable,
    testing::Values(
        QuantityCase{"0", 0, 0}, QuantityCase{"1", 1, 1000}, QuantityCase{"100m", 1, 100},
        QuantityCase{"1001m", 2, 1001}, QuantityCase{"0.5", 1, 500}, QuantityCase{".5", 1, 500},
        QuantityCase{"5.", 5, 5000}, QuantityCase{"0.0001", 1, 1}, QuantityCase{"1.0001", 2, 1001},
        QuantityCase{"1n", 1, 1}, QuantityCase{"999999999n", 1, 1000}, QuantityCase{"1u", 1, 1},
        QuantityCase{"1500u", 1, 2}, QuantityCase{"2k", 2000, 2'000'000},
        QuantityCase{"1Ki", 1024, 1'024'000}, QuantityCase{"1.5Ki", 1536, 1'536'000},
        QuantityCase{"0.1Ki", 103, 102'400}, QuantityCase{"1Mi", 1 << 20, 1'048'576'000},
        QuantityCase{"1M", 1'000'000, 1'000'000'000},
        QuantityCase{"512Gi", 549'755'813'888, 549'755'813'888'000},
        QuantityCase{"1Ti", 1LL << 40, 1'099'511'627'776'000},
        QuantityCase{"1Pi", 1LL << 50, 1'125'899'906'842'624'000}, QuantityCase{"2e3", 2000, 2'000'000},
        QuantityCase{"2E3", 2000, 2'000'000}, QuantityCase{"2e+3", 2000, 2'000'000},
        QuantityCase{"2e-3", 1, 2}, QuantityCase{"1E", 1'000'000'000'000'000'000, std::nullopt},
        QuantityCase{"1e0", 1, 1000}, QuantityCase{"+5", 5, 5000}, QuantityCase{"-5", -5, -5000},
        QuantityCase{"-1m", -1, -1}, QuantityCase{"-1500m", -2, -1500}, QuantityCase{"00012", 12, 12'000},
        QuantityCase{"1.50", 2, 1500}, QuantityCase{"0e1000", 0, 0}, QuantityCase{"1e-1000", 1, 1}));
INSTANTIATE_TEST_SUITE_P(Edges, QuantityTable,
                         testing::Values(QuantityCase{"9223372036854775807", kMost, std::nullopt},
                                         QuantityCase{"9223372036854775808", {}, {}},
                                         QuantityCase{"-9223372036854775808", kLeast, std::nullopt},
                                         QuantityCase{"-9223372036854775809", {}, {}},
                                         QuantityCase{"9223372036854775807m", 9'223'372'036'854'776, kMost},
                                         QuantityCase{"9223372036854775808m", 9'223'372'036'854'776, {}},
                                         QuantityCase{"9223372036854775.807", 9'223'372'036'854'776, kMost},
                                         QuantityCase{"9223372036854775.8071", {}, {}},  // 20 digits
                                         QuantityCase{"9223372036854775.808", 9'223'372'036'854'776, {}},
                                         QuantityCase{"7Ei", 8'070'450'532'247'928'832, {}},
                                         QuantityCase{"8Ei", {}, {}}, QuantityCase{"-8Ei", kLeast, {}},
                                         QuantityCase{"9E", 9'000'000'000'000'000'000, {}},
                                         QuantityCase{"10E", {}, {}},
                                         QuantityCase{"9223372036854775806.5", {}, {}},
                                         QuantityCase{"92233720368547758.65", 92'233'720'368'547'759, {}},
                                         QuantityCase{"1e18", 1'000'000'000'000'000'000, {}},
                                         QuantityCase{"1e19", {}, {}}, QuantityCase{"1e1000", {}, {}}));
INSTANTIATE_TEST_SUITE_P(
    Malformed, QuantityTable,
    testing::Values(QuantityCase{"", {}, {}}, QuantityCase{".", {}, {}}, QuantityCase{"-", {}, {}},
                    QuantityCase{"m", {}, {}}, QuantityCase{"1 ", {}, {}}, QuantityCase{" 1", {}, {}},
                    QuantityCase{"1K", {}, {}}, QuantityCase{"1ki", {}, {}}, QuantityCase{"1mi", {}, {}},
                    QuantityCase{"1e", {}, {}}, QuantityCase{"1e+", {}, {}}, QuantityCase{"1e1.5", {}, {}},
                    QuantityCase{"1.2.3", {}, {}}, QuantityCase{"0x10", {}, {}}, QuantityCase{"--1", {}, {}},
                    QuantityCase{"1Gi2", {}, {}}, QuantityCase{"e5", {}, {}}, QuantityCase{"1e--5", {}, {}},
                    QuantityCase{"1e+-5", {}, {}}, QuantityCase{"1e9999999999999", {}, {}},
                    QuantityCase{"∞", {}, {}}));

TEST(Quantity, ReadsAJsonTextOrNumber) {
  EXPECT_EQ(unitsOf(json::Value{"2Ki"}), 2048);
  EXPECT_EQ(unitsOf(json::Value{3}), 3);
  EXPECT_EQ(milliOf(json::Value{0.25}), 250);
  EXPECT_EQ(unitsOf(json::Value{2.0}), 2);
  EXPECT_FALSE(unitsOf(json::Value{}));
  EXPECT_FALSE(unitsOf(json::Value{true}));
}

TEST(Quantity, ErrorNamesTheValue) {
  EXPECT_EQ(quantityUnits("many").error().code, Code::Invalid);
  EXPECT_NE(quantityUnits("many").error().message.find("'many'"), std::string::npos);
  EXPECT_NE(quantityUnits("8Ei").error().message.find("'8Ei'"), std::string::npos);
}

struct ExactCase {
  const char* text;
  std::optional<model::Quantity> exact;
};
class ExactQuantity : public testing::TestWithParam<ExactCase> {};
TEST_P(ExactQuantity, IsToTheBillionth) {
  const auto exact = exactQuantity(GetParam().text);
  EXPECT_EQ(exact ? std::optional{*exact} : std::nullopt, GetParam().exact) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(
    Table, ExactQuantity,
    testing::Values(
        ExactCase{"0", model::Quantity{0, 0}}, ExactCase{"40Gi", model::Quantity{42'949'672'960, 0}},
        ExactCase{"1.5", model::Quantity{1, 500'000'000}},
        ExactCase{"1500m", model::Quantity{1, 500'000'000}}, ExactCase{"1n", model::Quantity{0, 1}},
        ExactCase{"1.1n", model::Quantity{0, 2}}, ExactCase{"0.9999999999", model::Quantity{1, 0}},
        ExactCase{"1e-30", model::Quantity{0, 1}}, ExactCase{"0.1Ki", model::Quantity{102, 400'000'000}},
        ExactCase{"-1", model::Quantity{-1, 0}}, ExactCase{"-0.5", model::Quantity{-1, 500'000'000}},
        ExactCase{"-1.25", model::Quantity{-2, 750'000'000}},
        ExactCase{"-0.1n", model::Quantity{-1, 999'999'999}},
        ExactCase{"9223372036854775807", model::Quantity{kMost, 0}}, ExactCase{"9223372036854775808", {}},
        ExactCase{"-9223372036854775808", model::Quantity{kLeast, 0}}, ExactCase{"-9223372036854775809", {}},
        ExactCase{"922337203685477580.7", model::Quantity{kMost / 10, 700'000'000}}, ExactCase{"8Ei", {}},
        ExactCase{"1e1000", {}}, ExactCase{"", {}}, ExactCase{"1K", {}}));

TEST(ExactQuantity, ErrorNamesTheValue) {
  EXPECT_EQ(exactQuantity("many").error().code, Code::Invalid);
  EXPECT_NE(exactQuantity("many").error().message.find("'many'"), std::string::npos);
  EXPECT_NE(exactQuantity("8Ei").error().message.find("'8Ei' is over 64 bits"), std::string::npos);
}

TEST(QuantityProperty, ExactOrderIsThatOfTheMilli) {
  EXPECT_TRUE(rc::check([] {
    static const std::vector<std::string> kSuffix{"", "m", "k", "Ki", "Mi", "e3", "e-3"};
    const auto text = [] {
      return std::to_string(*rc::gen::inRange<std::int64_t>(-2000, 2000)) + *rc::gen::elementOf(kSuffix);
    };
    const std::string a = text();
    const std::string b = text();
    RC_ASSERT((*exactQuantity(a) <=> *exactQuantity(b)) == (*quantityMilli(a) <=> *quantityMilli(b)));
  }));
}

TEST(QuantityProperty, WholeNumbersAreThemselves) {
  EXPECT_TRUE(rc::check([](std::int64_t n) { RC_ASSERT(*quantityUnits(std::to_string(n)) == n); }));
}

TEST(QuantityProperty, MilliIsRoundedUpToUnits) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
    const std::string text = std::to_string(n) + "m";
    RC_ASSERT(*quantityMilli(text) == n);
    RC_ASSERT(*quantityUnits(text) == (n + 999) / 1000);
  }));
}

TEST(QuantityProperty, BinaryFractionsAreExact) {
  EXPECT_TRUE(rc::check([] {
    const auto quarters = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    static const char* const kQuarter[] = {"", ".25", ".5", ".75"};
    const std::string text = std::to_string(quarters / 4) + kQuarter[quarters % 4] + "Gi";
    RC_ASSERT(*quantityUnits(text) == quarters * (std::int64_t{1} << 28));
  }));
}

struct FormCase {
  const char* text;
  const char* canonical;
};
class QuantityForm : public testing::TestWithParam<FormCase> {};
TEST_P(QuantityForm, IsThatOfTheApiServer) {
  EXPECT_EQ(canonicalQuantity(GetParam().text), GetParam().canonical) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(
    Canonical, QuantityForm,
    testing::Values(FormCase{"1Ki", "1Ki"}, FormCase{"1024", "1024"}, FormCase{"0.5Gi", "512Mi"},
                    FormCase{"1024Mi", "1Gi"}, FormCase{"1000", "1k"}, FormCase{"1000m", "1"},
                    FormCase{"0.5", "500m"}, FormCase{"-0.5", "-500m"}, FormCase{"0.0001", "100u"},
                    FormCase{"1.1n", "2n"}, FormCase{"1e3", "1e3"}, FormCase{"1000e3", "1e6"},
                    FormCase{"0.5Ki", "512"}, FormCase{"1.7Ki", "1740800m"}, FormCase{"0Ki", "0"},
                    FormCase{"0e7", "0"}, FormCase{"1E", "1E"}, FormCase{"100Ei", "9223372036854775807"}));

TEST(QuantityFormProperty, SaysTheSameAndIsItsOwn) {
  EXPECT_TRUE(rc::check([] {
    static const std::vector<std::string> kSuffix{"", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-3"};
    const auto n = *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
    const std::string text = std::to_string(n) + *rc::gen::elementOf(kSuffix);
    const auto canonical = canonicalQuantity(text);
    RC_ASSERT(canonical.has_value());
    RC_ASSERT(quantityMilli(*canonical).value() == quantityMilli(text).value());
    RC_ASSERT(canonicalQuantity(*canonical) == canonical);
  }));
}

}  // namespace
}  // namespace gs::kapi
