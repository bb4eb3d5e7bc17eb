// The controller of Jobs: pods until enough of them succeeded, or too many failed, or the time is over.
//
// Each pod counts once. There is no finalizer on pods, so this remembers which were counted, and what the
// last state of a deleted one was; begun anew (a restored state), it takes status for the truth about the
// pods that had ended.
// A pod that somebody deletes failed; one that this deletes because the job is suspended or asks for fewer
// did neither. backoffLimitPerIndex, podFailurePolicy and successPolicy are kept and not acted on.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

class Jobs {
 public:
  [[nodiscard]] Again sync(Client& client, const json::Value& job);
  /// The last state of a pod of a job.
  void podGone(const std::string& job_uid, const json::Value& pod);
  void jobGone(const std::string& uid) { records_.erase(uid); }

  /// What is known of one job beside its objects.
  struct Record {
    bool begun = false;
    std::set<std::string> counted;             // uids: in status, or not to be counted
    std::map<std::string, json::Value> alive;  // uids that may still be counted, as they were seen last
  };

 private:
  std::map<std::string, Record> records_;  // by the job's uid
};

}  // namespace gs::sandbox::controllers
