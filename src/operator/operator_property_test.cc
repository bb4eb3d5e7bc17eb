// Seeds of a small cluster: caches come, change and go, nodes leave and come back, agents do their work, the
// operator dies, its calls fail in every way, watches end, and news are late or come before the answers.
// Whatever happened, no cache goes while a node has it, and when the faults end, every status is true and
// every cache can be deleted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "operator/operator_hand_test.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;
using kcache::State;

/// What an agent has on its disk of one scope's caches.
struct Disk {
  struct Image {
    State state = State::Extracted;
    int pods = 0;
  };
  std::map<std::string, std::map<std::string, Image>> caches;  // by name and digest
  std::set<std::string> finalizers;                            // names of caches
};

class OperatorSeeds : public Hand, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kNodes = 3;
  static constexpr int kCaches = 3;
  Rng rng{static_cast<std::uint64_t>(GetParam()) + 1};
  std::map<std::pair<std::string, std::string>, Disk> disks;  // by namespace and node
  bool has_faults = true;

  [[nodiscard]] static std::string nodeName(std::uint64_t i) { return fmt::format("node-{}", i); }
  [[nodiscard]] std::string anyNamespace() { return rng.chance(50) ? "ns" : ""; }
  [[nodiscard]] model::ObjectKey anyCache() {
    return {anyNamespace(), fmt::format("cache-{}", rng.below(kCaches))};
  }
  [[nodiscard]] std::string anyDigest() { return rng.chance(50) ? kDigestA : kDigestB; }
  [[nodiscard]] bool isThere(const std::string& node) const {
    return server.objects.contains({"nodes", {"", node}});
  }

  void SetUp() override {
    fate = [this](const kapi::Call& call) { return fateOf(call); };
    news_first = [this] { return rng.chance(50); };
    for (std::uint64_t i = 0; i < kNodes; ++i) { makeNode(nodeName(i)); }
  }

  std::optional<kapi::Outcome> fateOf(const kapi::Call& call) {
    judge(call);
    if (!has_faults || !rng.chance(20)) { return std::nullopt; }
    kapi::Outcome out;  // Unknown
    if (call.verb == kapi::Verb::List) {
      constexpr std::array kHow{0, 403, 404, 410, 429, 500, 503};
      out.http = kHow.at(rng.below(kHow.size()));
      const bool is_refused = out.http >= 400 && out.http < 500;
      out.result = is_refused ? kapi::CallResult::Refused : kapi::CallResult::Unknown;
      return out;
    }
    switch (rng.below(3)) {
      case 0: (void)server.carryOut(call); break;
      case 1:
        out.result = kapi::CallResult::Refused;
        out.http = rng.chance(50) ? 429 : 403;
        break;
      default: break;
    }
    return out;
  }
  /// A cache's finalizer may be taken off only when nobody has the cache.
  void judge(const kapi::Call& call) {
    const bool is_cache = call.kind == kcache::kCache || call.kind == kcache::kClusterCache;
    const auto* names = call.body["metadata"].find("finalizers");
    if (!is_cache || names == nullptr) { return; }
    for (const auto& name : names->items()) {
      if (name.str() == kcache::finalizerOf(call.key)) { return; }
    }
    for (const auto& [key, disk] : disks) {
      const bool is_held = key.first == call.key.ns && disk.finalizers.contains(call.key.name);
      EXPECT_FALSE(is_held && isThere(key.second))
          << call.key.text() << " goes, and " << key.second << " has it";
    }
  }

  /// An agent looks at one cache and takes a step.
  void work(Disk& disk, const model::ObjectKey& key, bool may_fail) {
    const auto is = cache(key);
    const bool is_wanted = is && !is->is_deleting && !is->digest.empty();
    auto& images = disk.caches[key.name];
    std::erase_if(images, [&](const auto& image) {
      return image.second.pods == 0 && (!is_wanted || image.first != is->digest);
    });
    if (is_wanted && !disk.finalizers.contains(key.name)) {
      disk.finalizers.insert(key.name);
    } else if (is_wanted) {
      Disk::Image& image = images[is->digest];
      if (image.pods == 0) { image.state = may_fail && rng.chance(20) ? State::Error : State::Extracted; }
    } else if (images.empty()) {
      disk.finalizers.erase(key.name);
    }
    if (images.empty()) { disk.caches.erase(key.name); }
  }
  void usePods(Disk& disk) {
    for (auto& [name, images] : disk.caches) {
      for (auto& [digest, image] : images) {
        if (image.state == State::Error) { continue; }
        image.pods = static_cast<int>(rng.below(3));
        image.state = image.pods > 0 ? State::Running : State::Extracted;
      }
    }
  }
  void publish(const std::string& ns, const std::string& node, const Disk& disk) {
    std::vector<Says> all;
    for (const auto& [name, images] : disk.caches) {
      for (const auto& [digest, image] : images) {
        all.push_back({name, digest, image.state, image.pods, "why"});
      }
    }
    say(ns, node, all);
    change(kcache::nodeKindOf({ns, node}), {ns, node}, [&](json::Value& o) {
      json::Array names;
      for (const auto& name : disk.finalizers) { names.push_back(kcache::nodeFinalizer(name)); }
      o.child("metadata").set("finalizers", names);
    });
  }
  void agentActs(const std::string& ns, const std::string& node, bool may_fail = true) {
    if (!isThere(node)) { return; }
    Disk& disk = disks[{ns, node}];
    for (int i = 0; i < kCaches; ++i) { work(disk, {ns, fmt::format("cache-{}", i)}, may_fail); }
    if (may_fail && rng.chance(40)) { usePods(disk); }
    publish(ns, node, disk);
  }

  void watchesSuffer() {
    constexpr std::array kAll{&kcache::kCache, &kcache::kClusterCache, &kcache::kCacheNode,
                              &kcache::kClusterCacheNode, &kNodePresence};
    const kapi::Kind kind = *kAll.at(rng.below(kAll.size()));
    if (rng.chance(50)) {
      constexpr std::array kHow{0, 200, 404, 410, 500};
      return endWatch(kind, kHow.at(rng.below(kHow.size())));
    }
    const std::string plural{kind->plural};
    if (server.held.erase(plural) == 0) { server.held.insert(plural); }
  }

  void somethingHappens() {
    const std::string node = nodeName(rng.below(kNodes));
    const model::ObjectKey key = anyCache();
    const auto kind = kcache::cacheKindOf(key);
    switch (rng.below(10)) {
      case 0:
        if (!cache(key)) { makeCache(key, rng.chance(80) ? anyDigest() : ""); }
        break;
      case 1:
        if (cache(key)) { setDigest(key, anyDigest()); }
        break;
      case 2:
        if (cache(key)) { server.deleteSoftly(kind, key); }
        break;
      case 3:
        if (isThere(node)) {
          server.remove(kNodePresence, {"", node});
        } else {
          for (const char* ns : {"ns", ""}) { disks.erase({ns, node}); }  // a new machine of that name
          makeNode(node);
        }
        break;
      case 4: start(); break;
      case 5: lead(rng.chance(50)); break;
      case 6:
      case 7: watchesSuffer(); break;
      default: agentActs(key.ns, node);
    }
    pass(std::chrono::milliseconds{rng.below(3000)});
  }

  void agentsSettle(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (const char* ns : {"ns", ""}) {
        for (std::uint64_t i = 0; i < kNodes; ++i) { agentActs(ns, nodeName(i), false); }
      }
      pass(2s);
    }
  }
  /// What its node objects say, counted by hand.
  [[nodiscard]] std::string truth(const model::ObjectKey& key) {
    kcache::Counts sum;
    const auto is = cache(key);
    for (const auto& [at, disk] : disks) {
      if (at.first != key.ns || !isThere(at.second) || !disk.caches.contains(key.name)) { continue; }
      kcache::Counts one{.nodes = 1};
      for (const auto& [digest, image] : disk.caches.at(key.name)) {
        (digest == is->digest ? one.pods_running : one.pods_outdated) += image.pods;
        if (image.pods > 0) { one.nodes_in_use = 1; }
        if (digest == is->digest && image.state == State::Error) { one.nodes_error = 1; }
      }
      const auto present = disk.caches.at(key.name).find(is->digest);
      const bool is_extracted =
          present != disk.caches.at(key.name).end() && present->second.state == State::Extracted;
      one.nodes_not_in_use = is_extracted && one.nodes_in_use == 0 ? 1 : 0;
      sum += one;
    }
    return fmt::format("{} {} {} {} {} {}", sum.nodes, sum.nodes_in_use, sum.nodes_not_in_use,
                       sum.nodes_error, sum.pods_running, sum.pods_outdated);
  }
};

TEST_P(OperatorSeeds, EndWithTrueStatusAndNothingThatCannotGo) {
  start();
  for (int i = 0; i < 60; ++i) { somethingHappens(); }
  has_faults = false;
  server.held.clear();
  lead();
  pass(1min);  // kinds that were away are listed again
  agentsSettle(2);
  pass(3min);
  for (int i = 0; i < kCaches; ++i) {
    for (const char* ns : {"ns", ""}) {
      const model::ObjectKey key{ns, fmt::format("cache-{}", i)};
      const auto is = cache(key);
      if (!is || is->is_deleting) { continue; }
      const std::string words = shown(key);
      EXPECT_EQ(words.substr(words.find(' ') + 1), truth(key)) << key.text() << " " << words;
    }
  }
  for (auto& [at, disk] : disks) {
    for (auto& [name, images] : disk.caches) {
      for (auto& [digest, image] : images) { image.pods = 0; }
    }
  }
  for (int i = 0; i < kCaches; ++i) {
    for (const char* ns : {"ns", ""}) {
      const model::ObjectKey key{ns, fmt::format("cache-{}", i)};
      if (cache(key)) { server.deleteSoftly(kcache::cacheKindOf(key), key); }
    }
  }
  agentsSettle(4);
  pass(3min);
  for (const auto& [key, object] : server.objects) {
    EXPECT_FALSE(key.first == "gkmcaches" || key.first == "clustergkmcaches")
        << key.second.text() << " cannot go";
    const bool is_node_object = key.first == "gkmcachenodes" || key.first == "clustergkmcachenodes";
    EXPECT_FALSE(is_node_object && !isThere(key.second.name)) << key.second.text() << " is of no node";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OperatorSeeds, ::testing::Range(0, 200));

}  // namespace
}  // namespace gs::gkm
