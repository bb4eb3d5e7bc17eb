// What an agent is to do about one of its node objects now: a pure decision (docs/use/gkm-agent.md).
//
// A scope is a namespace, or the whole cluster (""): the caches in it have one node object per node, named
// like the node (kcache/kinds/kinds.h). In this order, one write at a time:
//   1. no object, and a cache that this node is to have, or has: it is made, with its finalizers
//   2. it is being deleted: our finalizers go, so that it goes, and 1 follows
//   3. a finalizer is missing: it is added. Only then the cache's image may be fetched (mayFetch())
//   4. the status is another: it is written. One that can wait comes after 5: where nothing is to be said but
//      that images are being fetched, or how far they are, most will be there before anybody looks
//   5. a finalizer of a cache that has nothing here any more, also not in the status: it goes
//   6. nothing is left: the object goes
// Finalizers that are none of ours stay, and keep the object from 6.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kcache/kinds/kinds.h"
#include "kcache/node/node.h"
#include "model/object.h"

namespace gs::gkm {

/// What is known of a scope.
struct NodeScope {
  std::map<std::string, model::Ptr<kcache::Cache>, std::less<>> caches;  // by name
  model::Ptr<kcache::CacheNode> object;                                  // nullptr: there is none
  std::map<std::string, kcache::HasImages, std::less<>> has;             // by the cache's name
};

/// What is known of the node.
struct NodeFacts {
  model::NodeName node;
  std::vector<kcache::CacheGpu> gpus;
};

enum class NodeAct : std::uint8_t { Nothing, Create, WriteStatus, WriteFinalizers, Delete };

struct ScopePlan {
  NodeAct act = NodeAct::Nothing;
  kcache::CacheNode object{};             // WriteStatus: with the status to write
  std::vector<std::string> finalizers{};  // Create, WriteFinalizers: all of them
  /// WriteStatus: nothing differs but images that are being fetched.
  bool can_wait = false;
};

/// The image of a cache that this node is to have. Error Invalid: its image is none, which its entry says, or
/// its digest, which the operator says. nullopt: it wants none (it is being deleted), or not yet (it has no
/// digest, or the operator has not put its finalizer there, without which it could go while pods have it).
[[nodiscard]] std::optional<Result<kcache::WantedImage>> wantedOf(const kcache::Cache& cache);

/// Its finalizer stands on the object.
[[nodiscard]] bool mayFetch(const NodeScope& scope, const std::string& cache);

/// The status that is right now; times of what did not change stay.
[[nodiscard]] kcache::CacheNode statusOf(const NodeScope& scope, const NodeFacts& facts, Wall now);

[[nodiscard]] ScopePlan planOf(const model::ObjectKey& object, const NodeScope& scope, const NodeFacts& facts,
                               Wall now);

}  // namespace gs::gkm
