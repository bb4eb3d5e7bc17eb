// JSON text to read without making values of it, for what is long or comes often: lists, watches,
// request bodies.
//
//   Document   a text that was checked as a whole and is JSON; owns what its views look into
//   View       a place in a Document or in a Value: the same reading functions as Value's, and they never
//              fail either
//
// What holds for json::parse() (value.h) holds here: depth, errors, 64-bit integers, the last of a repeated
// key. A view is three words to copy and is valid as long as what it looks into: the Document (which may be
// moved), or the Value (which may not change). Looking a key up is linear.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "json/value.h"

namespace gs::json {

class View {
 public:
  template <class Element>
  class Iterator;
  template <class Element>
  class Range;
  using Items = Range<Value>;
  using MemberViews = Range<Member>;
  /// In a Document; only document.cc knows what it means.
  struct Place {
    const void* document = nullptr;
    std::size_t at = 0;
  };

  View() = default;                             // null
  View(const Value& value) : value_{&value} {}  // of a temporary: for the statement, as a std::string_view
  explicit View(Place place) : place_{place} {}

  [[nodiscard]] bool isNull() const { return type() == Type::Null; }
  [[nodiscard]] bool isObject() const { return type() == Type::Object; }
  [[nodiscard]] bool isArray() const { return type() == Type::Array; }
  [[nodiscard]] bool isString() const { return type() == Type::String; }
  [[nodiscard]] bool isNumber() const { return type() == Type::Number; }

  [[nodiscard]] View operator[](std::string_view key) const;
  [[nodiscard]] std::optional<View> find(std::string_view key) const;  // nullopt when absent or not an object
  [[nodiscard]] View at(std::size_t index) const;
  [[nodiscard]] std::string_view str() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] std::int64_t intOr(std::int64_t fallback) const { return integer().value_or(fallback); }
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] bool boolOr(bool fallback) const;
  [[nodiscard]] Items items() const;          // empty unless an array
  [[nodiscard]] MemberViews members() const;  // empty unless an object

  /// A copy of what is here.
  [[nodiscard]] Value value() const;

 private:
  enum class Type { Null, Bool, Number, String, Array, Object };
  [[nodiscard]] Type type() const;

  const Value* value_ = nullptr;  // else `place_`, else null
  Place place_;
};

/// Over Values (gives views) or Members (gives keys with views), or over what stands for them in a Document.
template <class Element>
class View::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type =
      std::conditional_t<std::is_same_v<Element, Value>, View, std::pair<std::string_view, View>>;
  using reference = value_type;
  using pointer = void;

  Iterator(const Element* element, Place place) : element_{element}, place_{place} {}
  value_type operator*() const;
  Iterator& operator++();
  friend bool operator==(const Iterator& a, const Iterator& b) {
    return a.element_ == b.element_ && a.place_.at == b.place_.at;
  }

 private:
  const Element* element_;  // else `place_`
  Place place_;
};

template <>
View View::Iterator<Value>::operator*() const;
template <>
std::pair<std::string_view, View> View::Iterator<Member>::operator*() const;

/// The elements of an array or the members of an object, in order.
/// What it gives is valid as long as it is itself.
template <class Element>
class View::Range {
 public:
  [[nodiscard]] Iterator<Element> begin() const { return begin_; }
  [[nodiscard]] Iterator<Element> end() const { return end_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  friend class View;
  Range(Iterator<Element> begin, Iterator<Element> end, std::size_t size)
      : begin_{begin}, end_{end}, size_{size} {}
  Iterator<Element> begin_;
  Iterator<Element> end_;
  std::size_t size_;
  std::shared_ptr<const Value> without_repeats_;  // of an object in a Document that repeats a key
};

class Document {
 public:
  /// Error: as json::parse().
  [[nodiscard]] static Result<Document> read(std::string_view text, std::size_t max_bytes = kMaxText);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  [[nodiscard]] View root() const;
  /// The whole as a value; the document is of no use then.
  [[nodiscard]] Value take() &&;

 private:
  struct Checked;
  explicit Document(std::unique_ptr<Checked> checked);
  std::unique_ptr<Checked> checked_;
};

}  // namespace gs::json
