// What a program of ours does with its own process: signals, seeds, memory, descriptors.
#pragma once

#include <signal.h>

#include <cstddef>
#include <string>

#include "base/random.h"

namespace gs::process {

[[nodiscard]] std::string hostName();  // "unknown" when it has none
/// Of a program of ours: "gpu-admission-0.1", and "gpu-admission/0.1" as it names itself to servers.
[[nodiscard]] std::string versionOf(const std::string& program);
[[nodiscard]] std::string userAgentOf(const std::string& program);
[[nodiscard]] Rng randomSeed();

/// A page of a list is decoded on any of some forty threads, once. By itself glibc would keep an arena for
/// each of them, as large as the largest page was: half of the process at 12,000 pods. Before any thread.
void keepMemorySmall();
/// The same for who makes and frees megabytes for each request: that much stays ours though it is free.
void keepMemoryOfRequests(int bytes);

/// Takes as many descriptors as this process may have; how many that is.
std::size_t openAllDescriptors();

/// SIGTERM and SIGINT, to be waited for. Made before any thread: they all inherit that these are blocked.
class StopSignals {
 public:
  StopSignals();
  /// Waits for one.
  void wait() const;
  /// Another one came.
  [[nodiscard]] bool again() const;

 private:
  sigset_t set_{};
};

/// As if SIGTERM had come: StopSignals::wait() returns. Any thread.
void askToStop();

/// What still runs five seconds from now is ended by SIGALRM.
void endSoon();

}  // namespace gs::process
