// What a benchmark with --json FILE prints and writes (tools/bench reads it).
#pragma once

#include <cstdio>
#include <string>

namespace gs::bench {

/// `json` to stdout and to the file; what main() returns.
inline int writeFigures(const std::string& json, const char* path) {
  std::fputs(json.c_str(), stdout);
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot write %s\n", path);
    return 1;
  }
  std::fputs(json.c_str(), file);
  return std::fclose(file) == 0 ? 0 : 1;
}

}  // namespace gs::bench
