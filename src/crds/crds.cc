#include "crds/crds.h"

#include "base/check.h"
#include "yaml/yaml.h"

namespace gs::crds {

namespace {

std::vector<json::Value> read() {
  const auto documents = yaml::toJson(text());
  GS_CHECK(documents.has_value(), "the built-in CRDs: {}", documents ? "" : documents.error().message);
  std::vector<json::Value> out;
  for (const auto& one : *documents) {
    auto value = json::parse(one);
    GS_CHECK(value.has_value(), "the built-in CRDs are no JSON after all");
    out.push_back(*std::move(value));
  }
  return out;
}

}  // namespace

const std::vector<json::Value>& all() {
  static const std::vector<json::Value> documents = read();
  return documents;
}

}  // namespace gs::crds
