// A decoded object of any kind: a shared value that never changes and knows its own type.
//
// A new type needs nothing here. It has `uid`, `revision`, `==` and `key`, or a keyOf(const T&)
// beside it in its namespace.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "model/ids.h"

namespace gs::model {

template <class T>
using Ptr = std::shared_ptr<const T>;

template <class T>
requires requires(const T& value) { value.key; }
[[nodiscard]] const ObjectKey& keyOf(const T& value) { return value.key; }

class Object {
 public:
  Object() = default;
  template <class T>
  Object(std::shared_ptr<T> value)  // NOLINT(google-explicit-constructor)
      : type_{&kType<std::remove_const_t<T>>}, value_{std::move(value)} {}

  /// Nothing: no body, or a kind that we do not decode.
  [[nodiscard]] bool empty() const { return value_ == nullptr; }
  template <class T>
  [[nodiscard]] bool is() const {
    return !empty() && type_ == &kType<T>;
  }
  /// nullptr: it is nothing or of another type.
  template <class T>
  [[nodiscard]] Ptr<T> as() const {
    return is<T>() ? std::static_pointer_cast<const T>(value_) : nullptr;
  }

  [[nodiscard]] ObjectKey key() const { return empty() ? ObjectKey{} : type_->key(value_.get()); }
  [[nodiscard]] const Uid& uid() const;  // of a non-empty object
  [[nodiscard]] Revision revision() const { return empty() ? 0 : type_->revision(value_.get()); }
  /// Of one type, and equal values.
  friend bool operator==(const Object& a, const Object& b);

 private:
  struct Type {
    ObjectKey (*key)(const void* value);
    const Uid& (*uid)(const void* value);
    Revision (*revision)(const void* value);
    bool (*equal)(const void* a, const void* b);
  };
  template <class T>
  static const T& of(const void* value) {
    return *static_cast<const T*>(value);
  }
  /// One for each type: its address says which.
  template <class T>
  static constexpr Type kType{
      [](const void* value) -> ObjectKey { return keyOf(of<T>(value)); },
      [](const void* value) -> const Uid& { return of<T>(value).uid; },
      [](const void* value) -> Revision { return of<T>(value).revision; },
      [](const void* a, const void* b) -> bool { return of<T>(a) == of<T>(b); },
  };

  const Type* type_ = nullptr;
  std::shared_ptr<const void> value_;
};

}  // namespace gs::model
