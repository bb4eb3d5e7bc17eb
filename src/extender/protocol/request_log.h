// Which answers get a line in the log: `refused pod= reason=` where a pod got no node, `failed pod= reason=`
// where its request came to nothing. Told once for each pod and kind of reason, whatever the numbers in it
// are, until the pod got what it asked for or is over; and at most kMostLines in a minute, since whoever can
// reach us can name pods that there are not. The next line says how many were left out. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "extender/protocol/caller.h"
#include "kapi/call.h"

namespace gs::extender {

class RequestLog {
 public:
  static constexpr std::size_t kMostLines = 60;
  static constexpr Duration kWithin = std::chrono::minutes{1};

  /// nullopt: nothing is to be said of it.
  [[nodiscard]] std::optional<kapi::Log> lineOf(const Request& request, const Answer& answer, Mono now);
  /// The pod is bound or gone: if it comes again it is told again.
  void forget(const model::Uid& pod) { told_.erase(pod); }
  [[nodiscard]] std::size_t pods() const { return told_.size(); }
  void reset() { told_.clear(); }

 private:
  bool mayTell(Mono now);

  std::map<model::Uid, std::set<std::string>> told_;  // kinds of reasons
  Mono began_{};                                      // the minute that lines_ are of
  std::size_t lines_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace gs::extender
