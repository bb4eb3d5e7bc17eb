// How a cache is, on a node or over all of them, and how many nodes and pods say what: conditions and counts
// of docs/use/gkm-operator.md and docs/use/gkm-agent.md ("A cache's life"), with exactly the words of GKM's
// CRDs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace gs::kcache {

/// A condition's type, which is its reason too. The last three are of GKM that keeps caches in volumes, and
/// only caches that pods find by a claim (claims.h) have them.
enum class State : std::uint8_t {
  Pending,      // no node has it yet: its image has no digest, or is being fetched
  Extracted,    // its files are there, and no pod has them mounted
  Running,      // a pod has it mounted
  Outdated,     // pods have an older image of it mounted
  Error,        // it could not be fetched, or a file of it is damaged
  UnloadError,  // an image of it could not be removed
  Downloading,  // a node is fetching it, and none has it
  Deleting,     // it was deleted, and pods still use its claim
  NoNamespace   // a namespace that it is for is not there, or none is named
};

[[nodiscard]] const char* nameOf(State state);
/// nullopt: no word of ours. (Other versions have more of them.)
[[nodiscard]] std::optional<State> stateNamed(std::string_view name);
/// The sentence that goes with it.
[[nodiscard]] const char* sentenceOf(State state);
/// As the API server keeps it: without what is no UTF-8, and 1 KiB of it at most.
[[nodiscard]] std::string printableCause(std::string_view cause);
/// The sentence, and behind it the cause, where there is one: "...: no such image".
[[nodiscard]] std::string messageOf(State state, std::string_view cause = {});
/// The cause in such a message; "" there is none.
[[nodiscard]] std::string_view causeIn(State state, std::string_view message);

/// Its status is always True, so it is one of those only.
struct Condition {
  State state{};
  std::string message;
  Wall since{};
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct Counts {
  std::int64_t nodes = 0;
  std::int64_t nodes_in_use = 0;
  std::int64_t nodes_not_in_use = 0;
  std::int64_t nodes_error = 0;
  std::int64_t pods_running = 0;
  std::int64_t pods_outdated = 0;

  Counts& operator+=(const Counts& other);
  Counts& operator-=(const Counts& other);
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// A pod that has a cache mounted.
struct PodUse {
  std::string ns;
  std::string name;
  std::string volume_id;
  friend auto operator<=>(const PodUse&, const PodUse&) = default;
};

/// How far an extraction is. Bytes are of layers as they come from the registry.
struct Progress {
  std::int64_t bytes = 0;
  std::int64_t total_bytes = 0;
  std::int64_t bytes_per_second = 0;
  friend bool operator==(const Progress&, const Progress&) = default;
};

/// What a node has of one image of a cache.
struct CacheEntry {
  std::optional<Condition> condition;  // nullopt: none yet, or one of another version
  std::vector<int> compatible_gpus;
  std::vector<int> incompatible_gpus;
  std::int64_t size = 0;  // bytes of its files
  std::optional<Progress> progress;
  std::vector<PodUse> pods;
  Wall last_updated{};
  friend bool operator==(const CacheEntry&, const CacheEntry&) = default;
};
/// Of one cache on one node, by the image's digest. An older image stays while pods have it mounted.
using Entries = std::map<std::string, CacheEntry, std::less<>>;

/// What one node says of one cache whose image has the digest `present` now. Of the nodes_ counts: in use by
/// a pod, whichever image that has; not in use: the present image is there, and no pod has any; in error: the
/// present image could not be extracted, or another could not be removed, whether pods have others or not.
/// A node that is still at work is none of them. Pods count as running with the present image, as outdated
/// with another.
[[nodiscard]] Counts countsOf(const Entries& entries, std::string_view present);

}  // namespace gs::kcache
