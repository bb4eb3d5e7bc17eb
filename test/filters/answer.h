// What is said of one drawn case, by kube-scheduler's filters or by ours.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"

namespace gs::filters {

struct Reason {
  std::string by;     // theirs: the plugin; ours: the kind of the reason
  std::string words;  // as a user reads them
};
using Reasons = std::vector<Reason>;
/// They mean the same. Theirs with an empty `by`: whichever plugin says it.
[[nodiscard]] bool isSame(const Reason& ours, const Reason& theirs);

struct Answer {
  std::set<std::string> feasible;
  std::map<std::string, Reasons> nodes;  // the others
  Reasons pod;  // it is refused as a whole: no node was looked at, and `nodes` says the same or nothing
  std::string unserved;  // ours: what we do not serve, and say so
  std::string error;     // theirs: it is no case, or kube-scheduler could not tell
};

/// A line of the oracle.
[[nodiscard]] Answer theirAnswer(const json::Value& line);
[[nodiscard]] Answer ourAnswer(const json::Value& question);
[[nodiscard]] json::Value asJson(const Answer& answer);

struct Difference {
  std::string kind;  // without names and numbers
  std::string text;
};
/// Empty text: the sets are equal, and of each node that is refused the reasons are of one kind.
/// kube-scheduler says what the first plugin says that refuses, and so do we: what it lacks of amounts has to
/// be the same list; of volumes ours is one of theirs.
[[nodiscard]] Difference differenceOf(const Answer& ours, const Answer& theirs);

}  // namespace gs::filters
