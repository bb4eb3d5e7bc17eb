// ControllerRevisions: the templates that a StatefulSet had,
// as objects that `kubectl rollout history` and `undo` read.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

struct Revisions {
  json::Value current;  // that the pods had when the set was complete last
  json::Value update;   // of spec.template
  std::int64_t collisions = 0;
  Again again{};
};

/// Makes the revision of the template, or makes an older equal one the latest.
[[nodiscard]] Revisions reviseTemplate(Client& client, const json::Value& set);
/// Deletes the oldest beyond spec.revisionHistoryLimit; those named in `used` do not count.
void forgetRevisions(Client& client, const json::Value& set, const std::set<std::string>& used);
/// The set with the template of that revision.
[[nodiscard]] json::Value atRevision(const json::Value& set, const json::Value& revision);

}  // namespace gs::sandbox::controllers
