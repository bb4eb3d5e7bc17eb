// Which nodes have which kernel caches: asked for each node that may take a pod, told by node objects as they
// change.
//
// Problem: there may be very many node objects (nodes times namespaces), with many caches each. To ask
// whether one node has one cache costs the same whatever there is; to tell what one object says costs what
// that object says. A cache has a number as long as some node has it, so an object costs 4 bytes a cache, and
// a name is kept once. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/ids.h"

namespace gs::scheduler {

class CacheIndex {
 public:
  /// The node `object.name` has these caches of the namespace `object.ns`, and no others. `names`: sorted,
  /// unique; none: the object is gone. True: it said something else before.
  bool put(const model::ObjectKey& object, const std::vector<std::string>& names);

  /// `cache` has the namespace "" when it is one of the cluster.
  [[nodiscard]] bool has(const model::NodeName& node, const model::ObjectKey& cache) const;
  [[nodiscard]] std::size_t nodesWith(const model::ObjectKey& cache) const;

  [[nodiscard]] std::size_t caches() const { return caches_.size(); }
  [[nodiscard]] std::size_t objects() const { return objects_.size(); }

 private:
  using Id = std::uint32_t;
  struct Known {
    Id id = 0;
    std::size_t nodes = 0;  // that have it, at least one
  };

  Id join(const model::ObjectKey& cache);

  std::unordered_map<model::ObjectKey, Known> caches_;
  std::vector<model::ObjectKey> by_id_;  // an empty name: nobody has that number
  std::vector<Id> vacant_;
  std::unordered_map<model::ObjectKey, std::vector<Id>> objects_;  // sorted; none is empty
};

}  // namespace gs::scheduler
