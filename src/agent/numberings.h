// Numberings: which GPU a number means, and has meant. Containers are told GPUs by number, and a driver
// numbers the GPUs that are there. When one comes or goes, or the machine boots, a number may mean another
// GPU.
//
// Numbers are seen at looks only, so nobody knows the moment of a change. Between the last look with the
// old numbers and the first one with the new ones, either may have held. Whoever asks what a number meant
// in that time is given both GPUs. (To count one GPU too many as used wastes it for a while; to count one
// too few gives it to two pods.) The same holds for a number that may reach several GPUs (numbers.h).
// A look may have begun before the look ahead of it was reported. So old numbers count as surely in force
// only until the look before the last one that showed them.
// Bounded: of more than kMost the oldest are forgotten. Pure; one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/numbers.h"
#include "agent/status.h"
#include "base/clock.h"

namespace gs::agent {

/// A number that a GPU may have; else it is a UUID, or nothing.
[[nodiscard]] bool isGpuId(std::string_view name);

class Numberings {
 public:
  static constexpr std::size_t kMost = 8;
  /// From some moment in it until some other one.
  struct Span {
    Mono from = Mono::min();
    Mono to = Mono::max();
  };

  /// It was in force at some time before the first look: each had the number of its id.
  void published(const std::vector<Device>& devices);
  /// They have the numbers of numbersOf(). True: otherwise than before.
  bool looked(const std::vector<Device>& devices, Mono now);

  /// The GPUs (nameOf()) that a name may have meant within that time. An id that no GPU had then means the
  /// first that has it later, a UUID (of a GPU or a partition) its GPU whenever it is there.
  [[nodiscard]] std::set<std::string> meant(const std::string& name, Span when) const;

 private:
  struct Numbering {
    // By number, by UUID, by the UUID of a partition; several where programs may count in several ways.
    std::map<std::string, std::set<std::string>> names;
    Mono first = Mono::min();  // look
    Mono last = Mono::min();
    Mono before_last = Mono::min();
  };
  static Numbering numberingOf(const std::vector<Device>& devices, const std::vector<Numbers>& numbers);
  [[nodiscard]] bool mayHold(std::size_t which, Span when) const;

  std::vector<Numbering> all_;  // in the order of their times
};

}  // namespace gs::agent
