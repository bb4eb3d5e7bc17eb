#include "model/map.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "base/dns_name.h"
#include "base/utf8.h"
#include "model/ids.h"

namespace gs::model {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

constexpr std::size_t kMostKept = 300;   // of a text that is shown or refused only
constexpr std::size_t kMostQuoted = 64;  // of a word that is no id

/// A whole number of any size.
struct Whole {
  std::optional<std::int64_t> value;  // nullopt: it has more than 64 bits
};

/// As Python's int(): a sign, digits, single underscores between them. nullopt: it is none.
std::optional<Whole> wholeNumber(std::string_view text) {
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
  if (!after_digit) { return std::nullopt; }
  return Whole{error == std::errc{} ? std::optional{out} : std::nullopt};
}

std::string quoted(std::string_view word) { return fmt::format("'{}'", utf8Prefix(word, kMostQuoted)); }

bool isLetterOrDigit(char c) { return isDigit(c) || (lowerAscii(c) >= 'a' && lowerAscii(c) <= 'z'); }

/// Letters, digits and what of `others` is not at its ends.
bool isName(std::string_view text, std::string_view others, std::size_t most) {
  return !text.empty() && text.size() <= most && isLetterOrDigit(text.front()) &&
         isLetterOrDigit(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
           return isLetterOrDigit(c) || others.find(c) != std::string_view::npos;
         });
}

/// Its start, and a mark that there is more.
std::string beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) { return std::string{text}; }
  return std::string{utf8Prefix(text, most)} + "...";
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
    if (number->value != ordinal) { continue; }
    if (const auto entry = partedBy(':', line->second)) {
      found = entry;
    } else {
      out.without_colon = line->second;
    }
  }
  if (found) { out.entry = MapEntry{std::string{found->first}, std::string{found->second}}; }
  return out;
}

std::string ownMap(std::string_view text, std::int64_t ordinal) {
  const MapReading read = readMap(text, ordinal);
  std::string out;
  if (read.entry) {
    out = fmt::format("{}={}:{}", ordinal, beginning(read.entry->node, kMostKept),
                      beginning(read.entry->gpus, kMostMapText + 4));
  } else if (!read.without_colon.empty()) {
    out = fmt::format("{}={}", ordinal, beginning(read.without_colon, kMostKept));
  }
  if (read.ended_at.empty()) { return out; }
  const std::string end = beginning(read.ended_at, kMostKept);
  return fmt::format("{}\n{}{}", out, end, end.find('=') == std::string::npos ? "=" : "");
}

std::optional<std::int64_t> ordinalOf(std::string_view name, std::string_view generate_name) {
  if (!generate_name.empty() && name.starts_with(generate_name)) {
    if (const auto ordinal = wholeNumber(name.substr(generate_name.size()))) { return ordinal->value; }
  }
  const auto at = name.rfind('-');
  const auto ordinal = at == std::string_view::npos ? std::nullopt : wholeNumber(name.substr(at + 1));
  return ordinal ? ordinal->value : std::nullopt;
}

bool isLabelValue(std::string_view text) { return isName(text, "-_.", kMostLabelValue); }

bool isNodeName(std::string_view text) { return isDnsSubdomain(text); }

Result<std::vector<int>> parseMapGpus(std::string_view gpus) {
  const auto wrong = [](std::string what) { return fail(Code::Invalid, std::move(what)); };
  if (gpus.size() > kMostMapText) {
    return wrong(
        fmt::format("the GPU ids are {} bytes long; write no more than {}", gpus.size(), kMostMapText));
  }
  std::vector<int> ids;
  std::string_view rest = trim(gpus);
  for (bool more = !rest.empty(); more;) {
    const auto comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view word = trim(rest.substr(0, comma));
    rest.remove_prefix(more ? comma + 1 : rest.size());
    const auto id = gpuId(word);
    if (word.find('/') != std::string_view::npos) {
      return wrong(
          fmt::format("{} names a MIG partition; a map names whole GPUs, by their ids", quoted(word)));
    }
    if (!id) {
      return wrong(fmt::format("{} is no GPU id; write ids from 0 to {} with a comma between them",
                               quoted(word), kMaxDeviceId));
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

bool tellsSame(std::string_view told, std::string_view gpus) {
  if (told == gpus) { return true; }
  const auto a = parseMapGpus(told);
  const auto b = parseMapGpus(gpus);
  return a && b && *a == *b;
}

}  // namespace gs::model
