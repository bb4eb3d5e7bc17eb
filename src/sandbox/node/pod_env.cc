#include "sandbox/node/pod_env.h"

#include <charconv>

namespace gs::sandbox {
namespace {

/// "metadata.annotations['k']" with head "metadata.annotations" -> k.
std::optional<std::string_view> subscript(std::string_view path, std::string_view head) {
  if (!path.starts_with(head)) { return std::nullopt; }
  path.remove_prefix(head.size());
  if (!path.starts_with("['") || !path.ends_with("']") || path.size() < 4) { return std::nullopt; }
  return path.substr(2, path.size() - 4);
}

/// All entries as the kubelet writes a whole map: k="v", one a line.
std::string wholeMap(const json::Value& strings) {
  std::map<std::string, std::string> sorted;
  for (const auto& [key, value] : strings.members()) { sorted.emplace(key, value.str()); }
  std::string out;
  for (const auto& [key, value] : sorted) {
    out += (out.empty() ? "" : "\n") + key + "=" + json::print(json::Value{value});
  }
  return out;
}

/// limits.cpu, requests.nvidia.com/gpu: the amount as written.
std::string resourceRef(const json::Value& container, std::string_view resource) {
  const std::size_t dot = resource.find('.');
  if (dot == std::string_view::npos) { return {}; }
  return std::string{container["resources"][resource.substr(0, dot)][resource.substr(dot + 1)].str()};
}

std::string expand(std::string_view text, const Env& known) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    out += text.substr(0, dollar);
    if (dollar == std::string_view::npos) { break; }
    text.remove_prefix(dollar);
    const std::size_t close = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (close == std::string_view::npos) {
      out += '$';
      text.remove_prefix(1);
    } else {
      const std::string name{text.substr(2, close - 2)};
      const auto at = known.find(name);
      out += at == known.end() ? std::string{text.substr(0, close + 1)} : at->second;
      text.remove_prefix(close + 1);
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> fieldRef(const json::Value& pod, std::string_view path) {
  const json::Value& meta = pod["metadata"];
  if (const auto key = subscript(path, "metadata.annotations")) {
    return std::string{meta["annotations"][*key].str()};
  }
  if (const auto key = subscript(path, "metadata.labels")) { return std::string{meta["labels"][*key].str()}; }
  if (path == "metadata.annotations") { return wholeMap(meta["annotations"]); }
  if (path == "metadata.labels") { return wholeMap(meta["labels"]); }
  for (const char* name : {"name", "namespace", "uid"}) {
    if (path == std::string{"metadata."} + name) { return std::string{meta[name].str()}; }
  }
  if (path == "spec.nodeName") { return std::string{pod["spec"]["nodeName"].str()}; }
  if (path == "spec.serviceAccountName") { return std::string{pod["spec"]["serviceAccountName"].str()}; }
  for (const char* name : {"hostIP", "podIP"}) {
    if (path == std::string{"status."} + name) { return std::string{pod["status"][name].str()}; }
  }
  return std::nullopt;
}

Env resolveEnv(const json::Value& pod, const json::Value& container) {
  Env out;
  for (const json::Value& entry : container["env"].items()) {
    const std::string name{entry["name"].str()};
    const json::Value& from = entry["valueFrom"];
    if (from["fieldRef"].isObject()) {
      if (auto value = fieldRef(pod, from["fieldRef"]["fieldPath"].str())) { out[name] = *std::move(value); }
    } else if (from["resourceFieldRef"].isObject()) {
      out[name] = resourceRef(container, from["resourceFieldRef"]["resource"].str());
    } else if (!from.isObject()) {
      out[name] = expand(entry["value"].str(), out);
    }
  }
  return out;
}

std::optional<Duration> parseDuration(std::string_view text) {
  if (text.empty()) { return std::nullopt; }
  double total = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || number < 0) { return std::nullopt; }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    std::size_t unit = 0;
    while (unit < text.size() && text[unit] >= 'a' && text[unit] <= 'z') { ++unit; }
    const std::string_view name = text.substr(0, unit);
    const double seconds = name == "h"    ? 3600
                           : name == "m"  ? 60
                           : name == "s"  ? 1
                           : name == "ms" ? 0.001
                                          : -1;
    if (seconds < 0) { return std::nullopt; }
    total += number * seconds;
    text.remove_prefix(unit);
  }
  if (total > 1e9) { return std::nullopt; }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>{total});
}

}  // namespace gs::sandbox
