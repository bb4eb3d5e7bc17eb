// The steps of kernel caches: an image is changed under pods, a cache is deleted under them, and whoever
// works on that fails.
#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "test/sim/cache_damage.h"
#include "test/sim/cache_places.h"
#include "test/sim/cache_registry.h"
#include "test/sim/plan.h"

namespace gs::sim {
namespace {

using std::chrono::milliseconds;

constexpr int kCacheTime = 40'000;  // milliseconds
constexpr int kWhenPodsCome = 35'000;
constexpr int kAgentCalls = 80;   // that change the disk, as one image comes and another goes
constexpr int kDriverCalls = 12;  // of one mount

class CacheScenes {
 public:
  CacheScenes(Plan& plan, Rng& rng) : plan_{plan}, rng_{rng} {}

  void all() {
    for (int cache = 0; cache < kCacheSlots; ++cache) {
      if (rng_.chance(70)) { add(below(12'000), Op::CacheComes, cache, below(kCacheTags)); }
    }
    for (int i = 6 + below(10); i > 0; --i) { podComes(1'000 + below(kWhenPodsCome)); }
    for (int i = 4 + below(10); i > 0; --i) { changes(below(kCacheTime)); }
    for (int i = 3 + below(12); i > 0; --i) { fails(below(kCacheTime), below(kNodes)); }
  }

  /// Both namespaces have a cache of a registry that drips; who waits behind them are the others.
  void odd() {
    for (int cache = 0; cache < kOddCaches; ++cache) {
      if (rng_.chance(80)) { add(below(12'000), Op::OddCacheComes, cache, below(kCacheImages)); }
    }
    for (int i = 1 + below(3); i > 0; --i) {
      add(1'000 + below(kWhenPodsCome), Op::OddPodComes, below(kCachePodSlots), below(kNodes),
          below(kOddCaches));
    }
    for (int i = below(4); i > 0; --i) {
      add(2'000 + below(kCacheTime), Op::FileDamaged, below(kNodes), below(64), below(kEvenDamages));
    }
    atPlaces();
    redirects();
    for (int i = below(3); i > 0; --i) {
      add(2'000 + below(kCacheTime), Op::FileDamaged, below(kNodes), below(512),
          static_cast<int>(Damage::ContentBytes));
    }
  }

 private:
  /// Two pods of a node have one cache at two places.
  void atPlaces() {
    for (int tag = 0; tag < kCacheTags; ++tag) {
      if (rng_.chance(60)) { add(0, Op::TagMoves, tag, kCacheImages + below(kPathImages)); }
    }
    for (int slot = 0; slot + 1 < kCachePodSlots && rng_.chance(70); slot += 2) {
      const int at = 2'000 + below(kWhenPodsCome);
      const int node = below(kNodes);
      const int cache = below(kCacheSlots);
      const int place = below(kCachePlaces);
      const int other = (place + 1 + below(kCachePlaces - 1)) % kCachePlaces;
      add(at, Op::PlacedPodComes, slot, node, cache + kCacheSlots * place);
      add(at + below(3'000), Op::PlacedPodComes, slot + 1, node, cache + kCacheSlots * other);
    }
  }
  void redirects() {
    constexpr int kFirst = static_cast<int>(CacheRegistry::Fault::SendsNowhere);
    for (int i = below(3); i > 0; --i) {
      add(below(kCacheTime), Op::RegistryFails, kFirst + below(2), 2 + below(20));
    }
  }
  void podComes(int at) {
    const int slot = below(kCachePodSlots);
    add(at, Op::CachePodComes, slot, below(kNodes), below(2 * kCacheSlots));
    if (rng_.chance(60)) { add(at + 500 + below(12'000), Op::CachePodEnds, slot, below(3)); }
  }
  void changes(int at) {
    const int cache = below(kCacheSlots);
    const int tag = below(kCacheTags);
    switch (below(6)) {
      case 0:
      case 1: return add(at, Op::CacheChanges, cache, tag);
      case 2:
        add(at, Op::TagMoves, tag, below(kCacheImages));
        return add(at + 10, Op::CacheChanges, cache, tag);
      case 3: return add(at, Op::CacheGoes, cache);
      case 4: add(at, Op::CacheGoes, cache); return add(at + 200 + below(9'000), Op::CacheComes, cache, tag);
      default: return add(at, Op::CacheComes, cache, tag);
    }
  }
  void fails(int at, int node) {
    switch (below(15)) {
      case 0: return add(at, Op::CacheProcessDies, node, 0);
      case 1: return add(at, Op::CacheProcessDies, node, 1);
      case 2: return add(at, Op::CacheProcessDies, node, 2);
      case 3:
      case 4: return add(at, Op::CacheProcessDies, node, 3, below(kAgentCalls));
      case 5:
      case 6: return add(at, Op::CacheProcessDies, node, 4, below(kDriverCalls));
      case 7: return add(at, Op::MachineBoots, node);
      case 8: return add(at, Op::RegistryFails, below(CacheRegistry::kEvenFaults), 2 + below(20));
      case 9: return add(at, Op::DiskFull, node, 1 + below(8));
      case 10: return add(at, Op::CacheFaults, 0, 1 + below(10), 20 + below(400));
      case 11: return add(at, Op::CacheSlow, 0, 1 + below(10), 50 + below(3'000));
      case 12: return add(at, Op::RunEmptied, node);
      case 13: return add(at, Op::CacheBreak, below(kNodes + kReplicas), below(3));
      default: add(at, Op::NodeGone, node); return add(at + 1'000 + below(20'000), Op::NodeBack, node);
    }
  }

  int below(int n) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(n))); }
  void add(int at, Op op, int x = 0, int y = 0, int z = 0) {
    plan_.steps.push_back({milliseconds{at}, op, x, y, z});
  }

  Plan& plan_;
  Rng& rng_;
};

}  // namespace

void addCacheSteps(Plan& plan, Rng& rng) { CacheScenes{plan, rng}.all(); }
void addOddCacheSteps(Plan& plan, Rng& rng) { CacheScenes{plan, rng}.odd(); }

std::string cacheText(const Step& s) {
  switch (s.op) {
    case Op::CacheComes: return fmt::format("cache {} comes with tag {}", s.x, s.y);
    case Op::CacheChanges: return fmt::format("cache {} has tag {} from now on", s.x, s.y);
    case Op::CacheGoes: return fmt::format("cache {} is deleted", s.x);
    case Op::TagMoves: return fmt::format("tag {} is image {}", s.x, s.y);
    case Op::CachePodComes:
      return fmt::format("pod k{} comes on node {} with cache {}{}", s.x, s.y, s.z % kCacheSlots,
                         s.z >= kCacheSlots ? ", read-only" : "");
    case Op::CachePodEnds:
      return fmt::format("pod k{} {}", s.x,
                         s.y == 0   ? "ends"
                         : s.y == 1 ? "is deleted"
                                    : "is deleted by force");
    case Op::CacheProcessDies: {
      constexpr const char* kWho[] = {"operator", "cache agent", "CSI driver", "cache agent", "CSI driver"};
      return fmt::format("{} {} dies{}", kWho[s.y], s.x, s.y > 2 ? fmt::format(" at call {}", s.z) : "");
    }
    case Op::MachineBoots: return fmt::format("node {} is rebooted", s.x);
    case Op::RegistryFails: {
      constexpr const char* kHow[] = {
          "is away",        "lies", "ends in the middle", "is slow", "sends to a host that does not answer",
          "sends to a page"};
      return fmt::format("the registry {} for {} s", kHow[s.x], s.y);
    }
    case Op::DiskFull: return fmt::format("the disk of node {} is full for {} s", s.x, s.y);
    case Op::RunEmptied: return fmt::format("/run of node {} is emptied", s.x);
    case Op::CacheFaults: return fmt::format("{} permille of calls about caches fail for {} s", s.z, s.y);
    case Op::CacheSlow: return fmt::format("watches of caches are up to {} ms late for {} s", s.z, s.y);
    case Op::CacheBreak:
      return s.x < kNodes ? fmt::format("the watches of cache agent {} end, kind {}", s.x, s.y)
                          : fmt::format("the watches of operator {} end, kind {}", s.x - kNodes, s.y);
    case Op::OddCacheComes:
      return fmt::format("odd cache {} comes with image {} of a registry that {}", s.x, s.y,
                         s.x < kOddCaches / 2 ? "does not have it" : "drips");
    case Op::OddPodComes: return fmt::format("pod o{} comes on node {} with odd cache {}", s.x, s.y, s.z);
    case Op::PlacedPodComes:
      return fmt::format("pod v{} comes on node {} with cache {} at {}{}", s.x, s.y, s.z % kCacheSlots,
                         cachePlace(s.z / kCacheSlots).is, s.x % 2 == 1 ? ", read-only" : "");
    case Op::FileDamaged: {
      constexpr const char* kWhat[] = {"has other bytes",
                                       "is gone",
                                       "is gone with its folder",
                                       "(a tree's record) has other bytes",
                                       "(a layer's record) has other bytes",
                                       "(a content) is gone",
                                       "(a content) has other bytes somewhere"};
      return fmt::format("file {} of the store of node {} {}", s.y, s.x, kWhat[s.z]);
    }
    default: return "";
  }
}

}  // namespace gs::sim
