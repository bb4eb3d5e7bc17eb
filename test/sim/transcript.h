// What happened in a play, line by line, as `sim --tell` prints it: each step, log line and write of a
// scheduler, and what pods, leases and GpuNodeStatuses say each time that somebody wrote something there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kapi/call.h"
#include "sandbox/world/world.h"

namespace gs::sim {

class Transcript {
 public:
  /// Begins now. The World must outlive it.
  explicit Transcript(sandbox::World& world) : world_{world}, began_{world.now().mono} {}

  void add(std::string line) { lines_.push_back(std::move(line)); }
  /// A scheduler calls this.
  void add(const kapi::Call& call);
  /// Copies what was logged and written since.
  void copyLog();
  /// Adds what objects say that changed since.
  void copyChanges();
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  void addChange(const apiserver::HistoryEntry& entry);

  sandbox::World& world_;
  Mono began_;
  std::size_t logged_ = 0;
  std::size_t written_ = 0;
  std::uint64_t changed_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace gs::sim
