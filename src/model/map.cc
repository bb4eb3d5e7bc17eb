#include "model/map.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "model/ids.h"

namespace gs::model {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// As Python's int(): a sign, digits, single underscores between them. nullopt: it is none, or has more than
/// 64 bits.
std::optional<std::int64_t> wholeNumber(std::string_view text) {
  text = trim(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) { text.remove_prefix(1); }
  std::string digits{negative ? "-" : ""};
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' ? !after_digit : !isDigit(c)) { return std::nullopt; }
    after_digit = c != '_';
    if (after_digit) { digits.push_back(c); }
  }
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return after_digit && error == std::errc{} ? std::optional{out} : std::nullopt;
}

/// The text before the first `mark`, and the one behind it; nullopt: there is no such.
std::optional<std::pair<std::string_view, std::string_view>> partedBy(char mark, std::string_view text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) { return std::nullopt; }
  return std::pair{trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

/// Digits and nothing else, up to the largest; nullopt: it is something else.
std::optional<int> gpuId(std::string_view word) {
  int id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  const bool all = error == std::errc{} && end == word.data() + word.size();
  return all && isDigit(word.front()) && id <= kMaxDeviceId ? std::optional{id} : std::nullopt;
}

}  // namespace

MapReading readMap(std::string_view text, std::int64_t ordinal) {
  MapReading out;
  std::optional<std::pair<std::string_view, std::string_view>> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view whole = trim(text.substr(at, end - at));
    at = end + 1;
    const auto line = partedBy('=', whole);
    if (!line) { continue; }
    const auto number = wholeNumber(line->first);
    if (!number) {
      out.ended_at = whole;
      break;
    }
    const auto entry = *number == ordinal ? partedBy(':', line->second) : std::nullopt;
    if (entry) { found = entry; }
  }
  if (found) { out.entry = MapEntry{std::string{found->first}, std::string{found->second}}; }
  return out;
}

std::optional<std::int64_t> ordinalOf(std::string_view name, std::string_view generate_name) {
  if (!generate_name.empty() && name.starts_with(generate_name)) {
    if (const auto ordinal = wholeNumber(name.substr(generate_name.size()))) { return ordinal; }
  }
  const auto at = name.rfind('-');
  return at == std::string_view::npos ? std::nullopt : wholeNumber(name.substr(at + 1));
}

Result<std::vector<int>> parseMapGpus(std::string_view gpus) {
  const auto wrong = [](std::string what) { return fail(Code::Invalid, std::move(what)); };
  std::vector<int> ids;
  std::string_view rest = trim(gpus);
  for (bool more = !rest.empty(); more;) {
    const auto comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view word = trim(rest.substr(0, comma));
    rest.remove_prefix(more ? comma + 1 : rest.size());
    const auto id = gpuId(word);
    if (word.find('/') != std::string_view::npos) {
      return wrong(fmt::format("'{}' names a MIG partition; a map names whole GPUs, by their ids",
                               word.substr(0, 64)));
    }
    if (!id) {
      return wrong(fmt::format("'{}' is no GPU id; write ids from 0 to {} with a comma between them",
                               word.substr(0, 64), kMaxDeviceId));
    }
    if (ids.size() == kMostMapGpus) {
      return wrong(fmt::format("names more than {} GPUs; one pod gets no more", kMostMapGpus));
    }
    ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) { return wrong(fmt::format("names GPU {} twice; write it once", *twice)); }
  return ids;
}

}  // namespace gs::model
