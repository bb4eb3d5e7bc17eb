#include "json/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "base/check.h"

namespace gs::json {
namespace {

const Value kNull;
const Array kNoItems;
const Object kNoMembers;

constexpr std::size_t kMaxDepth = 100;
/// Objects up to this size are searched for repeated keys pair by pair, larger ones with a table.
constexpr std::size_t kSmallObject = 16;

template <class Text>
std::string_view viewOf(const Text& text) {
  return {text.data(), text.size()};
}

/// Builds the Value while the library's parser walks the text: finished values wait on one stack, and the end of an
/// array or object takes its own from the top.
class Builder {
 public:
  using error_code = boost::json::error_code;
  using Text = boost::json::string_view;
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = max_array_size;
  static constexpr std::size_t max_string_size = max_array_size;
  static constexpr std::size_t max_key_size = max_array_size;

  explicit Builder(const Reading& reading) : reading_{reading} {}

  Value take() { return std::move(values_.back()); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) {
    begin();
    if (unread_depth_ == 0 && depth_ == 2 && !keys_.empty() && keys_.back() == reading_.elements_of) {
      in_elements_ = true;
    }
    return true;
  }
  bool on_object_begin(error_code&) {
    begin();
    return true;
  }
  bool on_array_end(std::size_t n, error_code&) {
    if (endUnread()) { return true; }
    if (depth_ == 1) { in_elements_ = false; }
    const auto first = values_.end() - static_cast<std::ptrdiff_t>(n);
    Array array{std::make_move_iterator(first), std::make_move_iterator(values_.end())};
    values_.erase(first, values_.end());
    values_.emplace_back(std::move(array));
    return true;
  }
  bool on_object_end(std::size_t n, error_code&) {
    if (endUnread()) { return true; }
    Object object;
    object.reserve(n);
    if (n <= kSmallObject) {
      takeFew(object, n);
    } else {
      takeMany(object, n);
    }
    values_.resize(values_.size() - n);
    keys_.resize(keys_.size() - n);
    Value& value = values_.emplace_back(std::move(object));
    if (in_elements_ && depth_ == 2) {
      reading_.on_element(value);
      value = {};
    }
    return true;
  }
  bool on_key_part(Text s, std::size_t, error_code&) { return keep(s); }
  bool on_key(Text s, std::size_t, error_code&) {
    if (unread_depth_ == 0) { keys_.push_back(whole(s)); }
    return true;
  }
  bool on_string_part(Text s, std::size_t, error_code&) { return keep(s); }
  bool on_string(Text s, std::size_t, error_code&) {
    if (unread_depth_ == 0) { values_.emplace_back(whole(s)); }
    return true;
  }
  bool on_number_part(Text s, error_code&) { return keep(s); }
  bool on_int64(std::int64_t i, Text, error_code&) { return number(static_cast<long long>(i)); }
  bool on_uint64(std::uint64_t u, Text, error_code&) { return number(static_cast<unsigned long long>(u)); }
  /// The library's own conversion is off by a digit now and then; the standard's is exact.
  bool on_double(double approximate, Text s, error_code& ec) {
    const std::string text = whole(s);
    double exact = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
    if (error == std::errc::result_out_of_range) {
      if (std::abs(approximate) > 1) {
        ec = boost::json::make_error_code(boost::json::error::exponent_overflow);
        return false;
      }
      exact = 0;
    }
    return number(exact);
  }
  bool on_bool(bool b, error_code&) {
    if (unread_depth_ == 0) { values_.emplace_back(b); }
    return true;
  }
  bool on_null(error_code&) {
    if (unread_depth_ == 0) { values_.emplace_back(); }
    return true;
  }
  bool on_comment_part(Text, error_code&) { return true; }
  bool on_comment(Text, error_code&) { return true; }

 private:
  [[nodiscard]] bool isUnread(std::string_view key) const {
    return std::find(reading_.unread.begin(), reading_.unread.end(), key) != reading_.unread.end();
  }
  /// An array or object. The last key is the one that it, or the array around it, belongs to.
  void begin() {
    ++depth_;
    if (unread_depth_ == 0 && !keys_.empty() && isUnread(keys_.back())) { unread_depth_ = depth_; }
  }
  /// What ends here was left out.
  bool endUnread() {
    const auto depth = depth_--;
    if (unread_depth_ == 0) { return false; }
    if (unread_depth_ == depth) {
      unread_depth_ = 0;
      values_.emplace_back();
    }
    return true;
  }
  bool keep(Text s) {
    if (unread_depth_ == 0) { part_.append(s.data(), s.size()); }
    return true;
  }
  template <class T>
  bool number(T n) {
    if (unread_depth_ != 0) { return true; }
    part_.clear();
    values_.emplace_back(n);
    return true;
  }
  std::string whole(Text s) {
    if (part_.empty()) { return std::string{viewOf(s)}; }
    keep(s);
    return std::exchange(part_, {});
  }
  void takeFew(Object& object, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      std::string& key = keys_[keys_.size() - n + i];
      Value& value = values_[values_.size() - n + i];
      if (Value* known = object.find(key)) {
        *known = std::move(value);
      } else {
        object.append(std::move(key), std::move(value));
      }
    }
  }
  void takeMany(Object& object, std::size_t n) {
    std::unordered_map<std::string, std::size_t> places;
    places.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::string& key = keys_[keys_.size() - n + i];
      Value& value = values_[values_.size() - n + i];
      const auto [place, is_new] = places.try_emplace(key, object.size());
      if (is_new) {
        object.append(key, std::move(value));
      } else {
        (object.begin() + place->second)->second = std::move(value);
      }
    }
  }

  const Reading& reading_;
  std::vector<Value> values_;
  std::vector<std::string> keys_;
  std::string part_;  // a string or number whose beginning the parser gave already
  std::size_t depth_ = 0;
  std::size_t unread_depth_ = 0;  // depth of what is left out now; 0: nothing
  bool in_elements_ = false;      // in the array whose elements are handed on
};

Result<Value> build(std::string_view text, const Reading& reading) {
  boost::json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::json::basic_parser<Builder> parser{options, reading};
  boost::json::error_code ec;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && read < text.size()) { ec = boost::json::make_error_code(boost::json::error::extra_data); }
  if (ec) { return fail(Code::Invalid, fmt::format("JSON at byte {}: {}", read, ec.message())); }
  return parser.handler().take();
}

}  // namespace

Object::Object() = default;
Object::Object(std::initializer_list<Member> members) {
  members_.reserve(members.size());
  for (const Member& m : members) { (*this)[m.first] = m.second; }
}
Object::Object(const Object&) = default;
Object::Object(Object&&) noexcept = default;
Object& Object::operator=(const Object&) = default;
Object& Object::operator=(Object&&) noexcept = default;
Object::~Object() = default;

const Value* Object::find(std::string_view key) const {
  for (const Member& m : members_) {
    if (m.first == key) { return &m.second; }
  }
  return nullptr;
}

Value* Object::find(std::string_view key) {
  for (Member& m : members_) {
    if (m.first == key) { return &m.second; }
  }
  return nullptr;
}

Value& Object::operator[](std::string_view key) {
  if (Value* known = find(key)) { return *known; }
  return members_.emplace_back(std::string{key}, Value{}).second;
}

bool Object::erase(std::string_view key) {
  return std::erase_if(members_, [key](const Member& m) { return m.first == key; }) > 0;
}

void Object::append(std::string key, Value value) { members_.emplace_back(std::move(key), std::move(value)); }
void Object::reserve(std::size_t members) { members_.reserve(members); }

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) { return false; }
  for (std::size_t i = 0; i < a.members_.size(); ++i) {
    const auto& [key, value] = a.members_[i];
    // Mostly the order is the same; then no search is needed.
    const Value* other = b.members_[i].first == key ? &b.members_[i].second : b.find(key);
    if (other == nullptr || !(value == *other)) { return false; }
  }
  return true;
}

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

Value::Value(unsigned long long v) {
  if (v <= static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max())) {
    data_ = static_cast<std::int64_t>(v);
  } else {
    data_ = static_cast<double>(v);
  }
}

const Value& Value::operator[](std::string_view key) const& {
  const Value* found = find(key);
  return found == nullptr ? kNull : *found;
}

const Value* Value::find(std::string_view key) const& {
  const auto* object = std::get_if<Object>(&data_);
  return object == nullptr ? nullptr : object->find(key);
}

const Value& Value::at(std::size_t index) const& {
  const auto* array = std::get_if<Array>(&data_);
  return array == nullptr || index >= array->size() ? kNull : (*array)[index];
}

std::string_view Value::str() const& {
  const auto* text = std::get_if<std::string>(&data_);
  return text == nullptr ? std::string_view{} : std::string_view{*text};
}

std::optional<std::int64_t> Value::integer() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) { return *whole; }
  const auto* real = std::get_if<double>(&data_);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (real == nullptr || !(*real >= -kLimit && *real < kLimit) || std::trunc(*real) != *real) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*real);
}

std::optional<double> Value::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&data_)) { return static_cast<double>(*whole); }
  if (const auto* real = std::get_if<double>(&data_)) { return *real; }
  return std::nullopt;
}

bool Value::boolOr(bool fallback) const {
  const auto* yes = std::get_if<bool>(&data_);
  return yes == nullptr ? fallback : *yes;
}

const Array& Value::items() const& {
  const auto* array = std::get_if<Array>(&data_);
  return array == nullptr ? kNoItems : *array;
}

const Object& Value::members() const& {
  const auto* object = std::get_if<Object>(&data_);
  return object == nullptr ? kNoMembers : *object;
}

Value& Value::child(std::string_view key) { return object()[key]; }

bool Value::erase(std::string_view key) {
  auto* object = std::get_if<Object>(&data_);
  return object != nullptr && object->erase(key);
}

Array& Value::array() {
  if (isNull()) { data_ = Array{}; }
  GS_CHECK(isArray(), "json: an array was meant, this is {}", print(*this).substr(0, 80));
  return std::get<Array>(data_);
}

Object& Value::object() {
  if (isNull()) { data_ = Object{}; }
  GS_CHECK(isObject(), "json: an object was meant, this is {}", print(*this).substr(0, 80));
  return std::get<Object>(data_);
}

Result<Value> parse(std::string_view text, const Reading& reading) { return build(text, reading); }

Result<Value> parse(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return fail(Code::Invalid,
                fmt::format("JSON of {} bytes is over the limit of {}", text.size(), max_bytes));
  }
  return build(text, {});
}

Value fromStrings(const std::map<std::string, std::string>& strings) {
  Object object;
  object.reserve(strings.size());
  for (const auto& [key, value] : strings) { object.append(key, value); }
  return object;
}

}  // namespace gs::json
