// Kinds that we may not list: their objects may be there, and nobody here knows of them. A pod that needs one
// is told which right is missing, and not that what it names is not there. One thread.
#pragma once

#include <set>

#include "kapi/kind.h"
#include "sched/doors/door.h"

namespace gs::engine {

class Unlisted {
 public:
  /// A list of that kind was answered. True: that is news.
  bool mayList(kapi::Kind kind, bool may);
  /// What is told of that kind; kind "": it is listed.
  [[nodiscard]] sched::Blocked why(kapi::Kind kind) const;
  /// Of the first of those that are not.
  [[nodiscard]] sched::Blocked whyAny() const;

 private:
  std::set<kapi::Kind> kinds_;
};

}  // namespace gs::engine
