// The part of Kubernetes' JSONPath that printer columns use: .a.b, a\.b escapes, [0], [-1], [*], ['a'], and
// [?(@.type=="Ready")] with == and !=.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace gs::apiserver {

class JsonPath {
 public:
  /// ".spec.x", with or without braces around it. Nothing: malformed or beyond this subset.
  [[nodiscard]] static std::optional<JsonPath> compile(std::string_view text);
  /// What it finds, in order; pointers into `root`.
  [[nodiscard]] std::vector<const json::Value*> find(const json::Value& root) const;

 private:
  struct Step {
    enum class Kind : std::uint8_t { Member, Index, All, Filter } kind = Kind::Member;
    std::string name;  // Member; Filter: the value compared with
    long index = 0;
    std::vector<std::string> filter_path;
    bool negated = false;  // Filter: !=
  };
  [[nodiscard]] static std::optional<Step> bracket(std::string_view inside);
  [[nodiscard]] static std::optional<Step> filter(std::string_view body);
  [[nodiscard]] static bool passes(const Step& filter, const json::Value& item);
  static void apply(const Step& step, const json::Value& at, std::vector<const json::Value*>& out);
  std::vector<Step> steps_;
};

}  // namespace gs::apiserver
