#include "model/annotations.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/short_name.h"

namespace gs::model {
namespace {

constexpr std::size_t kShortNode = 200;
constexpr std::size_t kHashDigits = 10;

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// The characters of a Kubernetes node name; its exact form is the API server's business.
bool isNodeName(std::string_view s) {
  return !s.empty() && s.size() <= kMostOfAName &&
         std::all_of(s.begin(), s.end(), [](char c) { return isAlphanumeric(c) || c == '-' || c == '.'; });
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') { s.remove_prefix(1); }
  while (!s.empty() && s.back() == ' ') { s.remove_suffix(1); }
  return s;
}

std::optional<int> idOf(std::string_view s) {
  int id = -1;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), id);
  if (error != std::errc{} || end != s.data() + s.size() || id < 0 || id > kMaxDeviceId) {
    return std::nullopt;
  }
  return id;
}

/// Everything up to the last character that a name may end with.
}  // namespace

std::string toldPath() { return fmt::format("metadata.annotations['{}']", kVisibleDevicesKey); }

bool isReadAnnotation(std::string_view key) {
  return std::any_of(kReadKeys.begin(), kReadKeys.end(), [&](std::string_view read) {
    return read.ends_with('/') ? key.starts_with(read) : key == read;
  });
}

Result<Allocation> parseAllocation(std::string_view text) {
  const auto malformed = [&](const char* what) {
    return fail(Code::Invalid,
                fmt::format("allocation '{}' {}; the form is <node>:<id>,<id> or <id>,<id> with ids 0 to {}",
                            text.substr(0, 300), what, kMaxDeviceId));
  };
  Allocation out;
  std::string_view rest = text;
  if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
    const std::string_view node = trimmed(rest.substr(0, colon));
    if (!isNodeName(node)) { return malformed("does not begin with a node name"); }
    out.node = NodeName{node};
    rest.remove_prefix(colon + 1);
  }
  // Whoever writes one reads it often, so no text costs more than what names every device.
  if (std::count(rest.begin(), rest.end(), ',') > kMaxDeviceId) { return malformed("has too many ids"); }
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view word = trimmed(rest.substr(0, comma));
    rest.remove_prefix(more ? comma + 1 : rest.size());
    if (word.find('/') != std::string_view::npos) {
      return malformed("names a MIG partition, which is not supported yet");
    }
    const auto id = idOf(word);
    if (!id) { return malformed("has something else than ids"); }
    out.ids.push_back(*id);
  }
  std::sort(out.ids.begin(), out.ids.end());
  out.ids.erase(std::unique(out.ids.begin(), out.ids.end()), out.ids.end());
  return out;
}

std::string printAllocation(const NodeName& node, const std::vector<int>& ids) {
  return node.text + ":" + printIds(ids);
}

std::string printIds(const std::vector<int>& ids) {
  std::string out;
  for (const int id : ids) {
    if (!out.empty()) { out += ','; }
    out += std::to_string(id);
  }
  return out;
}

std::string leaseName(const NodeName& node, int gpu) {
  std::string name = fmt::format("gpu-{}-{}", node.text, gpu);
  if (name.size() <= kMostOfAName) { return name; }
  return fmt::format("gpu-{}-{}-{}", beginningOf(node.text, kShortNode), hashOf(node.text, kHashDigits), gpu);
}

std::string podLabel(std::string_view pod_name) { return shortName(pod_name, kMostOfALabelValue); }

}  // namespace gs::model
