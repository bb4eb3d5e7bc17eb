#include "json/scanner.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <utility>

#include "json/value.h"

namespace gs::json {
namespace {

namespace ondemand = simdjson::ondemand;

static_assert(kScanSlack >= simdjson::SIMDJSON_PADDING);

/// The first thing that was wrong, of the whole scan.
using Problem = simdjson::error_code;

/// The text being read.
struct Reading {
  ondemand::document& document;
  std::string_view text;
  Problem problem = simdjson::SUCCESS;

  /// Where it goes on; nullptr at the end.
  [[nodiscard]] const char* here() const {
    const char* at = nullptr;
    return document.current_location().get(at) == simdjson::SUCCESS ? at : nullptr;
  }
};

/// What a Cursor stands for.
struct Place {
  Reading& reading;
  ondemand::value* value;  // nullptr: a text that is one scalar
  const char* begin;       // of its bytes
};

Place& placeAt(void* place) { return *static_cast<Place*>(place); }

/// Of simdjson's result: the value, or nullopt and the problem is noted.
template <class T, class Result>
std::optional<T> take(Result&& result, Problem& problem) {
  T out{};
  const auto error = std::forward<Result>(result).get(out);
  if (error == simdjson::SUCCESS) { return out; }
  if (problem == simdjson::SUCCESS) { problem = error; }
  return std::nullopt;
}

/// As take(); a value of another type is no problem.
template <class T, class Result>
std::optional<T> ofType(Result&& result, Problem& problem) {
  T out{};
  const auto error = std::forward<Result>(result).get(out);
  if (error == simdjson::SUCCESS) { return out; }
  if (error != simdjson::INCORRECT_TYPE && problem == simdjson::SUCCESS) { problem = error; }
  return std::nullopt;
}

bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && isSpace(token.front())) { token.remove_prefix(1); }
  while (!token.empty() && isSpace(token.back())) { token.remove_suffix(1); }
  return token;
}

}  // namespace

bool Cursor::isNull() {
  const Place& place = placeAt(place_);
  // The library must not be asked of the root, which is never null here.
  if (place.value == nullptr || *place.begin != 'n') { return false; }
  bool null = false;
  return place.value->is_null().get(null) == simdjson::SUCCESS && null;
}

bool Cursor::members(const Member& each) {
  const Place& place = placeAt(place_);
  if (place.value == nullptr) { return false; }
  auto object = ofType<ondemand::object>(place.value->get_object(), place.reading.problem);
  if (!object) { return false; }
  for (auto result : *object) {
    auto field = take<ondemand::field>(std::move(result), place.reading.problem);
    if (!field) { return true; }
    const auto key = take<std::string_view>(field->unescaped_key(), place.reading.problem);
    if (!key) { return true; }
    ondemand::value value = field->value();
    Place inner{place.reading, &value, value.raw_json_token().data()};
    Cursor cursor{&inner};
    each(*key, cursor);
    if (place.reading.problem != simdjson::SUCCESS) { return true; }
  }
  return true;
}

bool Cursor::items(const Item& each) {
  const Place& place = placeAt(place_);
  if (place.value == nullptr) { return false; }
  auto array = ofType<ondemand::array>(place.value->get_array(), place.reading.problem);
  if (!array) { return false; }
  for (auto&& result : *array) {
    auto value = take<ondemand::value>(std::forward<decltype(result)>(result), place.reading.problem);
    if (!value) { return true; }
    Place inner{place.reading, &*value, value->raw_json_token().data()};
    Cursor cursor{&inner};
    each(cursor);
    if (place.reading.problem != simdjson::SUCCESS) { return true; }
  }
  return true;
}

/// Up to what comes next, of which white space is no part.
std::string_view Cursor::seen() {
  const Place& place = placeAt(place_);
  const std::string_view text = place.reading.text;
  const char* end = place.reading.here();
  if (end == nullptr) { end = text.data() + text.size(); }
  return trimmed({place.begin, static_cast<std::size_t>(end - place.begin)});
}

std::string_view Cursor::raw() {
  const Place& place = placeAt(place_);
  if (place.value == nullptr) { return trimmed(place.reading.text); }
  if (auto object = ofType<ondemand::object>(place.value->get_object(), place.reading.problem)) {
    return trimmed(
        take<std::string_view>(object->raw_json(), place.reading.problem).value_or(std::string_view{}));
  }
  if (auto array = ofType<ondemand::array>(place.value->get_array(), place.reading.problem)) {
    return trimmed(
        take<std::string_view>(array->raw_json(), place.reading.problem).value_or(std::string_view{}));
  }
  const std::string_view token = trimmed(place.value->raw_json_token());
  // Takes a string; the library would take one that is skipped for a key, were a colon after it.
  static_cast<void>(
      ofType<ondemand::raw_json_string>(place.value->get_raw_json_string(), place.reading.problem));
  return token;
}

std::optional<std::string_view> Cursor::str() {
  const Place& place = placeAt(place_);
  if (place.value == nullptr) { return std::nullopt; }
  return ofType<std::string_view>(place.value->get_string(), place.reading.problem);
}

struct Scanner::Library {
  ondemand::parser parser;
};

Scanner::Scanner() : library_{std::make_unique<Library>()} {}
Scanner::~Scanner() = default;
Scanner::Scanner(Scanner&&) noexcept = default;
Scanner& Scanner::operator=(Scanner&&) noexcept = default;

namespace {

Status noJson(std::size_t at, Problem problem) {
  return fail(Code::Invalid, fmt::format("no JSON near byte {}: {}", at, simdjson::error_message(problem)));
}

/// A text that is no object and no array: the library has other rules for it.
Status scanScalar(Reading reading, const Cursor::Item& read) {
  if (auto checked = parse(reading.text); !checked) { return tl::unexpected(checked.error()); }
  Place place{reading, nullptr, nullptr};
  Cursor cursor{&place};
  read(cursor);
  return {};
}

}  // namespace

Status Scanner::scan(std::string& text, const Cursor::Item& read) {
  text.reserve(text.size() + kScanSlack);
  const simdjson::padded_string_view padded{text.data(), text.size(), text.capacity()};
  ondemand::document document;
  ondemand::value root;
  Reading reading{document, text};
  reading.problem = library_->parser.iterate(padded).get(document);
  if (reading.problem == simdjson::SUCCESS) { reading.problem = document.get_value().get(root); }
  if (reading.problem == simdjson::SCALAR_DOCUMENT_AS_VALUE) { return scanScalar(reading, read); }
  if (reading.problem != simdjson::SUCCESS) { return noJson(0, reading.problem); }
  const char* begin = reading.here();
  Place place{reading, &root, begin};
  Cursor cursor{&place};
  read(cursor);
  if (reading.problem == simdjson::SUCCESS && reading.here() == begin) { static_cast<void>(cursor.raw()); }
  const char* here = reading.here();
  if (reading.problem == simdjson::SUCCESS && here == nullptr) { return {}; }
  return noJson(here == nullptr ? text.size() : static_cast<std::size_t>(here - text.data()),
                reading.problem == simdjson::SUCCESS ? simdjson::TRAILING_CONTENT : reading.problem);
}

}  // namespace gs::json
