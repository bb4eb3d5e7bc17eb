// What disks and people do to the store of a machine: files that are gone, and bytes that are others.
// Nothing of the store's code is asked: its folders are known by their names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gs::sim {

enum class Damage : std::uint8_t {
  Bytes,       // a file of a tree
  Gone,        // the same
  FolderGone,  // with all files beside it
  TreeRecord,
  LayerRecord,
  Content,       // is gone: one that trees are made of
  ContentBytes,  // somewhere in one, so in every tree that has it, and in those that will have it
};
/// Those before ContentBytes, which plans draw with equal chance.
inline constexpr int kEvenDamages = 6;

/// What stands in the place of a byte; no file of an image has it.
inline constexpr char kDamaged = '!';
/// `has` is `text` but for damaged bytes, of which there are some.
[[nodiscard]] bool isDamagedText(const std::string& has, const std::string& text);

struct DamageDone {
  bool is_any = false;                      // false: there was nothing to damage
  std::vector<std::filesystem::path> gone;  // files of trees that were taken away
};
/// To one of the files that there are of that kind, by any number.
DamageDone damageStore(const std::filesystem::path& store, int which, Damage how);

}  // namespace gs::sim
