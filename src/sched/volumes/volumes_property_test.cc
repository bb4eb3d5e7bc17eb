// What the index says of random small clusters, against a model that looks at everything each time; and that
// whoever is not told of a change has nothing from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "sched/volumes/volume_selections.h"
#include "sched/volumes/volumes_hand_test.h"

namespace gs::sched {
namespace {

using VolumeFilter = VolumeSelection::Filter;

/// Everything that there is, in lists.
struct VolumeWorld {
  std::map<std::string, model::PersistentVolume> volumes;
  std::map<std::string, model::PersistentVolumeClaim> claims;
  std::map<std::string, model::StorageClass> classes;
  std::map<std::string, std::pair<model::Pod, std::string>> running;  // and where
  std::map<std::string, int> limits;                                  // of driver d, by node
};

bool reaches(const model::PersistentVolume& v, const model::Labels& node) {
  if (!v.affinity.is_required) { return true; }
  return std::any_of(v.affinity.terms.begin(), v.affinity.terms.end(), [&](const auto& term) {
    return std::all_of(term.labels.begin(), term.labels.end(), [&](const auto& r) {
      const auto label = node.find(r.key);
      return label != node.end() && std::count(r.values.begin(), r.values.end(), label->second) > 0;
    });
  });
}

/// FindMatchingVolume, as it is written there: all volumes, one after the other.
const model::PersistentVolume* slowMatch(const VolumeWorld& w, const model::PersistentVolumeClaim& c,
                                         const model::Labels& node, const std::set<std::string>& taken) {
  const model::PersistentVolume* best = nullptr;
  for (const auto& [name, v] : w.volumes) {
    const bool is_its = v.claim && v.claim->key == c.key && (v.claim->uid.empty() || v.claim->uid == c.uid);
    if (taken.contains(name) || (v.claim && !is_its) || v.storage_class != c.storage_class) { continue; }
    if (v.capacity < c.size.value_or(model::Quantity{}) || v.is_block != c.is_block || v.deleting) {
      continue;
    }
    if (is_its) { return reaches(v, node) ? &v : nullptr; }
    if (!v.is_available || !reaches(v, node) || (c.modes & ~v.modes) != 0) { continue; }
    if (best == nullptr || v.capacity < best->capacity) { best = &v; }
  }
  return best;
}

std::optional<Reason> slowBinding(const VolumeWorld& w, const model::Pod& pod, const model::Node& node) {
  std::vector<const model::PersistentVolumeClaim*> late;
  std::vector<const model::PersistentVolumeClaim*> to_make;
  for (const auto& one : pod.volume_claims) {
    const auto& c = w.claims.at(one.claim);
    if (c.isBound() && !reaches(w.volumes.at(c.volume), node.labels)) { return Reason::VolumeElsewhere; }
  }
  for (const auto& one : pod.volume_claims) {
    const auto& c = w.claims.at(one.claim);
    if (c.isBound()) { continue; }
    if (c.selected_node && *c.selected_node != node.name) { return Reason::NoVolumeToBind; }
    (c.selected_node ? to_make : late).push_back(&c);
  }
  std::stable_sort(late.begin(), late.end(), [](const auto* a, const auto* b) { return a->size < b->size; });
  std::set<std::string> taken;
  for (const auto* c : late) {
    const auto* v = slowMatch(w, *c, node.labels, taken);
    if (v == nullptr) {
      to_make.push_back(c);
    } else {
      taken.insert(v->key.name);
    }
  }
  for (const auto* c : to_make) {
    if (w.classes.at(c->storage_class).provisioner != "d") { return Reason::NoVolumeToBind; }
  }
  return std::nullopt;
}

std::string slowHandle(const VolumeWorld& w, const model::PersistentVolumeClaim& c) {
  if (c.volume.empty() || !w.volumes.contains(c.volume)) {
    return w.classes.at(c.storage_class).provisioner == "d" ? "claim " + c.key.name : "";
  }
  return w.volumes.at(c.volume).handle;
}

bool slowLimits(const VolumeWorld& w, const model::Pod& pod, const std::string& node) {
  const auto limit = w.limits.find(node);
  if (limit == w.limits.end()) { return true; }
  std::set<std::string> all;
  for (const auto& [name, other] : w.running) {
    if (other.second != node) { continue; }
    for (const auto& one : other.first.volume_claims) { all.insert(slowHandle(w, w.claims.at(one.claim))); }
  }
  all.erase("");
  const std::size_t before = all.size();
  for (const auto& one : pod.volume_claims) { all.insert(slowHandle(w, w.claims.at(one.claim))); }
  all.erase("");
  return all.size() == before || all.size() <= static_cast<std::size_t>(limit->second);
}

/// The same random changes for the index and for the model.
class VolumePlay {
 public:
  explicit VolumePlay(std::uint64_t seed) : rng_{seed} {
    for (const char* name : {"made", "there"}) {
      world_.classes[name] = makeClass(name, *name == 'm' ? "d" : model::kNoProvisioner);
      n_.has(world_.classes[name]);
    }
    for (const char* name : {"a", "b"}) {
      const auto most = static_cast<int>(1 + rng_.below(3));
      world_.limits[name] = most;
      model::CsiNode node;
      node.key = {"", name};
      node.drivers = {{"d", most}};
      n_.has(node);
    }
    for (int i = 0; i < kClaims; ++i) { changeClaim(); }
    for (int i = 0; i < kClaims; ++i) {
      if (!world_.claims.contains(claimName(i))) { putClaim(randomClaim(i)); }
    }
  }

  void step() {
    switch (rng_.below(5)) {
      case 0: return changeClaim();
      case 1: return changePod();
      default: return changeVolume();
    }
  }
  [[nodiscard]] model::Pod pod() {
    std::vector<std::string> claims;
    for (std::uint64_t i = 0; i <= rng_.below(3); ++i) { claims.push_back(claimName(rng_.below(kClaims))); }
    return mounting("p", claims);
  }
  void compare(const model::Pod& pod) {
    if (!n_.blocked(pod).empty()) { return; }
    const auto ask = std::get<VolumeAsk>(n_.volumes.ask(pod));
    for (const char* name : {"a", "b", "c"}) {
      const model::Node& node = n_.node(name);
      const auto binding = n_.volumes.refuse(VolumeFilter::Binding, ask, node);
      const auto expected = slowBinding(world_, pod, node);
      ASSERT_EQ(binding ? std::optional{binding->reason} : std::nullopt, expected) << name;
      ASSERT_EQ(!n_.volumes.refuse(VolumeFilter::Limits, ask, node), slowLimits(world_, pod, name)) << name;
      ASSERT_EQ(n_.volumes.choose(pod, node).has_value(), !expected) << name;
      compareWithout(pod, ask, node);
      ++compared;
      fitting += expected ? 0 : 1;
    }
  }

  int compared = 0;
  int fitting = 0;
  int let_in = 0;  // once others are gone

 private:
  /// If some of those who run were not there.
  void compareWithout(const model::Pod& pod, const VolumeAsk& ask, const model::Node& node) {
    VolumeWorld without = world_;
    std::set<model::Uid> gone;
    for (const auto& [name, other] : world_.running) {
      if (!rng_.chance(50)) { continue; }
      gone.insert(other.first.uid);
      without.running.erase(name);
    }
    const bool takes = !n_.volumes.refuse(VolumeFilter::Limits, ask, node, &gone);
    ASSERT_EQ(takes, slowLimits(without, pod, node.name.text)) << node.name.text;
    let_in += takes && n_.volumes.refuse(VolumeFilter::Limits, ask, node) ? 1 : 0;
  }
  static constexpr int kClaims = 4;
  static constexpr int kVolumes = 5;

  template <class Number>
  static std::string claimName(Number i) {
    return "claim" + std::to_string(i);
  }
  [[nodiscard]] std::string anyOf(std::initializer_list<const char*> words) {
    return *(words.begin() + rng_.below(words.size()));
  }
  model::PersistentVolumeClaim randomClaim(int i) {
    auto c = makeVolumeClaim(claimName(i), static_cast<std::int64_t>(1 + rng_.below(3)));
    c.storage_class = anyOf({"made", "there"});
    if (rng_.chance(10)) { c.selected_node = model::NodeName{anyOf({"a", "b"})}; }
    const std::string volume = volumeName(rng_.below(kVolumes));
    if (rng_.chance(25) && world_.volumes.contains(volume)) { c = boundTo(c, volume); }
    return c;
  }
  static std::string volumeName(std::uint64_t i) { return "volume" + std::to_string(i); }
  void putClaim(model::PersistentVolumeClaim c) {
    c.revision = ++revision_;
    n_.has(c);
    world_.claims[c.key.name] = c;
  }
  void changeClaim() { putClaim(randomClaim(static_cast<int>(rng_.below(kClaims)))); }
  void changePod() {
    const std::string name = anyOf({"x", "y", "z"});
    if (const auto known = world_.running.find(name); known != world_.running.end()) {
      n_.volumes.podChanged(known->second.first, false, false);
      world_.running.erase(known);
      return;
    }
    auto other = pod();
    other.key.name = name;
    other.uid = model::Uid{name};
    const std::string node = anyOf({"a", "b"});
    n_.runs(other, node.c_str());
    world_.running[name] = {other, node};
  }
  void changeVolume() {
    const std::string name = volumeName(rng_.below(kVolumes));
    const bool is_needed = std::any_of(world_.claims.begin(), world_.claims.end(),
                                       [&](const auto& c) { return c.second.volume == name; });
    if (!is_needed && rng_.chance(20)) {
      n_.volumes.putVolume(name, nullptr);
      world_.volumes.erase(name);
      return;
    }
    auto v = makeVolume(name, static_cast<std::int64_t>(1 + rng_.below(4)));
    v.revision = ++revision_;
    v.storage_class = anyOf({"made", "there"});
    v.is_available = rng_.chance(85);
    v.deleting = rng_.chance(5);
    v.modes = static_cast<model::AccessModes>(rng_.chance(85) ? 3 : 2);
    if (rng_.chance(40)) {
      v.driver = "d";
      v.handle = anyOf({"h1", "h2", "h3"});
    }
    if (rng_.chance(25)) {
      const std::string claim = claimName(rng_.below(kClaims));
      v.claim = model::ClaimRef{{"default", claim}, model::Uid{anyOf({"", "former"})}};
      if (rng_.chance(40)) { v.claim->uid = model::Uid{"claim-" + claim}; }
    }
    if (rng_.chance(60)) {
      v.affinity = rng_.chance(50) ? onlyWith("zone", {anyOf({"1", "2"})})
                                   : onlyWith("host", {anyOf({"a", "b"}), "c"});
      std::sort(v.affinity.terms[0].labels[0].values.begin(), v.affinity.terms[0].labels[0].values.end());
    }
    n_.has(v);
    world_.volumes[name] = v;
  }

  Rng rng_;
  VolumesWithNodes n_;
  VolumeWorld world_;
  model::Revision revision_ = 1;
};

TEST(VolumesProperty, SaysWhatALookAtEverythingSays) {
  int compared = 0;
  int fitting = 0;
  int let_in = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    VolumePlay play{seed};
    for (int i = 0; i < 60; ++i) {
      play.step();
      play.compare(play.pod());
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
    }
    compared += play.compared;
    fitting += play.fitting;
    let_in += play.let_in;
  }
  EXPECT_GT(let_in, 10);
  EXPECT_GT(compared, 10'000) << "the plays say something";
  EXPECT_GT(fitting, compared / 10);
  EXPECT_LT(fitting, compared - compared / 10);
}

/// A pod that waits learns of whatever lets it onto a node. One that asks for something else is given back.
/// Of one that asks for the same the node is told; or its selection's moment grows, and who sleeps is woken.
TEST(VolumesProperty, WhoeverMayFitNowIsTold) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng{seed};
    VolumesWithNodes n;
    n.has(makeClass("local", rng.chance(30) ? "d" : model::kNoProvisioner));
    n.has(makeVolumeClaim("data"));
    n.has(makeVolumeClaim("other"));
    const auto pod = mounting("p", {"data"});
    n.volumes.podChanged(pod, true, false);
    for (int i = 0; i < 40; ++i) {
      const auto before = n.volumes.ask(pod);
      const std::string could = n.takers(pod);
      const auto* ask = std::get_if<VolumeAsk>(&before);
      const std::uint64_t moment = ask == nullptr ? 0 : n.volumes.momentOf(*ask);
      const std::uint64_t wide = n.ledger.wideChanges();
      std::map<std::string, std::uint64_t> versions;
      for (const char* name : {"a", "b", "c"}) {
        versions[name] = n.ledger.find(model::NodeName{name})->version;
      }
      const std::string name = "v" + std::to_string(rng.below(3));
      Volumes::Pods told;
      if (rng.chance(30)) {
        told = n.volumes.putVolume(name, nullptr);
      } else {
        auto v = makeVolume(name, static_cast<std::int64_t>(5 + rng.below(10)));
        v.revision = static_cast<model::Revision>(i) + 2;
        v.is_available = rng.chance(70);
        if (rng.chance(50)) { v.affinity = onlyWith("host", {rng.chance(50) ? "a" : "b"}); }
        if (rng.chance(30)) { v.claim = model::ClaimRef{{"default", rng.chance(50) ? "data" : "other"}, {}}; }
        told = n.has(v);
      }
      if (n.volumes.ask(pod) != before) {
        ASSERT_TRUE(told.contains(pod.uid)) << "seed " << seed << ": it asks for something else";
        continue;
      }
      const bool is_woken = n.ledger.wideChanges() != wide;
      const bool is_anew = ask != nullptr && n.volumes.momentOf(*ask) != moment;
      const std::string can = n.takers(pod);
      for (const char* node : {"a", "b", "c"}) {
        const bool is_other =
            (could.find(node) == std::string::npos) != (can.find(node) == std::string::npos);
        const bool is_told = n.ledger.find(model::NodeName{node})->version != versions[node];
        EXPECT_TRUE(!is_other || is_anew || is_told) << "seed " << seed << ", node " << node;
        const bool fits_now = is_other && can.find(node) != std::string::npos;
        EXPECT_TRUE(!fits_now || is_woken || is_told) << "seed " << seed << ": it sleeps on, node " << node;
      }
    }
  }
}

}  // namespace
}  // namespace gs::sched
