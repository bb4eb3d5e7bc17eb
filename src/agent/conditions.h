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

/// Whether the GPU driver answered when it was asked last.
inline constexpr const char* kDriverCondition = "DriverAnswers";
/// Whether the container runtime said when it was asked last which containers run, and so who uses a GPU.
inline constexpr const char* kContainersCondition = "ContainersSeen";
/// Whether the list holds this agent's GPUs only. There since somebody else wrote some into it.
inline constexpr const char* kWriterCondition = "OnlyWriter";
/// Whether containers with a limit of GPUs get those that the scheduler chose. There since a device plugin
/// picked some, whatever was chosen.
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
