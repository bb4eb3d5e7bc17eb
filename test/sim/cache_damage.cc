#include "test/sim/cache_damage.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace gs::sim {
namespace {

namespace fs = std::filesystem;

/// The files of all trees.
std::vector<fs::path> filesOfTrees(const fs::path& store) {
  std::vector<fs::path> out;
  for (const auto& tree : fs::directory_iterator{store / "trees"}) {
    std::error_code none;  // a tree that is none yet
    for (const auto& one : fs::recursive_directory_iterator{tree.path() / "root", none}) {
      if (one.is_regular_file()) { out.push_back(one.path()); }
    }
  }
  return out;
}

std::vector<fs::path> filesBelow(const fs::path& folder, bool are_records) {
  std::vector<fs::path> out;
  for (const auto& one : fs::recursive_directory_iterator{folder}) {
    const bool is_record = one.path().filename() == "record.json";
    if (one.is_regular_file() && is_record == are_records) { out.push_back(one.path()); }
  }
  return out;
}

std::vector<fs::path> filesFor(const fs::path& store, Damage how) {
  switch (how) {
    case Damage::TreeRecord: return filesBelow(store / "trees", true);
    case Damage::LayerRecord: return filesBelow(store / "layers", false);
    case Damage::Content:
    case Damage::ContentBytes: return filesBelow(store / "files", false);
    default: return filesOfTrees(store);
  }
}

void overwrite(const fs::path& path, std::uintmax_t at) {
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(static_cast<std::streamoff>(at));
  file.put(kDamaged);
}

}  // namespace

bool isDamagedText(const std::string& has, const std::string& text) {
  const bool is_like = std::equal(has.begin(), has.end(), text.begin(), text.end(),
                                  [](char is, char was) { return is == was || is == kDamaged; });
  return is_like && has != text;
}

DamageDone damageStore(const fs::path& store, int which, Damage how) {
  std::vector<fs::path> all = filesFor(store, how);
  if (all.empty()) { return {}; }
  std::sort(all.begin(), all.end());
  const auto number = static_cast<std::size_t>(which);
  const fs::path& path = all[number % all.size()];
  DamageDone done{.is_any = true, .gone = {}};
  switch (how) {
    case Damage::Bytes:
    case Damage::TreeRecord:
    case Damage::LayerRecord: overwrite(path, 0); break;
    case Damage::ContentBytes:
      if (const auto size = fs::file_size(path); size > 0) { overwrite(path, number % size); }
      break;
    case Damage::Gone:
      done.gone = {path};
      fs::remove(path);
      break;
    case Damage::FolderGone:
      if (path.parent_path().filename() == "root") { break; }
      std::copy_if(all.begin(), all.end(), std::back_inserter(done.gone),
                   [&](const fs::path& one) { return one.parent_path() == path.parent_path(); });
      fs::remove_all(path.parent_path());
      break;
    case Damage::Content: fs::remove(path); break;
  }
  return done;
}

}  // namespace gs::sim
