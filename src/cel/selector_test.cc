#include "cel/selector.h"

#include <gtest/gtest.h>

#include <string>

#include "kapi/quantity.h"

namespace gs::cel {
namespace {

constexpr const char* kDriver = "gpu.example.com";

/// Attributes of two domains, and a capacity.
const model::SliceDevice& sampleDevice() {
  static const model::SliceDevice kDevice = [] {
    model::SliceDevice device;
    device.name = "gpu-0";
    const auto set = [&](const char* domain, const char* name, model::Attribute value) {
      device.attributes.emplace(model::QualifiedName{domain, name}, std::move(value));
    };
    set(kDriver, "model", std::string{"H100 80GB"});
    set(kDriver, "index", std::int64_t{5});
    set(kDriver, "mig", false);
    set(kDriver, "version", *model::parseSemVer("550.54.14-rc.1+build"));
    set("other.org", "name", std::string{"Grün"});
    set("short", "one", true);
    device.capacity.emplace(model::QualifiedName{kDriver, "memory"}, *kapi::exactQuantity("80Gi"));
    return device;
  }();
  return kDevice;
}

/// "true", "false", an error of evaluation, or why it is refused.
std::string outcomeOf(std::string text) {
  // d and c stand for the long names, so that a case is one line.
  for (const auto& [letter, name] : {std::pair{"d.", "device.attributes[\"gpu.example.com\"]."},
                                     std::pair{"c.", "device.capacity[\"gpu.example.com\"]."}}) {
    const std::string mark = std::string{"$"} + letter;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), name);
    }
  }
  const auto selector = Selector::parse(text);
  if (!selector) { return selector.error().message; }
  const Outcome outcome = selector->matches(kDriver, sampleDevice());
  return !outcome.error.empty() ? "error: " + outcome.error : outcome.matches ? "true" : "false";
}

struct SelectorCase {
  const char* text;
  const char* outcome;
};
class SelectorTable : public testing::TestWithParam<SelectorCase> {};
TEST_P(SelectorTable, Says) { EXPECT_EQ(outcomeOf(GetParam().text), GetParam().outcome) << GetParam().text; }

constexpr const char* kNoOverload = "error: no such overload";

INSTANTIATE_TEST_SUITE_P(
    Device, SelectorTable,
    testing::Values(
        SelectorCase{R"(device.driver == "gpu.example.com")", "true"},
        SelectorCase{R"(device.attributes["gpu.example.com"].model == "H100 80GB")", "true"},
        SelectorCase{R"(device.attributes["gpu.example.com"]["model"] == "H100 80GB")", "true"},
        SelectorCase{R"(device.attributes[device.driver].index == 5)", "true"},
        SelectorCase{R"(device.attributes.short.one)", "true"},
        SelectorCase{R"(device . attributes [ "short" ] . one // that one)", "true"},
        SelectorCase{R"($d.absent == 1)", "error: no such key: absent"},
        SelectorCase{R"(device.attributes["absent"].model == "x")", "error: no such key: model"},
        SelectorCase{R"(device.capacity["absent"].memory == quantity("1"))", "error: no such key: memory"},
        SelectorCase{R"($d.model)", "error: it says neither true nor false for this device"},
        SelectorCase{R"($d.mig)", "false"}, SelectorCase{R"($d.for == 1)", "error: no such key: for"},
        SelectorCase{R"(has($d.model) && !has($d.absent))", "true"},
        SelectorCase{R"(has(device.attributes["absent"].model))", "false"},
        SelectorCase{R"(has(device.attributes.absent))", "true"},
        SelectorCase{R"(has($c.memory) && !has($c.cores))", "true"},
        SelectorCase{R"("model" in device.attributes["gpu.example.com"])", "true"},
        SelectorCase{R"("memory" in device.attributes["gpu.example.com"])", "false"},
        SelectorCase{R"("memory" in device.capacity["gpu.example.com"])", "true"},
        SelectorCase{R"("other.org" in device.attributes)", "true"},
        SelectorCase{R"("other.org" in device.capacity || "other" in device.attributes)", "false"},
        SelectorCase{R"($d.index in device.attributes["gpu.example.com"])", "false"},
        SelectorCase{R"(size(device.attributes) == 3 && device.capacity.size() == 1)", "true"},
        SelectorCase{R"(size(device.attributes["gpu.example.com"]) == 4)", "true"},
        SelectorCase{R"(size(device.attributes["absent"]) == 0)", "true"},
        SelectorCase{R"(size(device.capacity["gpu.example.com"]) == 1)", "true"},
        SelectorCase{R"(size(device.attributes[$d.index]) == 0)", "true"},
        SelectorCase{R"(size(device.attributes[$d.version]) == 0)",
                     "error: a key that is neither text, number nor bool"},
        SelectorCase{R"(device.attributes["gpu.example.com"][$d.index] == 1)",
                     "error: no such key: one that is no text"}));

INSTANTIATE_TEST_SUITE_P(
    Values, SelectorTable,
    testing::Values(
        SelectorCase{R"($d.index == "5")", "false"}, SelectorCase{R"($d.index != "5")", "true"},
        SelectorCase{R"("5" == $d.version)", "false"}, SelectorCase{R"($d.version == "5")", kNoOverload},
        SelectorCase{R"($d.version != "5")", "true"}, SelectorCase{R"($d.index < "6")", kNoOverload},
        SelectorCase{R"($d.index < 6 && $d.index <= 5 && $d.index > 4 && $d.index >= 5)", "true"},
        SelectorCase{R"($d.index < 5 || $d.index > 5)", "false"},
        SelectorCase{R"("a" < "b" && "B" < "a" && "a" < "é" && false < true)", "true"},
        SelectorCase{R"($d.version < $d.version)", kNoOverload}, SelectorCase{R"(1 < 2 == true)", "true"},
        SelectorCase{R"(-$d.index == -5)", "true"}, SelectorCase{R"(-$d.model == 1)", kNoOverload},
        SelectorCase{R"(-$d.index == "5")", "false"}, SelectorCase{R"(--$d.model == "H100 80GB")", "true"},
        SelectorCase{R"(!!$d.mig == false)", "true"}, SelectorCase{R"(--5 == 5 && ---5 == - 5)", "true"},
        SelectorCase{R"(!$d.index)", kNoOverload}, SelectorCase{R"(0x1F == 31 && 007 == 7)", "true"},
        SelectorCase{R"(-9223372036854775808 < -9223372036854775807)", "true"},
        SelectorCase{R"(-(-9223372036854775808) == 0)", "error: integer overflow"},
        SelectorCase{R"($d.index in [1, 5])", "true"}, SelectorCase{R"($d.index in ["5"])", "false"},
        SelectorCase{R"($d.model in ["A100", "H100 80GB",])", "true"},
        SelectorCase{R"(device.driver in [device.driver])", "true"},
        SelectorCase{R"($d.absent in [])", "false"},
        SelectorCase{R"($d.absent in [1])", "error: no such key: absent"},
        SelectorCase{R"(1 in [$d.absent])", "error: no such key: absent"},
        SelectorCase{R"($d.version in [semver("550.54.14-rc.1")])", "true"},
        SelectorCase{R"($d.version in [device.driver])", "false"},
        SelectorCase{R"(size([1, 2]) == 2 && size([]) == 0)", "true"},
        SelectorCase{R"(size([$d.absent]) == 1)", "error: no such key: absent"}));

// What an error leaves of && and || and ?:, whichever side it stands on.
INSTANTIATE_TEST_SUITE_P(
    Errors, SelectorTable,
    testing::Values(
        SelectorCase{R"($d.absent && false)", "false"}, SelectorCase{R"(false && $d.absent)", "false"},
        SelectorCase{R"($d.absent || true)", "true"}, SelectorCase{R"(true || $d.absent)", "true"},
        SelectorCase{R"($d.absent && true)", "error: no such key: absent"},
        SelectorCase{R"(true && $d.absent)", "error: no such key: absent"},
        SelectorCase{R"($d.absent || false)", "error: no such key: absent"},
        SelectorCase{R"($d.absent && true && false)", "false"}, SelectorCase{R"($d.model && false)", "false"},
        SelectorCase{R"($d.model && true)", kNoOverload}, SelectorCase{R"($d.model || true)", "true"},
        SelectorCase{R"(!$d.absent)", "error: no such key: absent"},
        SelectorCase{R"(true ? true : $d.absent)", "true"},
        SelectorCase{R"(false ? $d.absent : $d.mig ? true : false)", "false"},
        SelectorCase{R"($d.absent ? true : true)", "error: no such key: absent"},
        SelectorCase{R"($d.model ? true : true)", kNoOverload},
        SelectorCase{R"($d.version in ["1"] || true)",
                     "error: a version cannot be sought in a list of literals"},
        SelectorCase{R"(true || $d.version in ["1"])", "true"}));

INSTANTIATE_TEST_SUITE_P(
    Functions, SelectorTable,
    testing::Values(
        SelectorCase{R"($d.model.startsWith("H1") && !$d.model.startsWith("1"))", "true"},
        SelectorCase{R"($d.model.endsWith("GB") && !$d.model.endsWith("H"))", "true"},
        SelectorCase{R"($d.model.contains("00 8") && !$d.model.contains("9"))", "true"},
        SelectorCase{R"($d.model.matches("[0-9]{3} ") && !$d.model.matches("^80"))", "true"},
        SelectorCase{R"($d.index.startsWith("5"))", kNoOverload},
        SelectorCase{R"(device.driver.contains($d.index))", kNoOverload},
        SelectorCase{R"($d.index.matches("5"))", kNoOverload},
        SelectorCase{R"("ABÖ".lowerAscii() == "abÖ")", "true"},
        SelectorCase{R"(device.attributes["other.org"].name.size() == 4)", "true"},
        SelectorCase{R"(size($d.index) == 1)", kNoOverload},
        SelectorCase{R"($d.version.major() == 550 && $d.version.minor() == 54 && $d.version.patch() == 14)",
                     "true"},
        SelectorCase{R"($d.model.major() == 1)", kNoOverload},
        SelectorCase{R"($d.version.compareTo(semver("550.54.14")) == -1)", "true"},
        SelectorCase{R"($d.version.isLessThan(semver("550.54.14")))", "true"},
        SelectorCase{R"($d.version.isGreaterThan(semver("550.54.14-beta")))", "true"},
        SelectorCase{R"($d.version == semver("550.54.14-rc.1"))", "true"},
        SelectorCase{R"($d.version.compareTo($c.memory) == 0)", kNoOverload},
        SelectorCase{R"(isSemver("1.2.3") && !isSemver("1.2"))", "true"},
        SelectorCase{R"(semver("v1") == semver("1.0.0"))", "error: 'v1' is not a version"},
        SelectorCase{R"($c.memory == quantity("81920Mi"))", "true"},
        SelectorCase{R"($c.memory.compareTo(quantity("79.5Gi")) == 1)", "true"},
        SelectorCase{R"($c.memory.isLessThan(quantity("80Gi")))", "false"},
        SelectorCase{R"($c.memory.isGreaterThan(quantity("85899345919999m")))", "true"},
        SelectorCase{R"(isQuantity("1Gi") && isQuantity("1e30") && !isQuantity("1GB"))", "true"},
        SelectorCase{
            R"(cel.bind(gpu, device.attributes["gpu.example.com"], gpu.index == 5 && has(gpu.model)))",
            "true"},
        SelectorCase{R"(cel.bind(x, 1, cel.bind(x, "a", x == "a") && x == 1))", "true"},
        SelectorCase{R"(cel.bind(x, $d.absent, true))", "true"},
        SelectorCase{R"(cel.bind(x, $d.absent, x == 1))", "error: no such key: absent"},
        SelectorCase{R"(cel.bind(x, $d.absent, x || true))", "true"}));

INSTANTIATE_TEST_SUITE_P(
    Texts, SelectorTable,
    testing::Values(SelectorCase{R"("a'b" == 'a\'b')", "true"}, SelectorCase{R"(r"\d" == "\\d")", "true"},
                    SelectorCase{R"("\x41\u0042\103\U00000044" == "ABCD")", "true"},
                    SelectorCase{R"("\u00e9\U0001f600" == "é😀" && size("é😀") == 2)", "true"},
                    SelectorCase{R"("""a"b""" == 'a"b')", "true"},
                    SelectorCase{"'''a\r\nb''' == \"a\\nb\"", "true"},
                    SelectorCase{R"("\a\b\f\n\r\t\v\?\`".size() == 9)", "true"}));

TEST(Selector, LooksAtTheDeviceItIsGiven) {
  const auto selector = Selector::parse(R"(device.driver == "b" && has(device.attributes.x.y))");
  model::SliceDevice device;
  EXPECT_EQ(selector->matches("b", device), (Outcome{false, ""}));
  device.attributes[{"x", "y"}] = true;
  EXPECT_EQ(selector->matches("b", device), (Outcome{true, ""}));
  EXPECT_EQ(selector->matches("a", device), (Outcome{false, ""}));
}

TEST(Selector, RemembersItsText) { EXPECT_EQ(Selector::parse("1 == 1 // one")->text(), "1 == 1 // one"); }

/// A list, say: it is there, and nothing that is asked of it has an answer.
TEST(Selector, AnAttributeOfAKindThatIsNotServedIsAnError) {
  model::SliceDevice device;
  device.attributes[{"d", "list"}] = model::Attribute{};
  const auto of = [&](const char* text) {
    const auto selector = Selector::parse(text);
    return selector ? selector->matches("d", device) : Outcome{false, selector.error().message};
  };
  EXPECT_NE(of(R"(device.attributes["d"].list == "a")").error, "");
  EXPECT_NE(of(R"(device.attributes["d"].list != "a")").error, "");
  EXPECT_NE(of(R"(device.attributes["d"].list)").error, "");
  EXPECT_EQ(of(R"("list" in device.attributes["d"])"), (Outcome{true, ""}));
  EXPECT_EQ(of(R"(has(device.attributes["d"].list))"), (Outcome{true, ""}));
  EXPECT_EQ(of(R"(false && device.attributes["d"].list == 1)"), (Outcome{false, ""}));
}

}  // namespace
}  // namespace gs::cel
