// Runs a fuzz target over the files of its corpus folder, so that `make test` replays what fuzzing found. An
// empty input always comes first; a missing folder is an error, so that no corpus gets lost unseen.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void runOne(const std::string& bytes) {
  // A heap block of exactly this size, so that AddressSanitizer sees a read behind its end.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\nnot a folder: %s\n", argv[0],
                 argc > 1 ? argv[1] : "(none)");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{argv[1]}) {
    if (entry.is_regular_file()) { files.push_back(entry.path()); }
  }
  std::sort(files.begin(), files.end());
  runOne({});
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // the last line names the culprit
    std::ifstream in{file, std::ios::binary};
    runOne({std::istreambuf_iterator<char>{in}, {}});
  }
  std::printf("%zu inputs\n", files.size() + 1);
  return 0;
}
