// A value that most objects of a kind do not have, where very many of them are kept: 8 bytes, and the value
// only where it is not as made by default. Reads like the value; change() is how it is written to.
// One thread, as any value; copies are real ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace gs {

template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) {  // NOLINT(google-explicit-constructor)
    if (!(value == none())) { held_ = std::make_unique<T>(std::move(value)); }
  }
  template <class U>
  requires(std::convertible_to<const U&, T> && !std::same_as<U, T> && !std::same_as<U, Rare>)
      Rare(const U& value)
      : Rare{T(value)} {}  // NOLINT(google-explicit-constructor)
  template <class Container = T>
  Rare(std::initializer_list<typename Container::value_type> items) : Rare{T(items)} {}
  Rare(const Rare& other) : held_{other.held_ == nullptr ? nullptr : std::make_unique<T>(*other.held_)} {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~Rare() = default;

  [[nodiscard]] const T& operator*() const { return held_ == nullptr ? none() : *held_; }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT(google-explicit-constructor)
  /// To be written to.
  [[nodiscard]] T& change() {
    if (held_ == nullptr) { held_ = std::make_unique<T>(); }
    return *held_;
  }

  // As containers and strings have it.
  [[nodiscard]] bool empty() const { return held_ == nullptr || held_->empty(); }
  [[nodiscard]] auto size() const requires(requires(const T& value) { value.size(); }) {
    return (**this).size();
  }
  [[nodiscard]] auto begin() const requires(requires(const T& value) { value.begin(); }) {
    return (**this).begin();
  }
  [[nodiscard]] auto end() const requires(requires(const T& value) { value.end(); }) {
    return (**this).end();
  }
  [[nodiscard]] const auto& operator[](std::size_t i) const requires(requires(const T& value) { value[i]; }) {
    return (**this)[i];
  }
  template <class Container = T>
  void push_back(typename Container::value_type item) {  // NOLINT(readability-identifier-naming)
    change().push_back(std::move(item));
  }

  friend bool operator==(const Rare& a, const Rare& b) { return *a == *b; }
  template <class U>
  requires(!std::same_as<U, Rare>) friend bool operator==(const Rare& a, const U& b) { return *a == b; }

 private:
  static const T& none() {
    static const T value{};
    return value;
  }

  std::unique_ptr<T> held_;
};

}  // namespace gs
