#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cel/selector.h"

namespace gs::cel {
namespace {

std::string times(const std::string& text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) { out += text; }
  return out;
}

/// As long as Kubernetes lets a driver's attributes be.
model::SliceDevice longDevice() {
  model::SliceDevice device;
  device.attributes[{"d", "uuid"}] = "GPU-" + times("0123456789abcdef", 4).substr(0, 60);
  device.attributes[{"d", "model"}] = times("ab", 32);
  device.attributes[{"d", "version"}] = *model::parseSemVer("550.54.14-" + times("a.", 26) + "a");
  return device;
}

/// One operation may pass kMaxCost, on a text as long as a selector; and each of those around it adds one.
constexpr std::uint64_t kMost = kMaxCost + 10'240 + 256;

struct Hostile {
  const char* name;
  std::string text;
  const char* refused;  // nullptr: it is read, and costs no more than others may
};
class HostileSelector : public testing::TestWithParam<Hostile> {};

TEST_P(HostileSelector, IsRefusedByNameOrCostsLittle) {
  const auto selector = Selector::parse(GetParam().text);
  if (GetParam().refused != nullptr) {
    ASSERT_FALSE(selector);
    const std::string& why = selector.error().message;
    EXPECT_NE(why.find("selector `" + GetParam().text.substr(0, 40)), std::string::npos) << why;
    EXPECT_NE(why.find(GetParam().refused), std::string::npos) << why;
    return;
  }
  ASSERT_TRUE(selector) << selector.error().message;
  std::uint64_t cost = 0;
  (void)selector->matches("d", longDevice(), &cost);
  EXPECT_GT(cost, 0U);
  EXPECT_LE(cost, kMost);
}

constexpr const char* kTooLarge = "matches() of a text that is no pattern of RE2, or of a large one";
const std::string kAbba = "'" + times("abba", 1'000) + "'";

/// `uses` of `part`, in which `a` stands for a text of so many bytes.
std::string withLong(const std::string& letter, std::size_t bytes, const std::string& part,
                     std::size_t uses) {
  return "cel.bind(a, '" + times(letter, bytes / letter.size()) + "', false" + times(part, uses) + ")";
}

std::string alternatives(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) { out += "a[ab]{" + std::to_string(999 - i) + "}|"; }
  return out + "b";
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, HostileSelector,
    testing::Values(
        Hostile{"LargeProgram", kAbba + ".matches('(a[ab]{999}|b)c') || true", nullptr},
        Hostile{"LargeProgramOfAttributes",
                "false" + times(" || device.attributes.d.model.matches('(a[ab]{999}|b)c')", 3), nullptr},
        Hostile{"LargeProgramAgain",
                "false" + times(" || device.attributes.d.model.matches('a[ab]{999}c')", 5), kTooLarge},
        Hostile{"ManyLargeOnes", kAbba + ".matches('(" + alternatives(16) + ")c') || true", kTooLarge},
        Hostile{"SixteenInOne", "false" + times(" || 'a'.matches('[ab]{300}')", 16), kTooLarge},
        Hostile{"Repeated", "'a'.matches('" + times("a{1000}", 1'000) + "')", kTooLarge},
        Hostile{"RepeatedOfRepeated", "'a'.matches('" + times("((a{10}){10}){10}", 5) + "')", kTooLarge},
        Hostile{"Optional", "'a'.matches('" + times("a?", 3'000) + "')", kTooLarge},
        Hostile{"OptionalButFewer", kAbba + ".matches('" + times("a?", 1'500) + "')", nullptr},
        Hostile{"ClassesOfUnicode", "'a'.matches('(?i)" + times("\\\\pL", 20) + "')", kTooLarge},
        Hostile{"OneClassOfMany", "'a'.matches('(?i)[" + times("\\\\PL\\\\pN", 20) + "]')", kTooLarge},
        Hostile{"WideRanges", kAbba + ".matches('(?i)[" + times("A-\\\\x{fffff}", 100) + "]')", nullptr},
        Hostile{"OfALongText", withLong("abba", 5'000, " || a.matches('(a|b)*a(a|b){20}c')", 16), nullptr},
        Hostile{"LongPattern", kAbba + ".matches('" + times("(a|b)", 700) + "')", nullptr}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    LongTexts, HostileSelector,
    testing::Values(
        Hostile{"Contains", withLong("x", 6'000, " || a.contains('" + times("x", 2'000) + "y')", 1), nullptr},
        Hostile{"ContainsItself", withLong("x", 3'000, " || (a.contains(a) ? false : true)", 200), nullptr},
        Hostile{"LowerAscii", withLong("X", 5'000, " || a.lowerAscii() == 'x'", 200), nullptr},
        Hostile{"LowerAsciiNested", withLong("X", 5'000, " || a" + times(".lowerAscii()", 55) + " == 'x'", 6),
                nullptr},
        Hostile{"Compared", withLong("x", 5'000, " || a != a", 500), nullptr},
        Hostile{"Counted", withLong("x", 5'000, " || a.size() == 1", 280), nullptr},
        Hostile{"StartsWith", withLong("x", 5'000, " || !a.startsWith(a)", 240), nullptr},
        Hostile{"Versions", withLong("1.", 5'000, " || isSemver(a)", 300), nullptr},
        Hostile{"NoQuantities", withLong("0", 5'000, " || !isQuantity(a)", 280), nullptr},
        Hostile{"Domains", withLong("d", 5'000, " || a in device.attributes", 180), nullptr},
        Hostile{"Names", withLong("d", 5'000, " || a in device.attributes.d", 170), nullptr},
        Hostile{"ADomainOften",
                "cel.bind(m, device.attributes['" + times("d", 4'900) + "'], false" +
                    times(" || has(m.a)", 400) + ")",
                nullptr},
        Hostile{
            "AVersionOften",
            "cel.bind(v, semver('1.0.0-" + times("a.", 2'000) + "a'), false" + times(" || v != v", 500) + ")",
            nullptr},
        Hostile{"AVersionInAList",
                "cel.bind(v, semver('1.0.0-" + times("a.", 2'000) + "a'), device.attributes.d.version in [v" +
                    times(", v", 1'500) + "])",
                nullptr},
        Hostile{"ManyOperations", "false" + times(" || !true", 1'000), nullptr},
        Hostile{"ManyErrors", "false" + times(" || device.attributes.d.b", 400), nullptr}),
    [](const auto& each) { return each.param.name; });

// What people write, on devices with the longest attributes that there are.
TEST(Cost, WhatIsMeantWellIsReadAndCostsLittle) {
  std::string uuids;
  for (int i = 0; i < 64; ++i) {
    uuids += (i == 0 ? "" : "|") + std::string{"GPU-5f1b7c"} + std::to_string(10 + i) +
             "-9a3e-4d2f-8b6c-0123456789" + std::to_string(10 + i);
  }
  struct {
    std::string text;
    std::uint64_t most;
  } const cases[] = {
      {"device.driver == 'd' && device.attributes['d'].model == 'H100'", 20},
      {"device.attributes['d'].model.lowerAscii().matches('^.*a100.*$')", 1'000},
      {"device.attributes['d'].model.matches('(?i)nvidia[ -](a|h|b)[1-3]00( |-)(40|80|141)gb')", 3'000},
      {"device.attributes['d'].model.matches('^.{0,63}$') && device.driver.matches('^[a-z.]+$')", 15'000},
      {"device.attributes['d'].uuid.matches('^(" + uuids + ")$')", 50'000},
      {"device.attributes['d'].version.isGreaterThan(semver('550.0.0'))", 100},
      {"device.attributes['d'].model.matches('\\\\p{Lu}+ \\\\p{L}+')", 50'000},
  };
  for (const auto& one : cases) {
    const auto selector = Selector::parse(one.text);
    ASSERT_TRUE(selector) << selector.error().message;
    std::uint64_t cost = 0;
    const Outcome outcome = selector->matches("d", longDevice(), &cost);
    EXPECT_EQ(outcome.error, "") << one.text;
    EXPECT_LE(cost, one.most) << one.text;
  }
}

/// The largest patterns that are read, of the longest attribute.
TEST(Cost, NoPatternOfAnAttributeCostsTooMuch) {
  for (const std::string& pattern :
       {std::string{"[ab]{1000}[ab]{1000}[ab]{1000}[ab]{1000}"}, times("(a|bb)", 600),
        std::string(4'000, 'a'), std::string{"\\\\pL\\\\pL"}}) {
    const auto selector = Selector::parse("device.attributes.d.model.matches('" + pattern + "') || true");
    ASSERT_TRUE(selector) << selector.error().message;
    EXPECT_EQ(selector->matches("d", longDevice()), (Outcome{true, ""})) << pattern.substr(0, 40);
  }
}

// A name may stand for a long text, and be used again and again.
TEST(Cost, EndsTheSelectorWhereItIsTooMuch) {
  const auto with = [](std::size_t uses) {
    std::string text =
        "cel.bind(a, '" + std::string(3000, 'x') + "', cel.bind(b, '" + std::string(3000, 'x') + "y', false";
    for (std::size_t i = 0; i < uses; ++i) { text += " || a.contains(b)"; }
    return Selector::parse(text + " || true))")->matches("d", longDevice());
  };
  EXPECT_EQ(with(5), (Outcome{true, ""}));
  EXPECT_EQ(with(6), (Outcome{false, "it costs too much: it does much with long texts"}));
}

TEST(Cost, IsAddedUp) {
  const auto selector = Selector::parse("device.driver == 'd'");
  std::uint64_t cost = 0;
  (void)selector->matches("d", longDevice(), &cost);
  const std::uint64_t once = cost;
  EXPECT_EQ(once, 3U) << "one for each operation";
  (void)selector->matches("d", longDevice(), &cost);
  EXPECT_EQ(cost, 2 * once);
}

TEST(Cost, PatternsOfSeveralSelectorsAreBoundedTogether) {
  std::size_t left = kMaxPatterns;
  const std::string text = "'a'.matches('[ab]{1000}')";
  for (int i = 0; i < 4; ++i) { EXPECT_TRUE(Selector::parse(text, left)) << i; }
  EXPECT_GT(left, 0U);
  EXPECT_LT(left, 100U);
  const auto last = Selector::parse(text, left);
  ASSERT_FALSE(last);
  EXPECT_NE(last.error().message.find("selector `" + text + "`: at 4: " + kTooLarge), std::string::npos)
      << last.error().message;
  EXPECT_EQ(left, 0U);
  EXPECT_TRUE(Selector::parse("true", left)) << "without patterns";
}

}  // namespace
}  // namespace gs::cel
