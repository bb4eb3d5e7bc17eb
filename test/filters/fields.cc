#include "test/filters/fields.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/ascii.h"

namespace gs::filters {
namespace {

constexpr std::array<std::pair<Field, const char*>, 13> kNames{{
    {Field::Taints, "taints"},
    {Field::Comparisons, "comparisons"},
    {Field::Affinity, "affinity"},
    {Field::Ports, "ports"},
    {Field::Resources, "resources"},
    {Field::PodLevel, "podlevel"},
    {Field::Resize, "resize"},
    {Field::Near, "near"},
    {Field::Spread, "spread"},
    {Field::Volumes, "volumes"},
    {Field::Provisioning, "provisioning"},
    {Field::Attaching, "attaching"},
    {Field::Disks, "disks"},
}};
constexpr unsigned kOnlyNewest =
    static_cast<unsigned>(Field::Comparisons) | static_cast<unsigned>(Field::PodLevel);

}  // namespace

Result<Fields> fieldsOf(std::string_view names, Release release) {
  constexpr unsigned kEvery = (1U << kNames.size()) - 1;
  const auto served = static_cast<Fields>(release == Release::Newest ? kEvery : kEvery & ~kOnlyNewest);
  if (names == "all") { return served; }
  Fields out = 0;
  for (const std::string& name : commaList(names)) {
    Fields found = 0;
    for (const auto& [field, called] : kNames) {
      if (name == called) { found = static_cast<Fields>(field); }
    }
    if ((found & served) == 0) {
      return fail(Code::Invalid,
                  fmt::format("field {} is none that this release serves: write all, or some of {}", name,
                              namesOf(served)));
    }
    out |= found;
  }
  return out;
}

std::string namesOf(Fields fields) {
  std::string out;
  for (const auto& [field, called] : kNames) {
    if (has(fields, field)) { out += (out.empty() ? "" : ",") + std::string{called}; }
  }
  return out;
}

}  // namespace gs::filters
