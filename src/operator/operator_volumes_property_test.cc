// Seeds of claims by which pods find caches: caches come, ask for claims, stop asking and go; others make and
// delete claims of the same names; people delete ours; the control plane binds and releases late; pods use
// claims; the operator dies, its calls fail in every way, and its watches lag.
// Whatever happened: nothing of somebody else's is deleted, and no volume whose claim is there as far as the
// control plane knows. When the faults end, every cache that asks for claims has them, bound, unless somebody
// else has the name; when all caches are gone, nothing is left.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "operator/operator_hand_test.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;

class VolumeSeeds : public Hand, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kCaches = 2;
  Rng rng{static_cast<std::uint64_t>(GetParam()) + 1};
  bool has_faults = true;

  [[nodiscard]] std::string anyNamespace() { return rng.chance(50) ? "a" : "b"; }
  [[nodiscard]] model::ObjectKey anyCache() {
    return {rng.chance(50) ? anyNamespace() : "", fmt::format("cache-{}", rng.below(kCaches))};
  }
  [[nodiscard]] model::ObjectKey anyClaim() {
    return {anyNamespace(), fmt::format("cache-{}", rng.below(kCaches))};
  }
  [[nodiscard]] std::vector<model::ObjectKey> allCaches() const {
    std::vector<model::ObjectKey> out = all(kcache::kCache);
    for (const auto& key : all(kcache::kClusterCache)) { out.push_back(key); }
    return out;
  }
  [[nodiscard]] bool isOurs(kapi::Kind kind, const model::ObjectKey& key) const {
    const auto* object = find(kind, key);
    return object != nullptr && (*object)["metadata"]["labels"][kManagedLabel].str() == "true";
  }

  void SetUp() override {
    fate = [this](const kapi::Call& call) { return fateOf(call); };
    news_first = [this] { return rng.chance(50); };
    makeNode("node-a");
  }

  std::optional<kapi::Outcome> fateOf(const kapi::Call& call) {
    judge(call);
    if (!has_faults || !rng.chance(20)) { return std::nullopt; }
    kapi::Outcome out;  // Unknown
    if (!kapi::isRead(call.verb) && rng.chance(30)) { (void)server.carryOut(call); }
    if (rng.chance(40)) {
      constexpr std::array kHow{403, 404, 429};
      out.result = kapi::CallResult::Refused;
      out.http = kHow.at(rng.below(kHow.size()));
    }
    return out;
  }
  void judge(const kapi::Call& call) {
    if (call.verb != kapi::Verb::Delete) { return; }
    const auto* object = find(call.kind, call.key);
    if (object == nullptr || (*object)["metadata"]["uid"].str() != call.body["preconditions"]["uid"].str()) {
      return;
    }
    EXPECT_TRUE(isOurs(call.kind, call.key)) << call.key.text() << " is somebody else's";
    const bool is_current =
        (*object)["metadata"]["resourceVersion"].str() == call.body["preconditions"]["resourceVersion"].str();
    EXPECT_FALSE(call.kind == kVolume && is_current && phase(kVolume, call.key) == "Bound")
        << call.key.text() << " is bound";
  }

  void wish(const model::ObjectKey& key) {
    if (!cache(key)) { return; }
    if (!key.ns.empty()) { return ask(key, "pvc", rng.chance(70)); }
    json::Array namespaces;
    for (const char* ns : {"a", "b"}) {
      if (rng.chance(60)) { namespaces.push_back(ns); }
    }
    ask(key, "workloadNamespaces", namespaces);
  }
  void somebodyActs(const model::ObjectKey& claim) {
    const bool is_there = find(kVolumeClaim, claim) != nullptr;
    if (is_there) { return server.deleteSoftly(kVolumeClaim, claim); }
    if (rng.chance(30)) {
      server.put(kVolumeClaim,
                 json::Object{{"metadata", json::Object{{"name", claim.name}, {"namespace", claim.ns}}}});
    }
  }
  void watchesSuffer() {
    constexpr std::array kAll{&kcache::kCache, &kcache::kClusterCache, &kVolumeClaim, &kVolume};
    const kapi::Kind kind = *kAll.at(rng.below(kAll.size()));
    if (rng.chance(50)) {
      constexpr std::array kHow{0, 200, 410, 500};
      return endWatch(kind, kHow.at(rng.below(kHow.size())));
    }
    const std::string plural{kind->plural};
    if (server.held.erase(plural) == 0) { server.held.insert(plural); }
  }

  void somethingHappens() {
    const model::ObjectKey key = anyCache();
    const model::ObjectKey claim = anyClaim();
    switch (rng.below(11)) {
      case 0:
      case 1:
        if (!cache(key)) { makeCache(key); }
        wish(key);
        break;
      case 2: wish(key); break;
      case 3:
        if (cache(key)) { server.deleteSoftly(kcache::cacheKindOf(key), key); }
        break;
      case 4: somebodyActs(claim); break;
      case 5:
        if (const auto volumes = all(kVolume); !volumes.empty()) {
          server.deleteSoftly(kVolume, volumes.at(rng.below(volumes.size())));
        }
        break;
      case 6: start(); break;
      case 7: watchesSuffer(); break;
      case 8:
        if (used.erase(claim) == 0 && find(kVolumeClaim, claim) != nullptr) {
          used.insert(claim);
          conductAll();
        }
        break;
      default: conductAll();
    }
    pass(std::chrono::milliseconds{rng.below(3000)});
  }
};

TEST_P(VolumeSeeds, EndWithEveryClaimBoundAndNothingLeft) {
  start();
  for (int i = 0; i < 60; ++i) { somethingHappens(); }
  has_faults = false;
  server.held.clear();
  used.clear();
  live(120);
  for (const auto& key : allCaches()) {
    const auto is = cache(key);
    for (const auto& ns : claimNamespaces(*is)) {
      const model::ObjectKey claim{ns, key.name};
      const auto& stands = is->status->claims.at(ns);
      if (!isOurs(kVolumeClaim, claim)) {
        EXPECT_EQ(stands.condition->state, kcache::State::Error) << claim.text();
        continue;
      }
      EXPECT_EQ(phase(kVolumeClaim, claim), "Bound") << claim.text();
    }
  }
  const std::size_t bound = static_cast<std::size_t>(
      std::count_if(server.objects.begin(), server.objects.end(), [&](const auto& one) {
        return one.first.first == kVolumeClaim->plural && isOurs(kVolumeClaim, one.first.second);
      }));
  EXPECT_EQ(all(kVolume).size(), bound);
  for (const auto& key : allCaches()) { server.deleteSoftly(kcache::cacheKindOf(key), key); }
  live(120);
  EXPECT_TRUE(allCaches().empty());
  EXPECT_TRUE(all(kVolume).empty());
  for (const auto& key : all(kVolumeClaim)) { EXPECT_FALSE(isOurs(kVolumeClaim, key)) << key.text(); }
}

INSTANTIATE_TEST_SUITE_P(Seeds, VolumeSeeds, ::testing::Range(0, 100));

}  // namespace
}  // namespace gs::gkm
