// Any bytes, read by the scanner to the last value: it takes what parse() takes, reads the same,
// and skips without harm.
#include <cstdint>
#include <string>

#include "json/scanner.h"
#include "json/value.h"

namespace {

using gs::json::Cursor;
using gs::json::Value;

/// nullopt: a scalar that is no JSON, or too deep.
std::optional<Value> copied(Cursor& at, int depth) {
  if (depth > 100) { return std::nullopt; }
  bool good = true;
  const auto inner = [&](Cursor& value) {
    auto copy = copied(value, depth + 1);
    good = good && copy.has_value();
    return copy ? *std::move(copy) : Value{};
  };
  gs::json::Object object;
  if (at.members([&](std::string_view key, Cursor& value) {
        const std::string name{key};
        object.set(name, inner(value));
      })) {
    return good ? std::optional{Value{std::move(object)}} : std::nullopt;
  }
  gs::json::Array array;
  if (at.items([&](Cursor& value) { array.push_back(inner(value)); })) {
    return good ? std::optional{Value{std::move(array)}} : std::nullopt;
  }
  auto scalar = gs::json::parse(at.raw());
  return scalar ? std::optional{*std::move(scalar)} : std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text{reinterpret_cast<const char*>(data), size};
  const auto expected = gs::json::parse(text);
  gs::json::Scanner scanner;
  std::optional<Value> got;
  const bool done = scanner.scan(text, [&](Cursor& root) { got = copied(root, 1); }).has_value();
  if ((done && got.has_value()) != expected.has_value() || (expected && !(*got == *expected))) {
    __builtin_trap();
  }
  const bool skipped = scanner.scan(text, [](Cursor&) {}).has_value();
  if (expected && !skipped) { __builtin_trap(); }
  return 0;
}
