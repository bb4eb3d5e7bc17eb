#include "json/document.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_set>

#include "json/members.h"
#include "json/read_exact.h"

namespace gs::json {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kLeastCapacity = 64;
constexpr std::size_t kFew = 16;

// The library's handles are two words, and so is a Place.
template <class Handle>
Handle handle(const View::Place& place) {
  return std::bit_cast<Handle>(place);
}
template <class Handle>
View::Place placeOf(const Handle& handle) {
  return std::bit_cast<View::Place>(handle);
}

dom::element elementAt(const View::Place& place) { return handle<dom::element>(place); }

template <class T>
std::optional<T> as(dom::element element) {
  T out{};
  return element.get(out) == simdjson::SUCCESS ? std::optional{out} : std::nullopt;
}

template <class T>
std::optional<T> as(const View::Place& place) {
  return place.document == nullptr ? std::nullopt : as<T>(elementAt(place));
}

/// As Value holds it: an integer over 2^63 - 1 is a double.
Value numberAt(dom::element element) {
  if (const auto whole = as<std::int64_t>(element)) { return static_cast<long long>(*whole); }
  if (const auto large = as<std::uint64_t>(element)) { return static_cast<unsigned long long>(*large); }
  return as<double>(element).value_or(0);
}

Value numberAt(const View::Place& place) {
  return place.document == nullptr || !elementAt(place).is_number() ? Value{} : numberAt(elementAt(place));
}

Value valueAt(dom::element element) {
  switch (element.type()) {
    case dom::element_type::OBJECT: {
      const dom::object object{element};
      Members members{object.size()};
      for (const auto member : object) { members.add(member.key, valueAt(member.value)); }
      return members.take();
    }
    case dom::element_type::ARRAY: {
      const dom::array array{element};
      Array out;
      out.reserve(array.size());
      for (const dom::element e : array) { out.push_back(valueAt(e)); }
      return out;
    }
    case dom::element_type::STRING: return std::string_view{element};
    case dom::element_type::BOOL: return bool{element};
    case dom::element_type::NULL_VALUE: return {};
    default: return numberAt(element);
  }
}

bool repeatsAKey(const dom::object& object) {
  if (object.size() > kFew) {
    std::unordered_set<std::string_view> keys;
    return std::any_of(object.begin(), object.end(),
                       [&](const auto& member) { return !keys.insert(member.key).second; });
  }
  std::array<std::string_view, kFew> keys;
  std::size_t n = 0;
  for (const auto member : object) {
    const auto seen = keys.begin() + n;
    if (std::find(keys.begin(), seen, member.key) != seen) { return true; }
    keys.at(n++) = member.key;
  }
  return false;
}

}  // namespace

struct Document::Checked {
  dom::parser parser;
  dom::element root;
  std::optional<Value> exact;  // instead, of what the faster library does not take
};

Document::Document(std::unique_ptr<Checked> checked) : checked_{std::move(checked)} {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::read(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return fail(Code::Invalid,
                fmt::format("JSON of {} bytes is over the limit of {}", text.size(), max_bytes));
  }
  auto checked = std::make_unique<Checked>();
  const bool taken =
      !text.empty() &&  // it may have no address, which memcpy must not see
      checked->parser.allocate(std::max(text.size(), kLeastCapacity), kMaxDepth) == simdjson::SUCCESS &&
      checked->parser.parse(text.data(), text.size()).get(checked->root) == simdjson::SUCCESS;
  if (!taken) {
    auto exact = readExact(text);
    if (!exact) { return tl::unexpected{exact.error()}; }
    checked->exact = *std::move(exact);
  }
  return Document{std::move(checked)};
}

View Document::root() const {
  return checked_->exact ? View{*checked_->exact} : View{placeOf(checked_->root)};
}

Value Document::take() && { return checked_->exact ? *std::move(checked_->exact) : valueAt(checked_->root); }

Result<Value> parse(std::string_view text, std::size_t max_bytes) {
  auto document = Document::read(text, max_bytes);
  if (!document) { return tl::unexpected{document.error()}; }
  return std::move(*document).take();
}

View::Type View::type() const {
  if (value_ != nullptr) {
    if (value_->isNull()) { return Type::Null; }
    if (value_->isObject()) { return Type::Object; }
    if (value_->isArray()) { return Type::Array; }
    if (value_->isString()) { return Type::String; }
    return value_->isNumber() ? Type::Number : Type::Bool;
  }
  if (place_.document == nullptr) { return Type::Null; }
  switch (elementAt(place_).type()) {
    case dom::element_type::OBJECT: return Type::Object;
    case dom::element_type::ARRAY: return Type::Array;
    case dom::element_type::STRING: return Type::String;
    case dom::element_type::BOOL: return Type::Bool;
    case dom::element_type::NULL_VALUE: return Type::Null;
    default: return Type::Number;
  }
}

std::optional<View> View::find(std::string_view key) const {
  if (value_ != nullptr) {
    const Value* found = value_->find(key);
    return found == nullptr ? std::nullopt : std::optional{View{*found}};
  }
  const auto object = as<dom::object>(place_);
  if (!object) { return std::nullopt; }
  std::optional<dom::element> last;
  const auto end = object->end();
  for (auto it = object->begin(); it != end; ++it) {
    if (it.key_equals(key)) { last = it.value(); }
  }
  return last ? std::optional{View{placeOf(*last)}} : std::nullopt;
}

View View::operator[](std::string_view key) const { return find(key).value_or(View{}); }

View View::at(std::size_t index) const {
  if (value_ != nullptr) { return value_->at(index); }
  const auto array = as<dom::array>(place_);
  dom::element element;
  if (!array || array->at(index).get(element) != simdjson::SUCCESS) { return {}; }
  return View{placeOf(element)};
}

std::string_view View::str() const {
  return value_ != nullptr ? value_->str() : as<std::string_view>(place_).value_or(std::string_view{});
}

std::optional<std::int64_t> View::integer() const {
  return value_ != nullptr ? value_->integer() : numberAt(place_).integer();
}

std::optional<double> View::number() const {
  return value_ != nullptr ? value_->number() : numberAt(place_).number();
}

bool View::boolOr(bool fallback) const {
  return value_ != nullptr ? value_->boolOr(fallback) : as<bool>(place_).value_or(fallback);
}

Value View::value() const {
  if (value_ != nullptr) { return *value_; }
  return place_.document == nullptr ? Value{} : valueAt(elementAt(place_));
}

View::Items View::items() const {
  if (value_ != nullptr) {
    const Array& array = value_->items();
    return {{array.data(), {}}, {array.data() + array.size(), {}}, array.size()};
  }
  const auto array = as<dom::array>(place_);
  if (!array) { return {{nullptr, {}}, {nullptr, {}}, 0}; }
  return {{nullptr, placeOf(array->begin())}, {nullptr, placeOf(array->end())}, array->size()};
}

View::MemberViews View::members() const {
  if (value_ != nullptr) {
    const Object& object = value_->members();
    return {{object.begin(), {}}, {object.end(), {}}, object.size()};
  }
  const auto object = as<dom::object>(place_);
  if (!object) { return {{nullptr, {}}, {nullptr, {}}, 0}; }
  if (repeatsAKey(*object)) {
    const auto copy = std::make_shared<const Value>(value());
    MemberViews out = View{*copy}.members();
    out.without_repeats_ = copy;
    return out;
  }
  return {{nullptr, placeOf(object->begin())}, {nullptr, placeOf(object->end())}, object->size()};
}

template <class Element>
View::Iterator<Element>& View::Iterator<Element>::operator++() {
  using Library = std::conditional_t<std::is_same_v<Element, Value>, dom::array, dom::object>;
  if (element_ != nullptr) {
    ++element_;
  } else {
    auto it = handle<typename Library::iterator>(place_);
    place_ = placeOf(++it);
  }
  return *this;
}

template <>
View View::Iterator<Value>::operator*() const {
  return element_ != nullptr ? View{*element_} : View{place_};
}

template <>
std::pair<std::string_view, View> View::Iterator<Member>::operator*() const {
  if (element_ != nullptr) { return {element_->first, View{element_->second}}; }
  const auto it = handle<dom::object::iterator>(place_);
  return {it.key(), View{placeOf(it.value())}};
}

template class View::Iterator<Value>;
template class View::Iterator<Member>;

}  // namespace gs::json
