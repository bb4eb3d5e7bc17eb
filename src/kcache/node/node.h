// What a node should have of kernel caches, and what it has: whole values, by which the agent's machine
// (operator/node/) and the rim that keeps the store (cacherim/keeper/) tell each other. Neither waits for the
// other: each works towards the last value that it was given.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kcache/content/compat.h"
#include "kcache/image/reference.h"
#include "kcache/kinds/state.h"
#include "model/ids.h"

namespace gs::kcache {

/// The image that new pods of a cache are to get.
struct WantedImage {
  std::string written;  // as the cache's spec has it
  Reference image;      // the same repository, by digest
  /// One that failed is tried again when this grows.
  std::int64_t attempt = 0;
  std::vector<std::string> pull_secrets{};  // names of Secrets: who to be at its registry
  friend bool operator==(const WantedImage&, const WantedImage&) = default;
};

struct Wanted {
  std::map<model::ObjectKey, WantedImage> images;  // by cache; without a namespace: of the cluster
  /// Of those, which are to be fetched before others of their namespace.
  std::set<model::ObjectKey> first{};
  /// Caches of which nobody can say yet what they want. What they have stays.
  std::set<model::ObjectKey> undecided;
  std::vector<CacheGpu> gpus;  // of the node
  friend bool operator==(const Wanted&, const Wanted&) = default;
};
using WantedPtr = std::shared_ptr<const Wanted>;

/// One image of one cache on the node.
struct HasImage {
  enum class What : std::uint8_t {
    Gone,    // no file of it is there for this cache, but pods say that they have it
    Coming,  // it is being fetched, or waits for that
    Here,    // complete
    Failed,  // it could not be fetched; nothing of it is there
  };
  What what = What::Gone;
  std::int64_t attempt = 0;    // Coming, Failed: which
  std::string cause{};         // Failed: why. Coming: why the attempt before it failed
  std::string unload_error{};  // Here, though it should not be: why it could not be removed
  std::optional<Progress> progress{};
  std::int64_t size = 0;             // Here: bytes of its files
  std::optional<Targets> targets{};  // Here: what it was compiled for; nullopt: nobody knows
  std::vector<PodUse> pods{};        // that have it mounted; sorted
  friend bool operator==(const HasImage&, const HasImage&) = default;
};
/// Of one cache, by the digest's text.
using HasImages = std::map<std::string, HasImage, std::less<>>;

struct NodeHas {
  std::map<model::ObjectKey, HasImages> caches;
  std::string trouble;   // why the store cannot be worked with; "" it can
  bool is_known = true;  // false: nobody has been able to look yet, and `caches` says nothing
  friend bool operator==(const NodeHas&, const NodeHas&) = default;
};
using NodeHasPtr = std::shared_ptr<const NodeHas>;

}  // namespace gs::kcache
