// Bugs that show only in what passes between a replica and the API server: calls that say less than they
// should, answers and objects that are read as something else. They are put in there (Transport::Tampering),
// so product code knows nothing of them. Bugs of decisions are in base/mutant.h.
#pragma once

#include <string_view>
#include <vector>

#include "sandbox/world/world.h"

namespace gs::sim {

struct Mutator {
  std::string_view name;
  void (*sent)(kapi::Call& call) = nullptr;
  void (*answered)(const kapi::Call& call, kapi::Outcome& outcome) = nullptr;
  /// Of every object that is listed, read or watched; and of those that writes are answered with.
  void (*read)(model::Object& object) = nullptr;
  /// Schedulers that do not lead hear of no deletion.
  bool deaf_standby = false;
};

[[nodiscard]] const std::vector<Mutator>& mutators();
/// nullptr: there is none of that name.
[[nodiscard]] const Mutator* mutatorOf(std::string_view name);
/// Some change what is read: what a replica knows is then not what the API says, and that alone shows
/// nothing.
[[nodiscard]] bool anyReads(const std::vector<const Mutator*>& which);
/// Puts them into what passes in that World. No effect where there are none.
void putIn(sandbox::World& world, const std::vector<const Mutator*>& which);

}  // namespace gs::sim
