#include "sandbox/controllers/indexes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace gs::sandbox::controllers {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 0) { return std::nullopt; }
  return out;
}

}  // namespace

std::string indexText(const Indexes& indexes) {
  std::string out;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const std::int64_t first = *it;
    std::int64_t last = first;
    while (++it != indexes.end() && *it == last + 1) { last = *it; }
    if (!out.empty()) { out += ','; }
    out += std::to_string(first);
    if (last != first) { out += fmt::format("{}{}", last == first + 1 ? "," : "-", last); }
  }
  return out;
}

Indexes readIndexes(std::string_view text, std::int64_t end) {
  Indexes out;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto part = text.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (first && last) {
      for (std::int64_t i = *first; i <= std::min(*last, end - 1); ++i) { out.insert(i); }
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

}  // namespace gs::sandbox::controllers
