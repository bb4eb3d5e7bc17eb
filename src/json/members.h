// Makes an object of members as they are read: the last value of a repeated key, at the place of the first.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "json/value.h"

namespace gs::json {

class Members {
 public:
  explicit Members(std::size_t count) : many_{count > kFew} {
    object_.reserve(count);
    if (many_) { places_.reserve(count); }
  }
  /// The key's text outlives this.
  void add(std::string_view key, Value value) {
    if (Value* known = find(key)) {
      *known = std::move(value);
    } else {
      object_.append(std::string{key}, std::move(value));
    }
  }
  [[nodiscard]] Object take() { return std::move(object_); }

 private:
  static constexpr std::size_t kFew = 16;

  /// The member of this key; it is noted when it is new.
  Value* find(std::string_view key) {
    if (!many_) { return object_.find(key); }
    const auto [place, is_new] = places_.try_emplace(key, object_.size());
    return is_new ? nullptr : &(object_.begin() + place->second)->second;
  }

  Object object_;
  bool many_;  // then `places_` is used, else members are compared one by one
  std::unordered_map<std::string_view, std::size_t> places_;
};

}  // namespace gs::json
