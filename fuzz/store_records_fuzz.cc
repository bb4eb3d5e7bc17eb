// Any bytes as a record of the store and as the answer of a token server: no crash, no hang; what is accepted
// leads nowhere out of the store, and is printed and read again as the same.
#include <cstdint>
#include <string_view>

#include "cacherim/registry/token_answer.h"
#include "cacherim/store/store_records.h"

namespace {

void look(const std::map<std::string, gs::cacherim::StoredFile>& files) {
  for (const auto& [path, file] : files) {
    if (path.starts_with('/') || path == ".." || path.starts_with("../") || file.hex.size() != 64) {
      __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto layer = gs::cacherim::parseLayer(text)) {
    look(layer->files);
    const auto again = gs::cacherim::parseLayer(gs::cacherim::printLayer(*layer));
    if (!again || *again != *layer) { __builtin_trap(); }
  }
  if (const auto tree = gs::cacherim::parseTree(text)) {
    look(tree->extras);
    const auto again = gs::cacherim::parseTree(gs::cacherim::printTree(*tree));
    if (!again || *again != *tree) { __builtin_trap(); }
  }
  if (const auto token = gs::cacherim::parseTokenAnswer(text)) {
    if (token->token.empty() || token->token.find_first_of("\r\n ") != std::string::npos) {
      __builtin_trap();
    }
  }
  return 0;
}
