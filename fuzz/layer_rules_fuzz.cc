// Any names, a line each, as entries of layers: what is taken lies below the cache's root, is no file and a
// folder at once, comes once in a layer, and is no more than the limits say. A line begins with a letter: f,
// d, l (link), or + for a new layer.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kcache/layer/rules.h"

namespace {

using gs::kcache::EntryKind;
using gs::kcache::Placed;

void check(bool holds) {
  if (!holds) { __builtin_trap(); }
}

struct Seen {
  std::map<std::string, bool> is_folder;
  std::set<std::string> files_of_layer;

  void take(const Placed& placed) {
    if (placed.where != Placed::Where::Cache || placed.path.empty()) { return; }
    const std::string framed = "/" + placed.path + "/";
    check(framed.find("/../") == std::string::npos && framed.find("//") == std::string::npos);
    check(placed.path.find('\0') == std::string::npos);
    const auto [known, is_new] = is_folder.emplace(placed.path, placed.is_folder);
    check(known->second == placed.is_folder);
    if (!placed.is_folder) { check(files_of_layer.insert(placed.path).second); }
    for (auto at = placed.path.find('/'); at != std::string::npos; at = placed.path.find('/', at + 1)) {
      const auto above = is_folder.emplace(placed.path.substr(0, at), true).first;
      check(above->second);
    }
  }
};

EntryKind kindOf(char letter) {
  if (letter == 'd') { return EntryKind::Folder; }
  return letter == 'l' ? EntryKind::SymbolicLink : EntryKind::File;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view in{reinterpret_cast<const char*>(data), size};
  constexpr std::size_t kMost = 256;
  gs::kcache::LayerRules rules{{.most_entries = kMost}};
  rules.beginLayer();
  Seen seen;
  while (!in.empty()) {
    const std::string_view line = in.substr(0, in.find('\n'));
    in.remove_prefix(std::min(line.size() + 1, in.size()));
    if (line.empty()) { continue; }
    if (line[0] == '+') {
      rules.beginLayer();
      seen.files_of_layer.clear();
      continue;
    }
    const auto placed = rules.place({.name = line.substr(1), .kind = kindOf(line[0]), .size = 1});
    if (!placed) {
      check(!placed.error().message.empty());
      continue;
    }
    check(kindOf(line[0]) != EntryKind::SymbolicLink || placed->where == Placed::Where::Nowhere);
    seen.take(*placed);
    check(seen.is_folder.size() <= kMost);
  }
  return 0;
}
