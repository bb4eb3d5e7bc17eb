#include "test/sim/cache_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "kcache/kinds/kinds.h"
#include "kcache/kinds/names.h"
#include "sandbox/caches/csi_drivers_test.h"
#include "test/sim/cache_places.h"
#include "test/sim/cluster.h"
#include "test/world/objects.h"
#include "yaml/yaml.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;
using How = CallFault::How;

constexpr std::uint64_t kSeed = 0xcac4e;
constexpr Duration kKubeletEvery = 2s;
constexpr Duration kMountAgain = 2s;
constexpr const char* kPlace = "play/place";  // an annotation: the number of a CachePlace
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kResources[] = {"gkm.io/gkmcaches", "gkm.io/clustergkmcaches", "gkm.io/gkmcachenodes",
                                      "gkm.io/clustergkmcachenodes"};

/// Two of each namespace, and two of the cluster, by the same names.
model::ObjectKey keyOf(int slot) {
  const char* const ns[] = {kNamespaces[0], kNamespaces[1], ""};
  return {ns[slot / 2], fmt::format("cache-{}", slot % 2)};
}
std::string pathOf(const model::ObjectKey& key) {
  const std::string group = "/apis/gkm.io/v1alpha1/";
  if (key.ns.empty()) { return group + "clustergkmcaches"; }
  return fmt::format("{}namespaces/{}/gkmcaches", group, key.ns);
}
/// Of a registry that does not have its image, or drips: one of each in both namespaces.
model::ObjectKey oddKeyOf(int which) { return {kNamespaces[which % 2], fmt::format("odd-{}", which)}; }
std::string cachePodName(int slot) { return fmt::format("k{}", slot); }
std::string cachePodPath(int slot) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", kNamespaces[slot % 2], cachePodName(slot));
}

/// Those of charts/gkm, read once.
const std::vector<Value>& crdsOfCaches() {
  static const std::vector<Value> all = [] {
    const auto text = readFile(GS_GKM_CRDS, 1 << 20);
    GS_CHECK(text.has_value(), "the CRDs of charts/gkm: {}", text ? "" : text.error().message);
    const auto documents = yaml::toJson(*text);
    GS_CHECK(documents.has_value(), "the CRDs of charts/gkm are no YAML");
    std::vector<Value> out;
    for (const auto& one : *documents) { out.push_back(json::parse(one).value()); }
    out.push_back(sandbox::csiDriverCrd());
    return out;
  }();
  return all;
}

/// Where it has its cache, as the play meant it; those that mount it nowhere show what all share.
std::string placeOf(const Value& pod) {
  const std::string_view place = pod["metadata"]["annotations"][kPlace].str();
  return place.empty() ? kSharedPlace : cachePlace(place.front() - '0').is;
}

/// Null: it has none.
const Value& volumeOf(const Value& pod) {
  static const Value kNone;
  const auto& volumes = pod["spec"]["volumes"].items();
  return volumes.empty() ? kNone : volumes.front()["csi"];
}

}  // namespace

CacheSide::CacheSide(sandbox::World& world, const Plan& plan)
    : world_{world}, plan_{plan}, rng_{plan.seed ^ kSeed}, registry_{world} {
  log::setLevel(log::Level::Error);  // store and driver tell of every fault
  for (const Value& crd : crdsOfCaches()) {
    const auto answer = world_.request("POST", kCrds, crd);
    GS_CHECK(answer.code == 201, "a CRD of kernel caches was refused: {}", json::print(answer.body));
  }
  world_.kubelet().setVolumes(*this);
  caches_.emplace(world_, sandbox::Caches::Options{.seed = rng_.next(),
                                                   .rims =
                                                       [this](const std::string& node) {
                                                         return std::make_unique<Machine>(world_, registry_,
                                                                                          node);
                                                       },
                                                   .records = false,
                                                   .watches_pods = plan.has(Feature::OddCaches)});
  caches_->wire().setJudge([this](sandbox::ReplicaId, const kapi::Call& call) { return resultOf(call); });
  caches_->wire().setStreamJudge([this](sandbox::ReplicaId, kapi::Token) -> Duration {
    if (world_.now().mono >= slow_until_ || rng_.chance(40)) { return {}; }
    return Duration{1ms} * static_cast<std::int64_t>(rng_.below(slow_ms_));
  });
  tick();
}

CacheSide::~CacheSide() {
  *is_there_ = false;
  log::setLevel(log::Level::Info);
}

void CacheSide::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

CacheSide::Machine* CacheSide::machineOf(const std::string& node) {
  return static_cast<Machine*>(caches_->rimOf(node));
}

std::map<std::string, CacheSide::Machine*> CacheSide::machines() {
  std::map<std::string, Machine*> out;
  for (const auto& [node, machine] : world_.machines().all()) {
    if (Machine* mine = machineOf(node)) { out.emplace(node, mine); }
  }
  return out;
}

// ---- the kubelet

bool CacheSide::areMounted(const Value& pod, Now now) {
  const Value& volume = volumeOf(pod);
  if (volume["driver"].str() != kcache::kDriver) { return true; }
  Machine* machine = machineOf(std::string{pod["spec"]["nodeName"].str()});
  if (machine == nullptr) { return false; }
  const Value& asked = volume["volumeAttributes"];
  const Machine::Pod mine{.ns = std::string{pod["metadata"]["namespace"].str()},
                          .name = std::string{pod["metadata"]["name"].str()},
                          .uid = std::string{pod["metadata"]["uid"].str()},
                          .cache = std::string{asked[kcache::kCacheAttribute].str()},
                          .cache_ns = std::string{asked[kcache::kNamespaceAttribute].str()},
                          .is_read_only = volume["readOnly"].boolOr(false),
                          .attribute = std::string{asked[kcache::kMountPathAttribute].str()},
                          .is = placeOf(pod)};
  const auto next = tries_.find(mine.uid);
  if (next != tries_.end() && now.mono < next->second) { return false; }
  tries_[mine.uid] = now.mono + kMountAgain;
  if (!machine->publish(mine)) { return false; }
  tries_.erase(mine.uid);
  ++mounts_;
  caches_->lookNow(std::string{pod["spec"]["nodeName"].str()});
  return true;
}

/// Volumes of pods that need none any more go, whatever became of the pods' objects.
void CacheSide::tick() {
  for (const auto& [node, machine] : machines()) {
    for (const std::string& uid : machine->published()) {
      if (!world_.kubelet().needsVolumes(uid)) { (void)machine->unpublish(uid); }
    }
    machine->probe();
  }
  look();
  lookAtArrivals();
  world_.after(kKubeletEvery, [this, there = is_there_] {
    if (*there) { tick(); }
  });
}

// ---- steps

void CacheSide::carryOut(const Step& s) {
  noteHindrance();
  switch (s.op) {
    case Op::CacheComes: return comes(s.x, s.y);
    case Op::CacheChanges: return changes(s.x, s.y);
    case Op::CacheGoes:
      (void)world_.request("DELETE", pathOf(keyOf(s.x)) + '/' + keyOf(s.x).name, Object{});
      return;
    case Op::TagMoves: return registry_.move(s.x, s.y);
    case Op::CachePodComes: return podComes(s);
    case Op::CachePodEnds: return podEnds(s);
    case Op::CacheProcessDies: return dies(s);
    case Op::MachineBoots: return reboot(nodeName(s.x));
    case Op::RegistryFails:
      return registry_.fail(static_cast<CacheRegistry::Fault>(s.x), std::chrono::seconds{s.y});
    case Op::DiskFull:
      if (Machine* machine = machineOf(nodeName(s.x))) { machine->fillDisk(std::chrono::seconds{s.y}); }
      return;
    case Op::RunEmptied:
      if (Machine* machine = machineOf(nodeName(s.x))) { machine->emptyRun(); }
      return;
    case Op::CacheFaults:
      faults_until_ = world_.now().mono + std::chrono::seconds{s.y};
      fault_permille_ = static_cast<std::uint64_t>(s.z);
      return;
    case Op::CacheSlow:
      slow_until_ = world_.now().mono + std::chrono::seconds{s.y};
      slow_ms_ = static_cast<std::uint64_t>(s.z);
      return;
    case Op::CacheBreak: {
      constexpr int kHow[] = {0, 410, 500};
      const auto agent = caches_->agentOf(nodeName(s.x % kNodes));
      const sandbox::ReplicaId who = s.x < kNodes && agent ? *agent : s.x % kReplicas;
      return caches_->endStreams(who, kHow[s.y]);
    }
    case Op::OddCacheComes: return oddComes(s.x, s.y);
    case Op::OddPodComes: return podMounts(fmt::format("o{}", s.x), nodeName(s.y), oddKeyOf(s.z), false);
    case Op::PlacedPodComes:
      return podMounts(fmt::format("v{}", s.x), nodeName(s.y), keyOf(s.z % kCacheSlots), s.x % 2 == 1,
                       s.z / kCacheSlots);
    case Op::FileDamaged:
      if (Machine* machine = machineOf(nodeName(s.x))) { machine->damage(s.y, static_cast<Damage>(s.z)); }
      return;
    default: return;
  }
}

/// Without a webhook that would ask: it names an image that others have from a registry of theirs. It is
/// never resolved, so that nobody may mount it.
void CacheSide::oddComes(int which, int image) {
  const model::ObjectKey key = oddKeyOf(which);
  if (cacheObject(key) != nullptr) { return; }
  const bool drips = which >= kOddCaches / 2;
  const std::string digest = CacheRegistry::digestOf(image).text();
  world_.create(Object{{"apiVersion", "gkm.io/v1alpha1"},
                       {"kind", "GKMCache"},
                       {"metadata", Object{{"name", key.name},
                                           {"namespace", key.ns},
                                           {"annotations", Object{{kcache::kDigestKey, digest}}}}},
                       {"spec", Object{{"image", CacheRegistry::elsewhere(drips) + '@' + digest}}}});
}

/// As its webhook has it: nothing comes with an image that nobody resolves.
void CacheSide::comes(int slot, int tag) {
  const auto digest = registry_.resolve(tag);
  const model::ObjectKey key = keyOf(slot);
  if (!digest || cacheObject(key) != nullptr) { return; }
  Value meta = Object{{"name", key.name}, {"annotations", Object{{kcache::kDigestKey, digest->text()}}}};
  if (!key.ns.empty()) { meta.set("namespace", key.ns); }
  resolved_[key].insert(digest->text());
  present_[key] = digest->text();
  world_.create(Object{{"apiVersion", "gkm.io/v1alpha1"},
                       {"kind", key.ns.empty() ? "ClusterGKMCache" : "GKMCache"},
                       {"metadata", std::move(meta)},
                       {"spec", Object{{"image", CacheRegistry::nameOf(tag)}}}});
}

void CacheSide::changes(int slot, int tag) {
  const auto digest = registry_.resolve(tag);
  const model::ObjectKey key = keyOf(slot);
  if (!digest || cacheObject(key) == nullptr) { return; }
  resolved_[key].insert(digest->text());
  present_[key] = digest->text();
  (void)world_.request(
      "PATCH", pathOf(key) + '/' + key.name,
      Object{{"metadata", Object{{"annotations", Object{{kcache::kDigestKey, digest->text()}}}}},
             {"spec", Object{{"image", CacheRegistry::nameOf(tag)}}}},
      kMerge);
}

void CacheSide::podComes(const Step& s) {
  podMounts(cachePodName(s.x), nodeName(s.y), keyOf(s.z % kCacheSlots), s.z >= kCacheSlots);
}

/// A pod of the cache's namespace, or by its number of one of the two. With a `place` its container mounts it
/// there.
void CacheSide::podMounts(const std::string& name, const std::string& node, const model::ObjectKey& cache,
                          bool is_read_only, std::optional<int> place) {
  const bool is_of_its = !cache.ns.empty() && name.front() != 'k';
  const std::string ns = is_of_its ? cache.ns : kNamespaces[(name.back() - '0') % 2];
  Object attributes{{kcache::kCacheAttribute, cache.name}};
  if (!cache.ns.empty()) { attributes[kcache::kNamespaceAttribute] = cache.ns; }
  Value pod = test::pod(name, "", 0, ns);
  if (place) {
    const CachePlace& at = cachePlace(*place);
    if (*at.attribute != '\0') { attributes[kcache::kMountPathAttribute] = at.attribute; }
    const Value mount = Object{{"name", "kernels"}, {"mountPath", at.spec}};
    pod.child("spec").child("containers").array().front().set("volumeMounts", Array{mount});
    pod.child("metadata").set("annotations", Object{{kPlace, std::to_string(*place)}});
  }
  pod.child("spec").set("schedulerName", "default-scheduler");
  pod.child("spec").set("nodeName", node);
  pod.child("spec").set("volumes",
                        Array{Value{Object{{"name", "kernels"},
                                           {"csi", Object{{"driver", kcache::kDriver},
                                                          {"readOnly", is_read_only},
                                                          {"volumeAttributes", std::move(attributes)}}}}}});
  if (world_.request("POST", fmt::format("/api/v1/namespaces/{}/pods", ns), std::move(pod)).code == 201) {
    pods_[fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name)] =
        name.front() != 'o' && (cache.ns.empty() || cache.ns == ns);
  }
}

void CacheSide::podEnds(const Step& s) {
  if (s.y == 0) {
    world_.kubelet().finish(kNamespaces[s.x % 2], cachePodName(s.x));
    world_.touch();
  } else {
    const Value how = s.y == 1 ? Value{Object{}} : Value{Object{{"gracePeriodSeconds", 0}}};
    (void)world_.request("DELETE", cachePodPath(s.x), how);
  }
}

void CacheSide::dies(const Step& s) {
  const std::string node = nodeName(s.x % kNodes);
  Machine* machine = machineOf(node);
  switch (s.y) {
    case 0: return caches_->crashOperator(s.x % 2);
    case 1: return caches_->crashAgent(node);
    case 2:
      if (machine != nullptr) { machine->crashDriver(); }
      return;
    case 3:
      if (machine != nullptr) { machine->agentDiesAt(s.z); }
      return;
    default:
      if (machine != nullptr) { machine->driverDiesAt(s.z); }
      return;
  }
}

/// Its containers end with it; their pods are not started again.
void CacheSide::reboot(const std::string& node) {
  Machine* machine = machineOf(node);
  if (machine == nullptr) { return; }
  for (const auto& running : world_.kubelet().running(node)) {
    const auto mounted = machine->published();
    const bool is_ours = std::find(mounted.begin(), mounted.end(), running.uid) != mounted.end();
    if (!is_ours) { continue; }
    cut_off_.insert(running.uid);
    world_.kubelet().finish(running.pod.ns, running.pod.name, 137);
  }
  machine->reboot();
  caches_->crashAgent(node);
  world_.touch();
}

CallFault CacheSide::resultOf(const kapi::Call& call) {
  if (world_.now().mono >= faults_until_ || rng_.below(1000) >= fault_permille_) { return {}; }
  const bool is_write = !kapi::isRead(call.verb);
  switch (rng_.below(6)) {
    case 0: return {How::Refused, 500, {}, false, false};
    case 1: return {How::Refused, is_write ? 409 : 500, {}, false, false};
    case 2: return {How::LostBefore, 0, {}, false, false};
    case 3: return {How::LostAfter, 0, {}, false, false};
    case 4: return {How::Late, 0, Duration{50ms} * (1 + rng_.below(200)), false, false};
    default: return {How::Normal, 0, {}, is_write && rng_.chance(50), is_write && rng_.chance(50)};
  }
}

// ---- at any time

const Value* CacheSide::cacheObject(const model::ObjectKey& key) const {
  const auto* there = world_.api().store().find({kResources[key.ns.empty() ? 1 : 0], key.ns, key.name});
  return there == nullptr ? nullptr : there->object.get();
}

void CacheSide::look() {
  for (const auto& [node, machine] : machines()) {
    if (!machine->problem().empty()) { wrong(machine->problem()); }
    for (const auto& mount : machine->mounted()) { looked(node, mount); }
    for (const auto& running : world_.kubelet().running(node)) {
      const auto isIts = [&](const Machine::Mounted& one) { return one.uid == running.uid; };
      const auto published = machine->published();
      const auto mounted = machine->mounted();
      const bool is_ours = std::find(published.begin(), published.end(), running.uid) != published.end();
      const bool is_to_have = is_ours && !running.ended && !cut_off_.contains(running.uid);
      if (is_to_have && std::none_of(mounted.begin(), mounted.end(), isIts)) {
        wrong(fmt::format("pod {} runs on {} without its cache", running.pod.text(), node));
      }
    }
  }
}

void CacheSide::looked(const std::string& node, const Machine::Mounted& mount) {
  const auto digests = resolved_.find(mount.cache);
  if (digests == resolved_.end() || !digests->second.contains(mount.image.text())) {
    return wrong(fmt::format("on {} a pod has mounted {} of {}, which was never resolved for it", node,
                             mount.image.text(), mount.cache.text()));
  }
  if (present_[mount.cache] != mount.image.text()) { ++outdated_; }
  if (cacheObject(mount.cache) == nullptr) {
    wrong(fmt::format("{} went while a pod on {} has it mounted", mount.cache.text(), node));
  }
  const auto [first, last] = world_.api().store().range(kPodsId);
  for (auto it = first; it != last; ++it) {
    const Value& pod = *it->second.object;
    const std::string_view ns = pod["metadata"]["namespace"].str();
    const bool is_thief =
        pod["metadata"]["uid"].str() == mount.uid && !mount.cache.ns.empty() && mount.cache.ns != ns;
    if (is_thief) {
      return wrong(fmt::format("a pod of namespace {} on {} has mounted {}", ns, node, mount.cache.text()));
    }
  }
}

// ---- the end

void CacheSide::calmDown() {
  is_calm_ = true;
  faults_until_ = slow_until_ = {};
  registry_.calmDown();
  for (const auto& [node, machine] : machines()) { machine->calmDown(); }
}

std::vector<model::ObjectKey> CacheSide::cachesThere() const {
  std::vector<model::ObjectKey> out;
  for (int slot = 0; slot < kCacheSlots; ++slot) {
    if (cacheObject(keyOf(slot)) != nullptr) { out.push_back(keyOf(slot)); }
  }
  return out;
}

/// What each cache says of itself, by what the machines have.
std::string CacheSide::wrongCounts() {
  for (const auto& key : cachesThere()) {
    const auto cache = kcache::decodeCache(*cacheObject(key));
    if (cache.is_deleting) { continue; }
    kcache::Counts counts;
    for (const auto& [node, machine] : machines()) {
      ++counts.nodes;
      std::int64_t pods = 0;
      for (const auto& mount : machine->mounted()) {
        if (mount.cache != key) { continue; }
        ++pods;
        ++(mount.image.text() == cache.digest ? counts.pods_running : counts.pods_outdated);
      }
      ++(pods > 0 ? counts.nodes_in_use : counts.nodes_not_in_use);
    }
    if (!cache.status || cache.status->counts != counts) {
      return fmt::format("{} has wrong counts: {}", key.text(), json::print((*cacheObject(key))["status"]));
    }
  }
  return "";
}

std::string CacheSide::waitingPod() const {
  for (const auto& [path, may_mount] : pods_) {
    const Value pod = world_.get(path);
    if (pod["kind"].str() != "Pod" || pod["status"]["phase"].str() != "Pending") { continue; }
    const Value& asked = volumeOf(pod)["volumeAttributes"];
    const model::ObjectKey cache{std::string{asked[kcache::kNamespaceAttribute].str()},
                                 std::string{asked[kcache::kCacheAttribute].str()}};
    if (!may_mount || cacheObject(cache) == nullptr) { continue; }
    if ((*cacheObject(cache))["metadata"]["deletionTimestamp"].isNull()) {
      return fmt::format("pod {} waits for {}", path, cache.text());
    }
  }
  return "";
}

std::string CacheSide::leftObjects() const {
  for (const char* resource : kResources) {
    const auto [first, last] = world_.api().store().range(resource);
    if (first != last) { return fmt::format("{} {} does not go", resource, first->first.name); }
  }
  return "";
}

/// On each machine one with each cache that is there, at places in turn.
void CacheSide::lastPods() {
  if (!plan_.has(Feature::OddCaches)) { return; }
  int number = 0;
  for (const auto& [node, machine] : machines()) {
    machine->mustKnowPlaces();
    for (const auto& key : cachesThere()) {
      if (!(*cacheObject(key))["metadata"]["deletionTimestamp"].isNull()) { continue; }
      podMounts(fmt::format("z{}", number), node, key, false, number % kCachePlaces);
      ++number;
    }
  }
}

std::string CacheSide::settled() {
  if (!caches_->leader()) { return "no operator leads"; }
  if (end_ == End::Settles) {
    if (std::string wrong = notDone(); !wrong.empty()) { return wrong; }
    if (std::string wrong = wrongCounts(); !wrong.empty()) { return wrong; }
    if (std::string wrong = waitingPod(); !wrong.empty()) { return wrong; }
    for (const auto& [node, machine] : machines()) {
      if (plan_.has(Feature::OddCaches) && !machine->tellsPaths()) {
        return fmt::format("on {} nobody says where pods mount caches", node);
      }
    }
    if (!caches_->hearOfPods()) { return "an agent does not hear of its pods yet"; }
    lastPods();
    end_ = End::LastPods;
    return "the last pods come";
  }
  if (end_ == End::LastPods) {
    if (std::string wrong = waitingPod(); !wrong.empty()) { return wrong; }
    for (const auto& key : cachesThere()) {
      (void)world_.request("DELETE", pathOf(key) + '/' + key.name, Object{});
    }
    for (int which = 0; which < kOddCaches; ++which) {
      (void)world_.request("DELETE", pathOf(oddKeyOf(which)) + '/' + oddKeyOf(which).name, Object{});
    }
    end_ = End::Deleted;
    return "the caches are being deleted under their pods";
  }
  if (end_ == End::Deleted) {
    for (const auto& [path, may_mount] : pods_) { (void)world_.request("DELETE", path, Object{}); }
    end_ = End::PodsGo;
    return "the pods are being deleted";
  }
  if (end_ == End::PodsGo) {
    if (std::string wrong = leftObjects(); !wrong.empty()) { return wrong; }
    for (const auto& [node, machine] : machines()) {
      if (std::string wrong = machine->left(!plan_.has(Feature::Clock)); !wrong.empty()) { return wrong; }
    }
    end_ = End::Over;
  }
  return "";
}

}  // namespace gs::sim
