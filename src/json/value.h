// A JSON document as a plain value. Parsing is libraries' (document.cc, read_exact.cc).
//
// Invariants: object members keep their order (printing gives what was read) and keys are unique (a repeated
// key: the last wins); integers keep 64 bits, other numbers are double. Reading never fails: a missing member
// or a wrong type reads as null / "" / nullopt, so decoding outside input needs no checks before each step.
// Parsing refuses depth > 100 and text over the given size; the error says where.
// Equality is by content: object member order does not matter, 1 == 1 whatever integer type, 1 != 1.0.
// A double prints as Go prints it, but a whole one keeps ".0" (so that parse(print(v)) == v).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/cow.h"
#include "base/result.h"

namespace gs::json {

class Value;
using Array = std::vector<Value>;
using Member = std::pair<std::string, Value>;

/// Members in order of insertion; look-up is linear (objects here have few members).
/// Copies are cheap: they share the members until one of them is changed, also across threads. What was
/// handed out to be written to (a reference, an iterator) belongs to this object alone: an object with such a
/// thing out is copied for real. It is good until the object is moved from, or a member comes or goes.
class Object {
 public:
  Object();
  Object(std::initializer_list<Member> members);
  Object(const Object&);
  Object(Object&&) noexcept;
  Object& operator=(const Object&);
  Object& operator=(Object&&) noexcept;
  ~Object();
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  Value& operator[](std::string_view key);  // inserts null
  bool erase(std::string_view key);
  void set(std::string_view key, Value value);
  void append(std::string key, Value value);  // the caller knows that the key is new
  void reserve(std::size_t members);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] Member* begin();
  [[nodiscard]] Member* end();
  [[nodiscard]] const Member* begin() const;
  [[nodiscard]] const Member* end() const;
  /// Nothing was changed since one was copied from the other: equal, without looking at what is in them.
  [[nodiscard]] bool isCopyOf(const Object& other) const {
    return members_.read() != nullptr && members_.sameAs(other.members_);
  }
  friend bool operator==(const Object& a, const Object& b);

 private:
  [[nodiscard]] std::optional<std::size_t> place(std::string_view key) const;
  std::vector<Member>& lend();

  Cow<std::vector<Member>> members_;
  bool lent_ = false;  // a reference into them went out
};

class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool v) : data_{v} {}
  Value(int v) : data_{std::int64_t{v}} {}
  Value(long v) : data_{std::int64_t{v}} {}
  Value(long long v) : data_{std::int64_t{v}} {}
  Value(unsigned v) : data_{std::int64_t{v}} {}
  Value(unsigned long v) : Value{static_cast<unsigned long long>(v)} {}
  Value(unsigned long long v);  // over 2^63 - 1: a double
  Value(double v) : data_{v} {}
  Value(const char* v) : data_{std::string{v}} {}
  Value(std::string_view v) : data_{std::string{v}} {}
  Value(std::string v) : data_{std::move(v)} {}
  Value(Array v) : data_{std::move(v)} {}
  Value(Object v) : data_{std::move(v)} {}

  [[nodiscard]] bool isNull() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] bool isObject() const { return std::holds_alternative<Object>(data_); }
  [[nodiscard]] bool isArray() const { return std::holds_alternative<Array>(data_); }
  [[nodiscard]] bool isString() const { return std::holds_alternative<std::string>(data_); }
  [[nodiscard]] bool isBool() const { return std::holds_alternative<bool>(data_); }
  [[nodiscard]] bool isInt() const { return std::holds_alternative<std::int64_t>(data_); }
  [[nodiscard]] bool isNumber() const { return isInt() || std::holds_alternative<double>(data_); }

  // Reading, never failing.
  // On a temporary they return values, so `get()["items"].items()` is safe in a range-for.
  [[nodiscard]] const Value& operator[](std::string_view key) const&;  // null when absent
  [[nodiscard]] const Value& operator[](const char* key) const& { return (*this)[std::string_view{key}]; }
  [[nodiscard]] Value operator[](std::string_view key) && { return std::as_const(*this)[key]; }
  [[nodiscard]] Value operator[](const char* key) && { return std::as_const(*this)[std::string_view{key}]; }
  [[nodiscard]] const Value& at(std::size_t index) const&;    // null when out of range
  [[nodiscard]] std::string_view str() const&;                // "" unless a string
  [[nodiscard]] std::optional<std::int64_t> integer() const;  // only whole numbers
  [[nodiscard]] std::int64_t intOr(std::int64_t fallback) const { return integer().value_or(fallback); }
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] bool boolOr(bool fallback) const;
  [[nodiscard]] const Array& items() const&;     // empty unless an array
  [[nodiscard]] const Object& members() const&;  // empty unless an object
  [[nodiscard]] Value at(std::size_t index) && { return std::as_const(*this).at(index); }
  [[nodiscard]] std::string str() && { return std::string{std::as_const(*this).str()}; }
  [[nodiscard]] Array items() && { return std::as_const(*this).items(); }
  [[nodiscard]] Object members() && { return std::as_const(*this).members(); }
  [[nodiscard]] const Value* find(std::string_view key) const&;  // nullptr when absent or not an object
  const Value* find(std::string_view key) && = delete;

  // Changing. `child` turns null into an object; on any other type it is a bug of the caller.
  Value& child(std::string_view key);
  void set(std::string_view key, Value v) { object().set(key, std::move(v)); }
  bool erase(std::string_view key);
  Array& array();    // turns null into []
  Object& object();  // turns null into {}

  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
};

// Here because they need a complete Value.
inline std::size_t Object::size() const { return members_.read() == nullptr ? 0 : members_.read()->size(); }
inline bool Object::empty() const { return size() == 0; }
inline const Member* Object::begin() const {
  return members_.read() == nullptr ? nullptr : members_.read()->data();
}
inline const Member* Object::end() const { return begin() + size(); }

inline constexpr std::size_t kMaxText = std::size_t{256} << 20;

/// One JSON text. Error: Code::Invalid with the offset and what was expected. To read it only:
/// Document (document.h).
[[nodiscard]] Result<Value> parse(std::string_view text, std::size_t max_bytes = kMaxText);

/// Compact text. Escapes like Go's encoder (\u003c \u003e \u0026 for < > &),
/// which wire-compatible peers expect.
/// NaN and infinities print as null. Invalid UTF-8 prints as U+FFFD.
[[nodiscard]] std::string print(const Value& value);
/// Appends `text` as print() prints a string.
void appendString(std::string& out, std::string_view text);
/// Indented as Go's MarshalIndent does it; kubectl -o json uses four spaces.
[[nodiscard]] std::string printPretty(const Value& value, int indent = 4);

/// {"a":"b"} from a map of strings.
[[nodiscard]] Value fromStrings(const std::map<std::string, std::string>& strings);

}  // namespace gs::json
