#include "process/suggest.h"

#include <algorithm>

namespace gs::process {

std::size_t distance(std::string_view a, std::string_view b) {
  // Of the first i letters of `a` to each beginning of `b`: this row, the one before,
  // and the one before that.
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> earlier(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) { row[j] = j; }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    earlier.swap(before);
    before.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], earlier[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1);
  for (const std::string& name : names) {
    const std::size_t away = distance(word, name);
    if (away < least || (away == least && !best)) {
      least = away;
      best = name;
    }
  }
  return best;
}

}  // namespace gs::process
