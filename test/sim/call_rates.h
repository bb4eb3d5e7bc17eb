// A law of every writer: no key is tried again at once, whatever the answer (R59). What counts is how often
// one process makes the same call about the same object, and how many of those in a row were of no use.
// Knows nothing of why. One thread.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "kapi/call.h"

namespace gs::sim {

class CallRates {
 public:
  /// How many pods there are at most: each of them may want the same GPU once before its backoff.
  explicit CallRates(std::size_t pods) : pods_{pods} {}
  void answered(int process, const kapi::Call& call, const kapi::Outcome& outcome, Mono now);
  /// "" or what was tried too often.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  struct Most {
    std::size_t in_second = 0;
    std::size_t in_minute = 0;
  };
  [[nodiscard]] const Most& most() const { return most_; }

 private:
  std::size_t pods_;
  std::map<std::string, std::deque<Mono>> calls_;    // of the last minute
  std::map<std::string, std::deque<Mono>> useless_;  // of the last second
  std::string problem_;
  Most most_;
};

}  // namespace gs::sim
