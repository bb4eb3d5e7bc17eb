#include "k8s/files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace gs::k8s {

Result<std::string> readFile(const std::string& path, std::size_t max_bytes) {
  struct stat what {};
  if (::stat(path.c_str(), &what) != 0) {
    const Code code = errno == ENOENT || errno == ENOTDIR ? Code::NotFound : Code::Unavailable;
    return fail(code, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(what.st_mode)) {
    return fail(Code::Unavailable, fmt::format("cannot read {}: it is a folder", path));
  }
  std::ifstream in{path, std::ios::binary};
  std::string text(max_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.eof()) {
    if (!in.bad() && static_cast<std::size_t>(in.gcount()) > max_bytes) {
      return fail(Code::Invalid, fmt::format("{} is over {} bytes", path, max_bytes));
    }
    return fail(Code::Unavailable, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) { return {}; }
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace gs::k8s
