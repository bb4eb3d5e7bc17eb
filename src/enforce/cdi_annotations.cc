#include "enforce/cdi_annotations.h"

#include <algorithm>

#include "enforce/cdi_gpu.h"
#include "enforce/given.h"

namespace gs::enforce {
namespace {

constexpr std::size_t kMostWords = 4096;

/// Names stand in a comma list, or in a YAML list: whatever is between those characters is a word.
std::vector<std::string_view> wordsOf(std::string_view text) {
  constexpr std::string_view kBetween = ", \t\r\n\"'[]";
  std::vector<std::string_view> out;
  for (std::size_t at = 0; out.size() < kMostWords;) {
    at = text.find_first_not_of(kBetween, at);
    if (at == std::string_view::npos) { break; }
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

bool isOwn(const Given& named, const std::vector<model::DeviceId>& own) {
  return !named.wants_all && named.unknown.empty() &&
         std::all_of(named.devices.begin(), named.devices.end(),
                     [&](model::DeviceId id) { return std::find(own.begin(), own.end(), id) != own.end(); });
}

/// By the nodes that it brings. Of a GPU with partitions all of them count: the node is one way in.
void readByNodes(std::string_view word, const DeviceTable& table, const cdi::Index& index, Given& given) {
  const auto entry = index.resolve(word);
  if (!entry) { return; }
  for (const cdi::Edits* edits : {&entry->spec->edits, &entry->device->edits}) {
    for (const cdi::DeviceNode& node : edits->device_nodes) {
      const auto gpu = gpuNodeOf(node);
      if (!gpu) { continue; }
      const auto& devices = table.byNode(*gpu);
      for (const NodeDevice* device : devices) { given.devices.insert(device->id); }
      if (devices.empty() && gpu->kind == NodeKind::Gpu) { readName(node.path, table, given); }
    }
  }
}

bool speaksOf(std::string_view key, std::string_view container) {
  if (!key.starts_with(kNvidiaCdiAnnotations)) { return false; }
  key.remove_prefix(std::string_view{kNvidiaCdiAnnotations}.size());
  constexpr std::string_view kOfOne = "container.";
  return !key.starts_with(kOfOne) || key.substr(kOfOne.size()) == container;
}

}  // namespace

CdiAnnotation cdiAnnotation(const rpc::nri::PodSandbox& pod, std::string_view container,
                            const std::vector<model::DeviceId>& own, const DeviceTable& table,
                            const cdi::Index& index) {
  CdiAnnotation out;
  for (const auto& [key, value] : pod.annotations) {
    if (!speaksOf(key, container)) { continue; }
    if (!out.is_there) { out.key = key; }
    out.is_there = true;
    const auto words = wordsOf(value);
    for (const std::string_view word : words) {
      Given named;
      if (!readCdiName(word, table, named)) { readByNodes(word, table, index, named); }
      if (isOwn(named, own)) { continue; }
      out.key = key;
      out.not_its_own = std::string{word};
      return out;
    }
    if (words.size() == kMostWords) {
      out.key = key;
      out.not_its_own = "(more names than can be read)";
      return out;
    }
  }
  return out;
}

}  // namespace gs::enforce
