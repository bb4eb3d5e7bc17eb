// ResourceSlices by pool, and what each node has of them.
//
// A driver publishes a pool in slices, and a change of it as a new generation of slices. Only the newest
// generation counts, and only once all of its slices are there: what stands in a part of it may be a device
// that another part withdraws (k8s.io/dynamic-resource-allocation/structured reads pools so too). Of a pool
// that is not whole, or that names a device twice, nothing may be given, and `trouble` says why.
// The same slices make the same pools, in whatever order they came. A slice changes the pools' view of its
// own node, and of all nodes of its pool only when the pool becomes whole or ceases to be: so the cost of a
// change is that of one slice, however many share its pool. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/dra.h"
#include "model/object.h"

namespace gs::dra {

using NodeNames = std::set<model::NodeName>;

class Pools {
 public:
  /// A pool's devices on one node.
  struct OnNode {
    std::string driver;
    std::string pool;
    std::vector<const model::SliceDevice*> devices;  // by name; valid until the next change
    std::string trouble;                             // why nothing of it may be given; "": it may
  };

  /// The nodes whose devices may be others now. A slice that is known in this revision or a newer one: none.
  NodeNames put(const model::Ptr<model::ResourceSlice>& slice);
  NodeNames remove(const model::ObjectKey& key);

  /// By driver, then pool.
  [[nodiscard]] std::vector<OnNode> of(const model::NodeName& node) const;
  /// Nodes of which a pool lists devices.
  [[nodiscard]] NodeNames nodes() const;

 private:
  using Id = std::pair<std::string, std::string>;  // driver, pool
  using Slices = std::map<model::ObjectKey, model::Ptr<model::ResourceSlice>>;
  struct Pool {
    Slices slices;                                    // of all generations
    std::map<std::int64_t, std::size_t> generations;  // how many slices each has
    // Of the newest one.
    std::map<std::int64_t, std::size_t> declared;  // how many slices it has, as so many of them say
    std::unordered_map<std::string, int> names;    // of devices
    std::size_t repeated = 0;                      // names that stand more than once
  };

  static void count(Pool& pool, const model::ResourceSlice& slice, bool add);
  static void countNewest(Pool& pool, const model::ResourceSlice& slice, bool add);
  static void countAnew(Pool& pool);
  [[nodiscard]] static std::string troubleOf(const Id& id, const Pool& pool);
  NodeNames change(const Id& id, const model::Ptr<model::ResourceSlice>& before,
                   const model::Ptr<model::ResourceSlice>& after);
  void index(const Id& id, const model::Ptr<model::ResourceSlice>& slice, bool add);

  std::map<Id, Pool> pools_;
  std::unordered_map<model::ObjectKey, Id> pool_of_;  // by slice
  /// By pool, those that list devices of a node; of all generations.
  std::unordered_map<model::NodeName, std::map<Id, Slices>> by_node_;
};

}  // namespace gs::dra
