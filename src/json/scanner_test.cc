#include "json/scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "json/value.h"

namespace gs::json {
namespace {

/// The whole text by way of a Scanner; scalars by parse() of their bytes.
Value copied(Cursor& at, bool& good) {
  if (Object object;
      at.members([&](std::string_view key, Cursor& value) { object.set(key, copied(value, good)); })) {
    return object;
  }
  if (Array array; at.items([&](Cursor& value) { array.push_back(copied(value, good)); })) { return array; }
  auto scalar = parse(at.raw());
  good = good && scalar.has_value();
  return scalar ? *scalar : Value{};
}

Result<Value> scanned(std::string text) {
  Scanner scanner;
  Value out;
  bool good = true;
  const Status done = scanner.scan(text, [&](Cursor& root) { out = copied(root, good); });
  if (!done) { return tl::unexpected(done.error()); }
  if (!good) { return fail(Code::Invalid, "a scalar"); }
  return out;
}

TEST(JsonScanner, GivesMembersItemsTextsAndBytes) {
  Scanner scanner;
  std::string text = R"( {"a":[1 , {"b":"x\ny"} , null],"skipped":{"c":[[]]},"d": {"e" : 1} } )";
  std::vector<std::string> seen;
  const Status done = scanner.scan(text, [&](Cursor& root) {
    EXPECT_TRUE(root.members([&](std::string_view key, Cursor& value) {
      seen.emplace_back(key);
      if (key == "d") { seen.emplace_back(value.raw()); }
      if (key != "a") { return; }
      value.items([&](Cursor& item) {
        if (item.isNull()) {
          seen.emplace_back("null");
        } else if (!item.members([&](std::string_view inner, Cursor& v) {
                     seen.emplace_back(inner);
                     seen.emplace_back(v.str().value_or("no text"));
                   })) {
          seen.emplace_back(item.raw());
        }
      });
    }));
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "1", "b", "x\ny", "null", "skipped", "d", R"({"e" : 1})"}));
}

TEST(JsonScanner, WhatWasGoneThroughGivesItsBytesToo) {
  for (const char* around : {R"([%,5])", R"([1, % ])", R"({"a":%})", R"(  % )", R"({"a":% , "b":[]})"}) {
    for (const std::string inner : {R"({"x": [1 ,{}], "y":"z"})", "{}", R"([ {"x":1} , 2 ])", "[ ]"}) {
      std::string text = around;
      text.replace(text.find('%'), 1, inner);
      std::vector<std::string_view> seen;
      const std::function<void(Cursor&)> look = [&](Cursor& at) {
        if (at.members([&](std::string_view, Cursor& value) { look(value); }) ||
            at.items([&](Cursor& value) { look(value); })) {
          seen.push_back(at.seen());
        }
      };
      Scanner scanner;
      EXPECT_TRUE(scanner.scan(text, look).has_value()) << text;
      EXPECT_NE(std::find(seen.begin(), seen.end(), inner), seen.end()) << text;
    }
  }
}

TEST(JsonScanner, AWrongTypeIsSaidAndNoProblem) {
  Scanner scanner;
  for (std::string text : {R"({"a":5})", R"({"a":"5"})", R"({"a":[5]})", R"({"a":{"b":5}})"}) {
    int other = 0;
    const Status done = scanner.scan(text, [&](Cursor& root) {
      EXPECT_FALSE(root.items([](Cursor&) {}));
      EXPECT_FALSE(root.str());
      EXPECT_TRUE(root.members([&](std::string_view, Cursor& value) {
        other += value.items([](Cursor&) {}) || value.members([](std::string_view, Cursor&) {}) || value.str()
                     ? 0
                     : 1;
      }));
    });
    EXPECT_TRUE(done.has_value()) << text;
    EXPECT_EQ(other, text == R"({"a":5})" ? 1 : 0) << text;
  }
}

TEST(JsonScanner, ATextThatIsOneScalarGivesItsBytesOnly) {
  for (const char* text : {"5", "\"a\"", "null", " true "}) {
    Scanner scanner;
    std::string given = text;
    bool called = false;
    const Status done = scanner.scan(given, [&](Cursor& root) {
      called = true;
      EXPECT_FALSE(root.members([](std::string_view, Cursor&) {}));
      EXPECT_FALSE(root.items([](Cursor&) {}));
      EXPECT_FALSE(root.str());
      EXPECT_EQ(*parse(root.raw()), *parse(text));
    });
    EXPECT_TRUE(done.has_value()) << text;
    EXPECT_TRUE(called);
  }
}

TEST(JsonScanner, RefusesWhatIsNoJson) {
  for (const char* text : {"", " ", "{", "{}{}", "[1,2", "{\"a\":1,}", "{\"a\" 1}", "[1 2]", "nul",
                           "{\"a\":\"x}", "]", "{\"a\":}", "[}", "\xff", "{\"a\":[}]"}) {
    EXPECT_FALSE(scanned(text).has_value()) << text;
  }
}

TEST(JsonScanner, WhatIsSkippedMustStillEnd) {
  for (const char* text : {"{\"a\":{\"b\":[1,{}", "{\"a\":[[[]]", "{\"a\":{}} x", "[]]"}) {
    Scanner scanner;
    std::string given = text;
    EXPECT_FALSE(scanner.scan(given, [](Cursor&) {}).has_value()) << text;
    EXPECT_FALSE(
        scanner.scan(given, [](Cursor& root) { root.members([](std::string_view, Cursor&) {}); }).has_value())
        << text;
  }
}

TEST(JsonScanner, ReadsOneTextAfterTheOther) {
  Scanner scanner;
  for (const int size : {1, 10'000, 10}) {
    std::string text = "[" + std::string(static_cast<std::size_t>(size), ' ') + "7]";
    std::string seen;
    EXPECT_TRUE(scanner.scan(text, [&](Cursor& root) { root.items([&](Cursor& v) { seen = v.raw(); }); })
                    .has_value());
    EXPECT_EQ(seen, "7");
    text = "[";
    EXPECT_FALSE(scanner.scan(text, [](Cursor&) {}).has_value());
  }
}

TEST(JsonScanner, CutAnywhereItIsRefused) {
  const std::string whole = R"({"a":[1,{"b":"x\ny"},null],"c":{"d":[[],{}]}})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(scanned(whole.substr(0, size)).has_value());
  }
  EXPECT_EQ(scanned(whole), *parse(whole));
}

/// Any text of JSON's own characters: the scanner takes what parse() takes, and reads the same.
TEST(JsonScannerProperty, AgreesWithParse) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"{}[]\",:12 ntaue\\"}));
    const auto expected = parse(text);
    const auto got = scanned(text);
    RC_ASSERT(got.has_value() == expected.has_value());
    RC_TAG(expected.has_value());
    if (expected) { RC_ASSERT(*got == *expected); }
  }));
}

}  // namespace
}  // namespace gs::json
