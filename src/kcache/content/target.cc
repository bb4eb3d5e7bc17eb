#include "kcache/content/target.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gs::kcache {
namespace {

constexpr std::string_view kMark = ".target = \"";

bool isOfAName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '+' || c == ':';
}

/// "cuda:90" or "hip:gfx90a"; nullopt: neither.
std::optional<Target> targetNamed(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view backend = text.substr(0, colon);
  if (colon == std::string_view::npos || (backend != "cuda" && backend != "hip")) { return std::nullopt; }
  const std::string_view arch = text.substr(colon + 1);
  if (arch.empty() || arch.find(':') != std::string_view::npos) { return std::nullopt; }
  return Target{std::string{backend}, std::string{arch}, warpSizeOf(backend, arch)};
}

}  // namespace

std::string_view tritonBackend(std::string_view backend) { return backend == "rocm" ? "hip" : backend; }

std::int64_t warpSizeOf(std::string_view backend, std::string_view arch) {
  if (backend == "cuda") { return 32; }
  if (tritonBackend(backend) != "hip") { return 0; }
  return arch.empty() || arch.starts_with("gfx9") ? 64 : 32;  // RDNA, gfx10 and later, has 32
}

std::string archOf(const json::Value& value) {
  if (value.isString()) { return std::string{value.str()}; }
  const auto number = value.integer();
  return number ? std::to_string(*number) : "";
}

Targets precise(const Targets& targets) {
  Targets out;
  for (const Target& one : targets) {
    const bool is_known =
        !one.arch.empty() || std::none_of(targets.begin(), targets.end(), [&](const Target& t) {
          return t.backend == one.backend && !t.arch.empty();
        });
    if (is_known && !one.backend.empty()) { out.insert(one); }
  }
  return out;
}

Result<Targets> parseSummary(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) { return fail(Code::Invalid, "the cache's summary: " + value.error().message); }
  if (!value->isNull() && !value->isObject()) {
    return fail(Code::Invalid, "the cache's summary is no object with targets");
  }
  const auto& list = (*value)["targets"].items();
  Targets out;
  for (const json::Value& one : list) {
    std::string backend{one["backend"].str()};
    if (!backend.empty()) {
      out.insert({std::move(backend), archOf(one["arch"]), one["warp_size"].intOr(0)});
    }
  }
  if (out.empty() && !list.empty()) {
    return fail(Code::Invalid, "the cache's summary has no target with a backend");
  }
  return out;
}

std::string printSummary(const Targets& targets) {
  json::Array list;
  for (const Target& one : targets) {
    list.emplace_back(
        json::Object{{"backend", one.backend}, {"arch", one.arch}, {"warp_size", one.warp_size}});
  }
  return json::print(json::Object{{"targets", std::move(list)}});
}

Targets targetsIn(std::string_view bytes) {
  Targets out;
  for (std::size_t at = bytes.find(kMark); at != std::string_view::npos; at = bytes.find(kMark, at)) {
    at += kMark.size();
    const std::string_view rest = bytes.substr(at, 64);
    const auto end = std::find_if_not(rest.begin(), rest.end(), isOfAName);
    if (end == rest.end() || *end != '"') { continue; }
    if (auto target = targetNamed(rest.substr(0, static_cast<std::size_t>(end - rest.begin())))) {
      out.insert(std::move(*target));
    }
  }
  return out;
}

}  // namespace gs::kcache
