#include "kcache/content/findings.h"

#include <fmt/format.h>

namespace gs::kcache {
namespace {

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

PathParts partsOf(std::string_view path) {
  PathParts out;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool isRank(std::string_view name) {
  constexpr std::string_view kRank = "rank_";
  if (!name.starts_with(kRank)) { return false; }
  name.remove_prefix(kRank.size());
  const std::size_t middle = name.find('_');
  return middle != std::string_view::npos && isNumber(name.substr(0, middle)) &&
         isNumber(name.substr(middle + 1));
}

std::optional<std::string> Findings::textOf(const CacheFile& file) {
  auto text = read_(file.path);
  if (text) { return std::move(*text); }
  note(file, text.error().message);
  return std::nullopt;
}

void Findings::note(std::string sentence) {
  if (std::find(notes_.begin(), notes_.end(), sentence) != notes_.end()) { return; }
  if (notes_.size() < kMostNotes) {
    notes_.push_back(std::move(sentence));
  } else {
    ++left_out_;
  }
}

void Findings::note(const CacheFile& file, std::string_view what) {
  note(fmt::format("{}: {}", file.path, what));
}

std::vector<std::string> Findings::notes() const {
  std::vector<std::string> out = notes_;
  if (left_out_ > 0) { out.push_back(fmt::format("and {} more such notes", left_out_)); }
  return out;
}

}  // namespace gs::kcache
