#include "kapi/kind.h"

#include <fmt/core.h>

#include <functional>
#include <tuple>

namespace gs::kapi {

bool operator<(const Kind& a, const Kind& b) {
  if (a.info_ == nullptr || b.info_ == nullptr) { return a.info_ == nullptr && b.info_ != nullptr; }
  const auto names = [](const KindInfo& i) { return std::tie(i.plural, i.group, i.version); };
  if (names(*a.info_) != names(*b.info_)) { return names(*a.info_) < names(*b.info_); }
  return std::less<>{}(a.info_, b.info_);
}

std::string apiVersion(Kind kind) {
  return kind->group.empty() ? std::string{kind->version} : fmt::format("{}/{}", kind->group, kind->version);
}

}  // namespace gs::kapi
