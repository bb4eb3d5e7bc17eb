// Turns for calls that nobody waits for: so many at a time, and of one namespace fewer, so that a namespace
// in which no write goes through leaves calls to others. Namespaces take turns; of one who waits longest is
// next. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/ids.h"

namespace gs::extender {

class WriteSlots {
 public:
  WriteSlots(std::size_t all, std::size_t each) : all_{all}, each_{each} {}

  /// False: there is none; the pod waits for its turn (again and again the same pod: once).
  bool take(const std::string& ns, const model::Uid& pod);
  void give(const std::string& ns);
  /// Who waits and could take one now; it waits no more. nullopt: nobody.
  std::optional<model::Uid> next();
  void forget(const std::string& ns, const model::Uid& pod);
  void clear();

 private:
  struct Room {
    std::size_t taken = 0;
    std::map<std::uint64_t, model::Uid> waiting{};  // in the order in which they came
    std::map<model::Uid, std::uint64_t> place_of{};
  };
  static void leave(Room& room, const model::Uid& pod);
  void tidy(const std::string& ns);

  std::size_t all_;
  std::size_t each_;
  std::size_t taken_ = 0;
  std::map<std::string, Room> rooms_;  // by namespace, with somebody in it
  std::string last_;                   // whose turn it was
  std::uint64_t last_place_ = 0;
};

}  // namespace gs::extender
