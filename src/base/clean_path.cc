#include "base/clean_path.h"

#include <algorithm>

namespace gs {

bool isCleanPath(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.find('\0') != std::string_view::npos) { return false; }
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") { return false; }
    at = end + 1;
  }
  return true;
}

}  // namespace gs
