#include "sandbox/world/crds.h"

#include "base/check.h"
#include "yaml/yaml.h"

namespace gs::sandbox {

namespace {

std::vector<json::Value> read() {
  const auto documents = yaml::toJson(crdsText());
  GS_CHECK(documents.has_value(), "the built-in CRDs: {}", documents ? "" : documents.error().message);
  std::vector<json::Value> out;
  for (const auto& text : *documents) {
    auto value = json::parse(text);
    GS_CHECK(value.has_value(), "the built-in CRDs are no JSON after all");
    out.push_back(*std::move(value));
  }
  return out;
}

}  // namespace

const std::vector<json::Value>& crds() {
  static const std::vector<json::Value> all = read();
  return all;
}

}  // namespace gs::sandbox
