#include "enforce/cdi/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/because.h"

namespace gs::enforce::cdi {
namespace {

constexpr std::size_t kMostNamesShown = 8;
constexpr const char* kConflict = "container runtimes resolve it to neither; remove one of the two files";

}  // namespace

Index::Index(const std::vector<SpecFile>& files, std::vector<std::string> broken)
    : broken_{std::move(broken)} {
  std::vector<const SpecFile*> ordered;
  ordered.reserve(files.size());
  for (const SpecFile& file : files) { ordered.push_back(&file); }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const SpecFile* a, const SpecFile* b) { return a->directory < b->directory; });
  for (const SpecFile* file : ordered) { add(*file); }
  sayConflicts();
}

void Index::add(const SpecFile& file) {
  const std::string kind = file.spec->kind.text();
  for (const Device& device : file.spec->devices) {
    Slot slot{{file.spec, &device}, file.directory, {}};
    const auto [it, is_new] = devices_.try_emplace(fmt::format("{}={}", kind, device.name), slot);
    if (is_new) { continue; }
    Slot& known = it->second;
    if (!known.other.empty()) { continue; }  // a conflict stays one
    if (known.directory < file.directory) {
      known = std::move(slot);
    } else {
      known.other = file.spec->file;
    }
  }
}

void Index::sayConflicts() {
  struct Names {
    std::string first;
    std::size_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Names> by_files;
  for (const auto& [name, slot] : devices_) {
    if (slot.other.empty()) { continue; }
    ++in_conflict_;
    Names& names = by_files[{slot.entry.spec->file, slot.other}];
    if (names.count++ == 0) { names.first = name; }
  }
  for (const auto& [files, names] : by_files) {
    const std::string more = names.count == 1 ? "" : fmt::format(" and {} more", names.count - 1);
    broken_.push_back(fmt::format("{} and {} both define {}{}: {}", files.first, files.second, names.first,
                                  more, kConflict));
  }
}

Result<Entry> Index::find(std::string_view name) const {
  const auto it = devices_.find(name);
  if (it == devices_.end()) {
    const auto parsed = parseQualifiedName(name);
    if (!parsed) { return because(parsed.error()); }
    return fail(Code::NotFound, fmt::format("no CDI device {}: {}", name, whatThereIs(*parsed)));
  }
  const Slot& slot = it->second;
  if (slot.other.empty()) { return slot.entry; }
  return fail(Code::Conflict, fmt::format("CDI device {} is defined by {} and by {}: {}", name,
                                          slot.entry.spec->file, slot.other, kConflict));
}

std::optional<Entry> Index::resolve(std::string_view name) const {
  const auto it = devices_.find(name);
  if (it == devices_.end() || !it->second.other.empty()) { return std::nullopt; }
  return it->second.entry;
}

std::string Index::whatThereIs(const QualifiedName& name) const {
  const std::string kind = name.kind.text();
  std::string out;
  const auto all = devicesOfKind(kind);
  for (std::size_t i = 0; i < all.size() && i < kMostNamesShown; ++i) {
    out += (i == 0 ? "" : ", ") + all[i].device->name;
  }
  if (all.empty()) {
    out = fmt::format("no file defines devices of {}", kind);
  } else {
    const std::size_t more = all.size() - std::min(all.size(), kMostNamesShown);
    out = fmt::format("of {} there are {}{}", kind, out, more == 0 ? "" : fmt::format(" and {} more", more));
  }
  if (!broken_.empty()) {
    const std::string more = broken_.size() == 1 ? "" : fmt::format(" and {} more", broken_.size() - 1);
    out += fmt::format("; not used: {}{}", broken_.front(), more);
  }
  return out;
}

std::vector<Entry> Index::devicesOfKind(std::string_view kind) const {
  const std::string prefix = fmt::format("{}=", kind);
  std::vector<Entry> out;
  for (auto it = devices_.lower_bound(prefix); it != devices_.end() && it->first.starts_with(prefix); ++it) {
    if (it->second.other.empty()) { out.push_back(it->second.entry); }
  }
  return out;
}

}  // namespace gs::enforce::cdi
