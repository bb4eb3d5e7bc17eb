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
/// Whether a device plugin picks the GPUs of containers with a limit of them, whatever the scheduler chose,
/// and nobody sets that right. There since one did.
inline constexpr const char* kUnknownSetCondition = "DeviceSetUnknown";
/// Whether containers have exactly the GPUs that their pods were given. With --enforce=devices only.
inline constexpr const char* kEnforcedCondition = "DevicesEnforced";
/// What all is well with when it holds; of others, when it does not.
[[nodiscard]] bool isWell(const Condition& condition);

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
