// The controller of StatefulSets: pods NAME-0, NAME-1, ... that keep their names.
//
// OrderedReady: one after the other, each once those before it are Ready, and down again from the last;
// Parallel: all at once. A new template reaches them from the last to the one of `partition`, one at a time,
// each once the one before it is Ready; with OnDelete those that somebody deletes. Those below the partition
// come back with the old template.
// There are no volumes: volumeClaimTemplates are told of in a Warning event, and otherwise ignored.
#pragma once

#include "sandbox/controllers/again.h"
#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

[[nodiscard]] Again syncStatefulSet(Client& client, const json::Value& set);

}  // namespace gs::sandbox::controllers
