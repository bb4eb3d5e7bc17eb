#include "model/taints.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/mutant.h"

namespace gs::model {
namespace {

/// Only as people write one: no sign but '-', no zero before it (KEP-5471).
std::optional<std::int64_t> plainNumber(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text != "0") { return std::nullopt; }
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{n} : std::nullopt;
}

bool isBeyond(Toleration::Than than, std::string_view taint, std::string_view toleration) {
  const auto there = plainNumber(taint);
  const auto tolerated = plainNumber(toleration);
  if (!there || !tolerated) { return false; }
  return than == Toleration::Than::Above ? *there > *tolerated : *there < *tolerated;
}

}  // namespace

bool tolerates(const Toleration& t, const Taint& taint) {
  if (!t.effect.empty() && t.effect != taint.effect) { return false; }
  if ((!t.key.empty() || GS_MUTANT(EmptyKeyIsAKey)) && t.key != taint.key) { return false; }
  if (t.than != Toleration::Than::Equal) { return isBeyond(t.than, taint.value, t.value); }
  return t.exists || t.value == taint.value;
}

bool toleratesAny(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& t) { return tolerates(t, taint); });
}

const Taint* untoleratedOf(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations) {
  const auto it = std::find_if(taints.begin(), taints.end(), [&](const Taint& taint) {
    const bool keeps_away = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
    return keeps_away && !toleratesAny(tolerations, taint);
  });
  return it == taints.end() ? nullptr : &*it;
}

std::uint8_t avoidedOf(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations) {
  const auto count = std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" && !toleratesAny(tolerations, taint);
  });
  return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(count, kMostAvoided));
}

const Taint& unschedulableTaint() {
  static const Taint kUnschedulable{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return kUnschedulable;
}

}  // namespace gs::model
