#include "apiserver/meta/warnings.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"

namespace gs::apiserver {
namespace {

/// Its first `most` characters.
void cutTo(std::string& text, std::size_t most) {
  std::string_view rest = text;
  for (std::size_t n = 0; n < most && !rest.empty(); ++n) {
    rest.remove_prefix(std::max<std::size_t>(utf8Length(rest), 1));
  }
  text.resize(text.size() - rest.size());
}

}  // namespace

std::vector<std::string> boundedWarnings(std::vector<std::string> said) {
  std::unordered_set<std::string> seen;
  std::erase_if(said, [&](const std::string& text) { return text.empty() || !seen.insert(text).second; });
  std::size_t total = 0;
  for (const auto& text : said) { total += codePoints(text); }
  if (total <= kMaxWarnings) { return said; }
  std::vector<std::string> out;
  for (std::size_t written = 0; auto& text : said) {
    if (written >= kMaxWarnings) { break; }
    cutTo(text, kMaxWarning);
    written += codePoints(text);
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace gs::apiserver
