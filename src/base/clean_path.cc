#include "base/clean_path.h"

#include <algorithm>
#include <filesystem>

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

std::string cleanedPath(std::string_view written) {
  std::string out = std::filesystem::path{"/" + std::string{written}}.lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') { out.pop_back(); }
  return out.starts_with("//") ? out.substr(1) : out;
}

}  // namespace gs
