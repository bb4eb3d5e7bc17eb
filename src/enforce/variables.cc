#include "enforce/variables.h"

#include <algorithm>

namespace gs::enforce {
namespace {

bool sets(std::string_view line, std::string_view key) {
  return line.size() > key.size() && line.starts_with(key) && line[key.size()] == '=';
}

std::optional<std::string_view> setIn(const cdi::Edits& edits, std::string_view key) {
  return lastOf(edits.env, key);
}

/// What CDI devices set, in the order in which they are injected: a file's own edits before its first
/// device.
std::optional<std::string_view> setByCdi(const std::vector<std::string>& names, const cdi::Index& index,
                                         std::string_view key) {
  std::optional<std::string_view> out;
  std::vector<const cdi::Spec*> seen;
  for (const std::string& name : names) {
    const auto entry = index.find(name);
    if (!entry) { continue; }
    if (std::find(seen.begin(), seen.end(), entry->spec.get()) == seen.end()) {
      seen.push_back(entry->spec.get());
      if (const auto value = setIn(entry->spec->edits, key)) { out = value; }
    }
    if (const auto value = setIn(entry->device->edits, key)) { out = value; }
  }
  return out;  // the index keeps what it points to
}

}  // namespace

std::optional<std::string_view> lastOf(const std::vector<std::string>& env, std::string_view key) {
  for (auto it = env.rbegin(); it != env.rend(); ++it) {
    if (sets(*it, key)) { return std::string_view{*it}.substr(key.size() + 1); }
  }
  return std::nullopt;
}

std::optional<std::string> valueAfter(const std::vector<std::string>& env,
                                      const rpc::nri::Adjustment& adjustment, const cdi::Index& index,
                                      std::string_view key) {
  if (const auto value = setByCdi(adjustment.cdi_devices, index, key)) { return std::string{*value}; }
  const auto times = std::count_if(env.begin(), env.end(), [&](const auto& line) { return sets(line, key); });
  const auto set = std::find_if(adjustment.env.begin(), adjustment.env.end(),
                                [&](const auto& one) { return one.first == key; });
  if (set != adjustment.env.end() && times <= 1) { return set->second; }
  const auto last = lastOf(env, key);
  return last ? std::optional{std::string{*last}} : std::nullopt;
}

void setVariable(rpc::nri::Adjustment& adjustment, const std::string& key, const std::string& value) {
  const auto it = std::find_if(adjustment.env.begin(), adjustment.env.end(),
                               [&](const auto& one) { return one.first == key; });
  if (it == adjustment.env.end()) {
    adjustment.env.emplace_back(key, value);
  } else {
    it->second = value;
  }
}

const Told* firstLost(const std::vector<std::string>& env, const rpc::nri::Adjustment& adjustment,
                      const cdi::Index& index, const std::vector<Told>& told) {
  for (const Told& one : told) {
    const auto value = valueAfter(env, adjustment, index, one.key);
    const bool is_right = value && (*value == one.value ||
                                    std::find(one.also.begin(), one.also.end(), *value) != one.also.end());
    if (!is_right) { return &one; }
  }
  return nullptr;
}

}  // namespace gs::enforce
