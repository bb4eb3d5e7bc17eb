// Label and field selectors of list and watch, as values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// Every requirement must hold. `!=` and `notin` match an object without the key.
class Selector {
 public:
  /// "a=b,c in (x,y),!d". Error 400 with the server's words.
  static Answer<Selector> labels(std::string_view text);
  /// "spec.nodeName=n1,status.phase!=Failed"; `resource` "group/plural" says which fields may be named.
  static Answer<Selector> fields(std::string_view text, const std::string& resource);
  [[nodiscard]] bool matches(const json::Value& object) const;
  [[nodiscard]] bool everything() const { return requirements_.empty(); }

  enum class Op : std::uint8_t { In, NotIn, Exists, Absent, Greater, Less };
  struct Requirement {
    std::vector<std::string> path;
    Op op{};
    std::vector<std::string> values;
  };

 private:
  std::vector<Requirement> requirements_;
};

}  // namespace gs::apiserver
