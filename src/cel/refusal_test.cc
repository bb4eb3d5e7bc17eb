#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cel/selector.h"

namespace gs::cel {
namespace {

std::string refusalOf(const std::string& text) {
  const auto selector = Selector::parse(text);
  if (selector) { return "served"; }
  EXPECT_EQ(selector.error().code, Code::Invalid);
  return selector.error().message;
}

TEST(Refusal, NamesTheConstructItsPlaceAndWhatIsServed) {
  const std::string why = refusalOf("device.attributes['x'].map(y, y)");
  EXPECT_EQ(why.substr(0, why.find(';')),
            "selector `device.attributes['x'].map(y, y)`: at 23: .map() is not served in selectors");
  EXPECT_NE(why.find("served are device.driver, device.attributes"), std::string::npos) << why;
}

struct RefusalCase {
  const char* text;
  const char* why;
};
class RefusalTable : public testing::TestWithParam<RefusalCase> {};
TEST_P(RefusalTable, Says) {
  const std::string why = refusalOf(GetParam().text);
  EXPECT_NE(why.find(std::string{"`: "} + GetParam().why), std::string::npos) << GetParam().text << "\n"
                                                                              << why;
}

INSTANTIATE_TEST_SUITE_P(
    NotServed, RefusalTable,
    testing::Values(
        RefusalCase{"1 + 1 == 2", "at 3: '+' is not served"},
        RefusalCase{"1 - 1 == 0", "at 3: '-' between two values is not served"},
        RefusalCase{"1.5 == 1", "at 1: a number with a fraction or an exponent is not served"},
        RefusalCase{"1e3 == 1", "at 1: a number with a fraction"},
        RefusalCase{".5 == 1", "at 1: a number with a fraction"},
        RefusalCase{"1u == 1", "at 1: an unsigned number is not served"},
        RefusalCase{"device.driver == b'x'", "at 18: the literal b\"\" is not served"},
        RefusalCase{"device.driver == null", "at 18: null is not served"},
        RefusalCase{"{} == {}", "at 1: '{' is not served"},
        RefusalCase{"device.attributes['x'].`a-b` == 1", "at 24: '`' is not served"},
        RefusalCase{"device.attributes[?'x'].y == 1", "at 19: '?' of optional values is not served"},
        RefusalCase{"device.attributes.?x.y == 1", "at 19: '?' of optional values is not served"},
        RefusalCase{"device == device", "at 1: device alone is not served"},
        RefusalCase{"device.name == 'x'", "at 1: device.name is not served"},
        RefusalCase{"device.allowMultipleAllocations", "at 1: device.allowMultipleAllocations is not served"},
        RefusalCase{"has(device.driver)", "at 1: has() of anything but map.name is not served"},
        RefusalCase{"has(device.attributes['x']['y'])", "at 1: has() of anything but map.name is not served"},
        RefusalCase{"node.name == 'x'", "at 1: the name 'node' is not served"},
        RefusalCase{"string(1) == '1'", "at 1: string() is not served"},
        RefusalCase{"matches('a', 'b')", "at 1: matches() is not served"},
        RefusalCase{"'a'.matches(device.driver)",
                    "at 4: matches() of anything but a text that is written there"},
        RefusalCase{"semver('1', true).major() == 1", "at 1: semver() with 2 values between its parentheses"},
        RefusalCase{"device.attributes['x'].exists(k, k == 'a')", "at 23: .exists() is not served"},
        RefusalCase{"cel.'bind'(x, 1, true)", "at 1: the name 'cel' is not served"},
        RefusalCase{"cel.bind(x, [1], 1 in x)", "at 10: cel.bind() of a list is not served"},
        RefusalCase{"cel.bind(device, 1, true)", "at 10: cel.bind() of the name 'device' is not served"}));

INSTANTIATE_TEST_SUITE_P(
    Malformed, RefusalTable,
    testing::Values(RefusalCase{"", "at 1: it ends where a value should be"},
                    RefusalCase{"1 == ", "at 6: it ends where a value should be"},
                    RefusalCase{"(true", "at 6: it ends where ')' should be"},
                    RefusalCase{"true true", "at 6: the end of the selector should be here"},
                    RefusalCase{"true ? true", "at 12: it ends where ':' should be"},
                    RefusalCase{"true ? true ? true : true : true", "at 13: ':' should be here"},
                    RefusalCase{"device.attributes['x'", "at 22: it ends where ']' should be"},
                    RefusalCase{"1 in [1", "at 8: it ends where ']' should be"},
                    RefusalCase{"'a'.startsWith('a',)", "at 20: a value should be here"},
                    RefusalCase{"device.attributes['x'].in == 1", "at 24: a name should be here"},
                    RefusalCase{"-!true", "at 2: a value should be here"},
                    RefusalCase{"!-device.driver", "at 2: '-' between two values is not served"},
                    RefusalCase{"for == 1", "at 1: 'for' is a word that CEL keeps for itself"},
                    RefusalCase{"'a", "at 1: a text without its closing quote"},
                    RefusalCase{"'a\n' == 'a'", "at 1: a text without its closing quote"},
                    RefusalCase{"'\\d' == 'a'", "at 2: an escape that CEL does not have"},
                    RefusalCase{"'\\ud800' == 'a'", "at 2: an escape that CEL does not have"},
                    RefusalCase{"'\\400' == 'a'", "at 2: an escape that CEL does not have"},
                    RefusalCase{"true & true", "at 6: a character that begins nothing in CEL"},
                    RefusalCase{"9223372036854775808 > 0", "at 1: a number over 64 bits"},
                    RefusalCase{"---9223372036854775808 < 0", "at 4: a number over 64 bits"},
                    RefusalCase{"-9223372036854775809 < 0", "at 2: a number over 64 bits"},
                    RefusalCase{"'a'.matches('(')", "at 4: matches() of a text that is no pattern of RE2"}));

// What Kubernetes refuses to store, because the types can never fit.
INSTANTIATE_TEST_SUITE_P(
    Types, RefusalTable,
    testing::Values(
        RefusalCase{"1 == '1'", "at 3: '==' does not take (int, string)"},
        RefusalCase{"device.driver == 1", "at 15: '==' does not take (string, int)"},
        RefusalCase{"device.driver", "at 1: it says neither true nor false, but is a string"},
        RefusalCase{"1 in ['a']", "at 3: 'in' does not take (int, list)"},
        RefusalCase{"1 in device.attributes", "at 3: 'in' does not take (int, map of domains)"},
        RefusalCase{"1 in device.attributes['x'].y", "at 3: 'in' does not take (int, dyn)"},
        RefusalCase{"1 in [1, 'a']", "at 6: '[]' does not take (int, string)"},
        RefusalCase{"1 in [1, device.attributes['x'].y]", "at 6: '[]' does not take (int, dyn)"},
        RefusalCase{"[1] == [1]", "at 5: '==' does not take (list, list)"},
        RefusalCase{"device.attributes == device.attributes",
                    "at 19: '==' does not take (map of domains, map of domains)"},
        RefusalCase{"device.attributes[1].x == 1", "at 18: '[]' does not take (map of domains, int)"},
        RefusalCase{"device.driver.x == 1", "at 14: '.x' does not take (string, string)"},
        RefusalCase{"device.attributes['x'].y.z == 1", "at 25: '.z' does not take (dyn, string)"},
        RefusalCase{"!device.driver", "at 1: '!' does not take (string)"},
        RefusalCase{"true && 1", "at 1: '&&' does not take (bool, int)"},
        RefusalCase{"-'a' == 1", "at 1: '-' does not take (string)"},
        RefusalCase{"(true ? 1 : 'a') == 1", "at 7: '?:' does not take (bool, int, string)"},
        RefusalCase{"device.capacity['x'].y < quantity('1')",
                    "at 24: '<' does not take (kubernetes.Quantity, kubernetes.Quantity)"},
        RefusalCase{"device.capacity['x'].y == 1", "at 24: '==' does not take (kubernetes.Quantity, int)"},
        RefusalCase{"device.capacity['x'].y.isLessThan(1)",
                    "at 23: 'isLessThan()' does not take (kubernetes.Quantity, int)"},
        RefusalCase{"semver('1.0.0').compareTo(quantity('1')) == 0",
                    "at 16: 'compareTo()' does not take (kubernetes.Semver, kubernetes.Quantity)"},
        RefusalCase{"size(1) == 1", "at 1: 'size()' does not take (int)"},
        RefusalCase{"'a'.startsWith(1)", "at 4: 'startsWith()' does not take (string, int)"}));

std::string many(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) { out += text; }
  return out;
}

// Each way to nest: 60 are served, and thousands are refused before anything recurses over them.
TEST(Refusal, NestingIsBounded) {
  const auto nested = [](std::size_t n) {
    return std::vector<std::string>{
        many("(", n) + "true" + many(")", n),
        many("true ? true : ", n) + "true",
        many("true == ", n) + "true",
        "size('a'" + many(".lowerAscii()", n) + ") == 1",
        many("cel.bind(a, ", n) + "true" + many(", a)", n),
        "device.attributes[device.driver" + many(".lowerAscii()", n) + "].a == 1",
        many("!(", n) + "true" + many(")", n),
    };
  };
  for (const auto& text : nested(60)) { EXPECT_EQ(refusalOf(text), "served"); }
  for (const auto& text : nested(65)) {
    EXPECT_NE(refusalOf(text).find("nested deeper than 64"), std::string::npos);
  }
  for (const auto& text : nested(600)) {
    EXPECT_NE(refusalOf(text).find("nested deeper than 64"), std::string::npos);
  }
  // A use of a name is as deep as what it stands for.
  std::string chain = "cel.bind(a0, 'x'.lowerAscii(), ";
  for (int i = 1; i < 40; ++i) {
    chain += "cel.bind(a" + std::to_string(i) + ", a" + std::to_string(i - 1) + ".lowerAscii(), ";
  }
  EXPECT_NE(refusalOf(chain + "a39 == 'x'" + many(")", 40)).find("nested deeper"), std::string::npos);
  // What stands side by side is not nested.
  EXPECT_EQ(refusalOf("true" + many(" && true", 700)), "served");
  EXPECT_EQ(refusalOf("1 in [1" + many(", 1", 3000) + "]"), "served");
}

TEST(Refusal, LengthAndPatternsAreBounded) {
  const std::string most = "true//" + std::string(10 * 1024 - 6, 'x');
  EXPECT_EQ(refusalOf(most), "served");
  EXPECT_NE(refusalOf(most + "x").find("it has 10241 bytes; at most 10240"), std::string::npos);
  const std::string pattern = " && 'a'.matches('a')";
  EXPECT_EQ(refusalOf("true" + many(pattern, 16)), "served");
  EXPECT_NE(refusalOf("true" + many(pattern, 17)).find("more than 16 matches()"), std::string::npos);
}

TEST(Refusal, ShowsTheBeginningOfALongText) {
  const std::string why = refusalOf("1 == 'a'" + std::string(500, ' '));
  EXPECT_NE(why.find("...`: at 3: "), std::string::npos) << why;
  EXPECT_LT(why.size(), 200U);
}

TEST(Refusal, IsOfBytesThatAreNoText) {
  EXPECT_EQ(refusalOf("'\xff' == ''"), "a selector that is not UTF-8");
}

}  // namespace
}  // namespace gs::cel
