#include "agent/conditions.h"

#include <utility>

namespace gs::agent {

void Conditions::set(const char* type, bool holds, std::string reason, std::string message, Now now) {
  Condition& known = known_[type];
  const bool is_first = known.type.empty();
  const Condition& last = is_first ? before_[type] : known;
  const bool turned = last.type.empty() || last.holds != holds;
  known = {type, holds, std::move(reason), std::move(message), turned ? now.wall : last.since};
}

void Conditions::stoodThere(const std::vector<Condition>& before) {
  for (const Condition& one : before) {
    before_[one.type] = one;
    const auto mine = known_.find(one.type);
    const bool as_before = mine != known_.end() && mine->second.holds == one.holds;
    if (as_before && one.since != Wall{}) { mine->second.since = one.since; }
  }
}

bool isWell(const Condition& condition) {
  return condition.holds != (condition.type == kUnknownSetCondition);
}

const Condition* Conditions::find(const char* type) const {
  const auto it = known_.find(type);
  return it == known_.end() ? nullptr : &it->second;
}

std::vector<Condition> Conditions::all() const {
  std::vector<Condition> out;
  out.reserve(known_.size());
  for (const auto& [type, condition] : known_) { out.push_back(condition); }
  return out;
}

}  // namespace gs::agent
