// The truth about GPUs as the API server alone tells it (leases, bound pods): what no fault may ever break.
// Independent of the scheduler's own ledger and code on purpose.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sandbox/world/world.h"

namespace gs::test {

struct Truth {
  /// "node:id" -> uids of bound, unfinished pods whose annotation names it.
  std::map<std::string, std::set<std::string>> devices;
  /// Lease name -> holderIdentity, of all managed leases in all namespaces ("ns/name").
  std::map<std::string, std::string> leases;
  std::set<std::string> bound;    // uids of bound, unfinished pods of ours
  std::set<std::string> waiting;  // uids of unbound pods
  /// What is wrong at any time: a device of two pods that its lease does not name as sharers. Empty: nothing.
  std::vector<std::string> problems;
  /// What is wrong once quiet: a lease without its pod, a bound claim pod without its leases.
  std::vector<std::string> unsettled;
};

[[nodiscard]] Truth readTruth(sandbox::World& world);

}  // namespace gs::test
