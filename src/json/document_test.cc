#include "json/document.h"

#include <gtest/gtest.h>

#include "json/read_exact.h"

namespace gs::json {
namespace {

Document documentOf(std::string_view text) {
  auto document = Document::read(text);
  EXPECT_TRUE(document.has_value()) << text << ": " << (document ? "" : document.error().message);
  return document ? *std::move(document) : *Document::read("null");
}

/// A view reads what the value reads, by every function, all the way down.
void expectReadsAs(const View& view, const Value& value) {
  EXPECT_EQ(view.isNull(), value.isNull());
  EXPECT_EQ(view.isObject(), value.isObject());
  EXPECT_EQ(view.isArray(), value.isArray());
  EXPECT_EQ(view.isString(), value.isString());
  EXPECT_EQ(view.isNumber(), value.isNumber());
  EXPECT_EQ(view.str(), value.str());
  EXPECT_EQ(view.integer(), value.integer());
  EXPECT_EQ(view.number(), value.number());
  EXPECT_EQ(view.boolOr(true), value.boolOr(true));
  EXPECT_EQ(view.boolOr(false), value.boolOr(false));
  EXPECT_EQ(view.value(), value);
  ASSERT_EQ(view.items().size(), value.items().size());
  EXPECT_EQ(view.items().empty(), value.items().empty());
  std::size_t i = 0;
  for (const View element : view.items()) {
    expectReadsAs(element, value.at(i));
    expectReadsAs(view.at(i++), element.value());
  }
  EXPECT_TRUE(view.at(i).isNull());
  EXPECT_EQ(view.members().empty(), value.members().empty());
  std::size_t members = 0;
  for (const auto [key, member] : view.members()) {
    ++members;
    ASSERT_TRUE(value.find(key) != nullptr) << key;
    ASSERT_TRUE(view.find(key).has_value()) << key;
    expectReadsAs(view[key], *value.find(key));
  }
  EXPECT_EQ(members, view.members().size());
  EXPECT_FALSE(view.find("no such key"));
  EXPECT_TRUE(view["no such key"]["below"].at(3).isNull());
}

constexpr const char* kTexts[] = {
    "null",
    "true",
    "0",
    "-0",
    "-0.0",
    "7",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "1e5",
    "1.0",
    "0.1",
    "1e-999",
    "1.7976931348623157e+308",
    "5e-324",
    "9007199254740993.5",
    R"("")",
    R"("é\n\u00e9\ud83d\ude00\u0000\/")",
    "[]",
    "{}",
    R"( [ 1 , "two" , [ ] , { } , null , [ [ { "a" : [ false ] } ] ] ] )",
    R"({"z":1,"a":{"b":[1,2.5,{"c":"d"}]},"":"empty key","n":null,"m":-3})",
    R"({"a":1,"b":2,"a":3})",
    R"({"a":{"x":1},"a":{"y":[]},"b":18446744073709551616})",
    R"({"\u0061":1,"a\"b":2})",
};

TEST(JsonDocument, ReadsAsTheValueOfTheSameText) {
  for (const std::string text : kTexts) {
    SCOPED_TRACE(text);
    const Document document = documentOf(text);
    const Value value = *parse(text);
    expectReadsAs(document.root(), value);
    expectReadsAs(View{value}, value);
    EXPECT_EQ(print(documentOf(text).take()), print(value));
  }
}

TEST(JsonDocument, BothReadersAgree) {
  for (const std::string text : kTexts) {
    SCOPED_TRACE(text);
    const auto exact = readExact(text);
    ASSERT_TRUE(exact.has_value());
    EXPECT_EQ(print(documentOf(text).take()), print(*exact));
  }
  for (const std::string text :
       {"", " ", "[1,]", "{\"a\"}", "1 2", "\"\xff\"", "1e999", "[1", "{\"a\":1}}", "\"\\ud800\""}) {
    SCOPED_TRACE(text);
    const auto document = Document::read(text);
    ASSERT_FALSE(document.has_value());
    EXPECT_EQ(document.error().message, readExact(text).error().message);
  }
}

TEST(JsonDocument, LastOfARepeatedKeyCounts) {
  std::string many = "{";
  for (int i = 0; i < 40; ++i) { many += "\"k" + std::to_string(i % 39) + "\":" + std::to_string(i) + ","; }
  many.back() = '}';
  for (const std::string& text : {std::string{R"({"a":1,"b":2,"a":3})"}, many}) {
    const Document document = documentOf(text);
    const Value value = *parse(text);
    std::string members;
    for (const auto [key, member] : document.root().members()) {
      members += std::string{key} + print(member.value());
      EXPECT_EQ(member.value(), document.root()[key].value());
    }
    std::string expected;
    for (const auto& [key, member] : value.members()) { expected += key + print(member); }
    EXPECT_EQ(members, expected);
  }
}

TEST(JsonDocument, ViewsOutliveAMoveOfTheDocument) {
  for (const char* text : {R"({"a":["x"]})", R"({"a":["x"],"big":18446744073709551616})"}) {
    Document first = documentOf(text);
    const View view = first.root()["a"].at(0);
    const Document second = std::move(first);
    EXPECT_EQ(view.str(), "x");
  }
}

TEST(JsonDocument, RefusesNothingAtAll) { EXPECT_FALSE(Document::read(std::string_view{})); }

TEST(JsonDocument, RefusesDepthOver100AndTextOverTheLimit) {
  EXPECT_TRUE(Document::read(std::string(100, '[') + std::string(100, ']')));
  EXPECT_FALSE(Document::read(std::string(101, '[') + std::string(101, ']')));
  EXPECT_TRUE(Document::read("[1,2]", 5));
  EXPECT_FALSE(Document::read("[1,2]", 4));
}

TEST(JsonView, OfNothingIsNull) {
  const View nothing;
  EXPECT_TRUE(nothing.isNull());
  EXPECT_TRUE(nothing["a"].isNull());
  EXPECT_TRUE(nothing.items().empty());
  EXPECT_TRUE(nothing.members().empty());
  EXPECT_EQ(nothing.value(), Value{});
}

}  // namespace
}  // namespace gs::json
