// JsonPatch: a JSON patch (RFC 6902) that grows, as its text. Over kMost bytes it is dropped: a review's
// answer has a limit.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "json/value.h"

namespace gs::admission {

class JsonPatch {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  void add(std::string path, json::Value value) { op("add", std::move(path), std::move(value)); }
  void replace(std::string path, json::Value value) { op("replace", std::move(path), std::move(value)); }
  void remove(std::string path) { append(json::Object{{"op", "remove"}, {"path", std::move(path)}}); }
  [[nodiscard]] bool isTooLong() const { return is_too_long_; }
  /// "": nothing is changed.
  [[nodiscard]] std::string text() && { return text_.empty() ? std::string{} : std::move(text_) + "]"; }

 private:
  void op(const char* name, std::string path, json::Value value) {
    append(json::Object{{"op", name}, {"path", std::move(path)}, {"value", std::move(value)}});
  }
  void append(const json::Value& operation) {
    if (is_too_long_) { return; }
    text_ += text_.empty() ? '[' : ',';
    text_ += json::print(operation);
    is_too_long_ = text_.size() >= kMost;
    if (is_too_long_) { text_ = {}; }
  }
  std::string text_;
  bool is_too_long_ = false;
};

}  // namespace gs::admission
