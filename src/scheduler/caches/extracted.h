// Which kernel caches of one namespace (or of the cluster) one node has on its disk, as the agent of that
// node says it in a GKMCacheNode or ClusterGKMCacheNode: what is kept of such an object here.
//
// A cache counts as extracted there when the image that new pods get is: so an entry is Extracted or Running,
// and none is Pending or in Error. (The agent makes an entry for a new image when it hears of it, in one
// write with what becomes of the older ones; so nothing but these objects has to be watched. For as long as
// it has not heard of it an older image counts.) One that was compiled for other GPUs than the node has is of
// no use there, and does not count.
// An object speaks of the node that has its name, whatever its status and its labels say, and of caches of
// its own namespace. So whoever can write it changes what is preferred for pods of that namespace, and
// nothing else. What cannot be read is not there; bounds are those of kcache/kinds/kinds.h.
#pragma once

#include <string>
#include <vector>

#include "kapi/kind.h"
#include "kcache/kinds/kinds.h"
#include "model/ids.h"

namespace gs::scheduler {

struct ExtractedCaches {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::vector<std::string> names;  // sorted, unique
  friend bool operator==(const ExtractedCaches&, const ExtractedCaches&) = default;
};

[[nodiscard]] bool isExtracted(const kcache::Entries& images);
[[nodiscard]] ExtractedCaches decodeExtracted(const json::View& v);

/// GKMCacheNode and ClusterGKMCacheNode, read so.
extern const kapi::Kind kExtracted;
extern const kapi::Kind kClusterExtracted;

}  // namespace gs::scheduler
