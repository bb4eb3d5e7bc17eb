#include "kcache/content/triton_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "json/value.h"

namespace gs::kcache {
namespace {

bool isSignOfTriton(std::string_view name) {
  return isGroupFile(name) || name.ends_with(".ttir") || name == "__triton_launcher.so";
}

void checkFolder(const Item& one, const Kernel& kernel, Findings& findings) {
  const auto folder = kernelFolder(kernel.hash);
  const std::string_view is = one.parts.size() > 1 ? one.parts[one.parts.size() - 2] : "";
  if (!folder) {
    findings.note(*one.file, fmt::format("its hash '{}' is none of Triton's", kernel.hash));
  } else if (!isKernelFolder(is, kernel.hash)) {
    findings.note(*one.file, fmt::format("Triton looks for its hash in a folder {}", *folder));
  }
}

/// nullopt: it is the JSON of something else, or none, which is noted.
std::optional<Kernel> kernelOf(const Item& one, Findings& findings) {
  const auto text = findings.textOf(*one.file);
  if (!text) { return std::nullopt; }
  auto kernel = readKernel(*text);
  if (!kernel) {
    findings.note(*one.file, kernel.error().message);
    return std::nullopt;
  }
  if (*kernel) { checkFolder(one, **kernel, findings); }
  return *std::move(kernel);
}

/// Children that do not lie beside the group file, the first of them by its name.
void checkChildren(const CacheFile& group, const json::Value& children,
                   const std::set<std::string_view>& paths, Findings& findings) {
  const std::string folder = group.path.substr(0, group.path.rfind('/') + 1);
  std::size_t missing = 0;
  std::string first;
  for (const auto& [name, child] : children.members()) {
    const std::string_view path = child.str();
    const std::string file{path.substr(path.rfind('/') + 1)};
    if (!file.empty() && paths.contains(folder + file)) { continue; }
    if (missing++ == 0) { first = name; }
  }
  if (missing == 0) { return; }
  findings.note(group,
                fmt::format("it names {}{}, which the folder does not have: Triton compiles this kernel "
                            "anew, or ends with an error",
                            first, missing == 1 ? "" : fmt::format(" and {} more", missing - 1)));
}

void checkGroup(const CacheFile& group, const std::set<std::string_view>& paths, Findings& findings) {
  const auto text = findings.textOf(group);
  if (!text) { return; }
  constexpr std::string_view kEnds = "Triton ends with an error when it reads it";
  if (text->empty()) {
    findings.note(group, fmt::format("it is empty: {}", kEnds));
    return;
  }
  const auto value = json::parse(*text);
  if (!value) {
    findings.note(group, fmt::format("it is cut off, or no JSON: {} ({})", kEnds, value.error().message));
    return;
  }
  const json::Value& children = (*value)["child_paths"];
  if (!children.isObject() || children.members().empty()) {
    findings.note(group, "it has no child_paths: Triton finds none of this kernel's files by it");
    return;
  }
  checkChildren(group, children, paths, findings);
}

}  // namespace

std::vector<FoundKernel> kernelsIn(const Files& files, Findings& findings) {
  std::vector<FoundKernel> out;
  const bool is_triton = std::any_of(files.begin(), files.end(),
                                     [](const Item& one) { return isSignOfTriton(one.parts.back()); });
  if (!is_triton) { return out; }
  std::set<std::string_view> paths;
  for (const Item& one : files) { paths.insert(one.file->path); }
  for (const Item& one : files) {
    const std::string_view name = one.parts.back();
    if (isGroupFile(name)) {
      checkGroup(*one.file, paths, findings);
      continue;
    }
    if (!name.ends_with(".json")) { continue; }
    const auto kernel = kernelOf(one, findings);
    if (!kernel) { continue; }
    if (kernel->target.backend.empty()) {
      findings.note(*one.file, "it does not say for which GPU it was compiled");
    }
    findings.targets.insert(kernel->target);
    out.push_back({{*kernel, dummyKey(*kernel)}, PathParts(one.parts.begin(), one.parts.end() - 1)});
  }
  return out;
}

std::vector<TritonEntry> entriesOf(const std::vector<FoundKernel>& kernels) {
  std::vector<TritonEntry> out;
  std::set<std::string_view> known;
  for (const FoundKernel& one : kernels) {
    if (known.insert(one.entry.kernel.hash).second) { out.push_back(one.entry); }
  }
  return out;
}

}  // namespace gs::kcache
