// All CDI devices of a node by their qualified names, as a container runtime resolves them.
//
// A file of a later directory wins over those of earlier ones. A name that two files of one directory define
// is in conflict and resolves to nothing, whatever a later directory says of it: so it is in the runtimes'
// library. Files that cannot be read take nobody else's devices along; they are said.
// A value; it never changes, and shares its specs with its copies. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "enforce/cdi/spec.h"

namespace gs::enforce::cdi {

using SpecPtr = std::shared_ptr<const Spec>;

/// One that could be read.
struct SpecFile {
  std::size_t directory = 0;  // its place among the directories: later ones win
  SpecPtr spec;
  friend bool operator==(const SpecFile&, const SpecFile&) = default;
};

/// A device that resolves. Never null; valid on its own.
struct Entry {
  SpecPtr spec;
  const Device* device = nullptr;  // in *spec
  [[nodiscard]] std::string name() const { return spec->kind.text() + "=" + device->name; }
};

class Index {
 public:
  Index() = default;
  /// `files` of one directory in the order in which they are to be named. `broken`: a sentence for each file
  /// or directory that could not be read.
  explicit Index(const std::vector<SpecFile>& files, std::vector<std::string> broken = {});

  /// By the qualified name. Error Invalid: it is none; Conflict: two files of one directory define it;
  /// NotFound: none does. The message says which files or names there are.
  [[nodiscard]] Result<Entry> find(std::string_view name) const;
  /// The same, where nobody reads the sentence; nullopt: it is an error. O(log n).
  [[nodiscard]] std::optional<Entry> resolve(std::string_view name) const;
  /// All that resolve of a kind ("nvidia.com/gpu"), by name.
  [[nodiscard]] std::vector<Entry> devicesOfKind(std::string_view kind) const;

  /// What could not be read, and names in conflict: a sentence each, for people.
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  /// How many names resolve.
  [[nodiscard]] std::size_t size() const { return devices_.size() - in_conflict_; }

 private:
  struct Slot {
    Entry entry;
    std::size_t directory = 0;
    std::string other;  // the file that is in conflict with the entry's; "": none
  };
  using Slots = std::map<std::string, Slot, std::less<>>;

  void add(const SpecFile& file);
  void sayConflicts();
  [[nodiscard]] std::string whatThereIs(const QualifiedName& name) const;

  Slots devices_;
  std::size_t in_conflict_ = 0;
  std::vector<std::string> broken_;
};

}  // namespace gs::enforce::cdi
