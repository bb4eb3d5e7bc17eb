// The conditions of this node's status (status.conditions[]), by type. Each keeps since when it holds, or
// does not: over a restart too, once stoodThere() told what was published before it; set() may come first.
// One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/status.h"
#include "base/clock.h"

namespace gs::agent {

inline constexpr const char* kDriverCondition = "DriverAnswers";
inline constexpr const char* kContainersCondition = "ContainersSeen";
/// There since somebody else wrote GPUs into the list.
inline constexpr const char* kWriterCondition = "OnlyWriter";
/// There since a device plugin picked GPUs for containers, whatever the scheduler chose for them.
inline constexpr const char* kLimitsCondition = "LimitsFollowChoice";

class Conditions {
 public:
  void set(const char* type, bool holds, std::string reason, std::string message, Now now);
  /// As the API had them before this process wrote any.
  void stoodThere(const std::vector<Condition>& before);

  /// nullptr: it was not set.
  [[nodiscard]] const Condition* find(const char* type) const;
  /// All that were set, ascending by type.
  [[nodiscard]] std::vector<Condition> all() const;

 private:
  std::map<std::string, Condition> known_;
  std::map<std::string, Condition> before_;
};

}  // namespace gs::agent
