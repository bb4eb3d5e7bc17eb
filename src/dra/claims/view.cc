#include "dra/claims/view.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "base/utf8.h"

namespace gs::dra {
namespace {

bool tolerates(const model::Toleration& toleration, const model::Taint& taint) {
  return (toleration.effect.empty() || toleration.effect == taint.effect) &&
         (toleration.key.empty() || toleration.key == taint.key) &&
         (toleration.exists || toleration.value == taint.value);
}

bool keepsOff(const std::vector<model::Taint>& taints, const Way& way) {
  return std::any_of(taints.begin(), taints.end(), [&way](const model::Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
           std::none_of(way.tolerations.begin(), way.tolerations.end(),
                        [&taint](const model::Toleration& one) { return tolerates(one, taint); });
  });
}

/// Of a text that may be long.
std::string cut(std::string_view text) {
  constexpr std::size_t kMost = 128;
  return fmt::format("{}{}", utf8Prefix(text, kMost), text.size() > kMost ? "..." : "");
}

}  // namespace

View::View(const Plan& plan, const std::vector<Candidate>& devices)
    : plan_{plan},
      devices_{devices},
      open_(devices.size()),
      matches_(plan.matchers.size() * devices.size(), Match::Unknown),
      values_(plan.rules.size() * devices.size(), kAbsent) {
  for (std::size_t place = 0; place < size(); ++place) {
    open_[place] = !at(place).taken && at(place).device->unsupported.empty() ? 1 : 0;
  }
  for (std::size_t rule = 0; rule < plan.rules.size(); ++rule) {
    std::vector<const model::Attribute*> seen;
    for (std::size_t place = 0; place < size(); ++place) {
      const auto& attributes = at(place).device->attributes;
      const auto found = attributes.find(plan.rules[rule].attribute);
      if (found == attributes.end()) { continue; }
      const model::Attribute& value = found->second;
      const auto same = std::find_if(seen.begin(), seen.end(),
                                     [&value](const model::Attribute* one) { return *one == value; });
      values_[rule * size() + place] =
          std::holds_alternative<std::monostate>(value) ? kUnserved : static_cast<int>(same - seen.begin());
      if (same == seen.end()) { seen.push_back(&value); }
    }
  }
}

bool View::tainted(const Way& way, std::size_t place) const {
  return keepsOff(at(place).device->taints, way) || keepsOff(at(place).laid, way);
}

View::Match View::ask(std::size_t matcher, std::size_t place, Steps& steps) {
  Match& match = matches_[matcher * size() + place];
  if (match == Match::Unknown || match == Match::Error) { match = evaluate(matcher, place, steps); }
  return match;
}

View::Match View::evaluate(std::size_t matcher, std::size_t place, Steps& steps) {
  const Candidate& one = at(place);
  for (const cel::Selector& selector : plan_.matchers[matcher]) {
    if (!steps.spend()) { return Match::Unknown; }
    std::uint64_t cost = 0;
    const cel::Outcome outcome = selector.matches(one.name.driver, *one.device, &cost);
    cost_ += cost;
    if (!steps.spend(cost / kCostOfAStep)) { return Match::Unknown; }
    if (!outcome.error.empty()) {
      error_ = fmt::format("selector `{}` fails on device {}/{}/{}: {}", selector.text(), one.name.driver,
                           one.name.pool, one.name.device, outcome.error);
      brief_ = fmt::format("selector `{}` fails on a device: {}", cut(selector.text()), cut(outcome.error));
      return Match::Error;
    }
    if (!outcome.matches) { return Match::No; }
  }
  return Match::Yes;
}

}  // namespace gs::dra
