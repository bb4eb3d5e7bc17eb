#include "test/sim/extras.h"

#include <fmt/format.h>

#include <algorithm>

#include "kapi/kinds.h"
#include "test/sim/cluster.h"
#include "test/sim/kube_side.h"
#include "test/sim/share_side.h"
#include "test/world/combined_replica.h"
#include "test/world/objects.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using sandbox::CallFault;
using How = CallFault::How;

constexpr Duration kLinger = 15s;
constexpr Duration kLongLinger = 60s;
constexpr Duration kRestartedAfter = 5s;  // its liveness probe failed
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

bool isWrite(const kapi::Call& call) { return call.verb != kapi::Verb::Get && call.verb != kapi::Verb::List; }

Object annotations(Object notes) { return Object{{"metadata", Object{{"annotations", std::move(notes)}}}}; }

}  // namespace

Extras::Extras(sandbox::World& world, Judge& judge, LedgerCheck& ledgers, const Plan& plan)
    : world_{world}, judge_{judge}, ledgers_{ledgers}, plan_{plan}, rng_{plan.seed ^ 0xe87a} {}

scheduler::Config Extras::config() const {
  scheduler::Config config;
  config.visible_uuids = plan_.has(Feature::Uuids);
  if (plan_.seed % 2 == 0) { config.listed_to_catch_up = 0; }  // by a second watch, as in a large cluster
  if (plan_.has(Feature::Quotas)) { config.quota.map = {"kube-system", kQuotaMap}; }
  if (plan_.has(Feature::KubeScheduler)) { config.extender_pods = {kKubeName}; }
  if (plan_.has(Feature::Stuck)) {  // few enough that a play's pods could fill them
    config.max_binding_cycles = 3;
    config.max_pending_writes = 2;
  }
  return config;
}

sandbox::MakeCompanion Extras::companion() const {
  if (!plan_.has(Feature::Combined) && !plan_.has(Feature::KubeScheduler)) { return {}; }
  return test::combined();
}

Duration Extras::linger() const {
  const bool long_ones =
      plan_.has(Feature::Foreign) || plan_.has(Feature::Sidecars) || plan_.has(Feature::Unstarted);
  return long_ones ? kLongLinger : kLinger;
}

void Extras::carryOut(const Step& s) {
  switch (s.op) {
    case Op::Renumber: return renumber(s);
    case Op::ComesBound: return comesBound(s);
    case Op::Forge: return forge(s);
    case Op::EditLease: return editLease(s);
    case Op::EditPod: return editPod(s);
    case Op::OwnLease: return ownLease(s);
    case Op::Another: return another(s.y != 0);
    case Op::Save:
      saved_ = world_.api().save();
      saved_at_ = world_.now().mono;
      return;
    case Op::Restore: return restore();
    case Op::WallJumps: world_.setWall(world_.now().wall + std::chrono::minutes{s.y}); return;
    case Op::Enforce: return enforce(s.x, s.y);
    case Op::Taint: return taint(s.x, s.y != 0);
    case Op::Stick:
      stuck_ = {s.x, s.z, world_.now().mono + std::chrono::seconds{s.y}};
      judge_.writesStick(s.x, stuck_.until);
      ledgers_.trouble(std::chrono::seconds{s.y} + 10s);
      return;
    case Op::PatchesLate:
      late_until_ = world_.now().mono + std::chrono::seconds{s.y};
      late_by_ = std::chrono::seconds{s.z};
      ledgers_.trouble(std::chrono::seconds{s.y + s.z} + 3s);
      return;
    case Op::Limit: return limit(s);
    case Op::FailUnstarted: unstarted_[s.x] = s; return;
    default: return;
  }
}

// ---- calls

/// What a Stick step names: 0.. as in featureText().
bool Extras::sticks(const kapi::Call& call) const {
  const bool binding = call.subresource == "binding";
  const bool status = call.kind == kapi::kPod && call.subresource == "status";
  const bool of_b = call.key.ns == kNamespaces[1];
  const bool lease = call.kind == kapi::kLease && call.leader_only;
  switch (stuck_.what) {
    case 0: return (binding || status) && of_b;
    case 1: return binding && of_b;
    case 2: return status && of_b;
    case 3: return call.kind == kapi::kPod && of_b && call.key.name == "p1";
    case 4:
      return lease && call.verb == kapi::Verb::Create &&
             call.body["metadata"]["name"].str().starts_with("gpu-n-1-");
    case 5: return lease && call.verb == kapi::Verb::Create;
    default: return lease;
  }
}

bool Extras::isOfExtender(sandbox::ReplicaId from, const kapi::Call& call) const {
  const auto* extender =
      ShareSide::isExtender(from) ? &world_.extender(from).extender() : world_.extenderOfCompanion(from);
  return extender != nullptr && kapi::tokenOwner(call.token) == extender->owner();
}

std::optional<CallFault> Extras::resultOf(sandbox::ReplicaId from, const kapi::Call& call) {
  const Mono now = world_.now().mono;
  if (now < stuck_.until && isWrite(call) && sticks(call)) {
    switch (stuck_.how) {
      case 0: return CallFault{How::Refused, 500, {}, false, false};
      case 1: return CallFault{How::Refused, 403, {}, false, false};
      default: return CallFault{How::LostBefore, 0, {}, false, false};
    }
  }
  const bool of_extender = isWrite(call) && call.kind == kapi::kPod && isOfExtender(from, call);
  if (now < late_until_ && of_extender && call.subresource == "status" && rng_.chance(60)) {
    return CallFault{How::Late, 0, late_by_, false, false};
  }
  return std::nullopt;
}

// ---- by hand

void Extras::byHand(const std::string& method, const std::string& target, const Value& body,
                    const std::string& type) {
  (void)judge_.watch(world_.now().mono);
  judge_.handAtWork(true);
  (void)world_.request(method, target, body, type);
  (void)judge_.watch(world_.now().mono);
  judge_.handAtWork(false);
}

std::optional<std::string> Extras::leaseOfRunning(int which) {
  std::vector<std::string> running;
  for (const auto& item :
       world_
           .get("/apis/coordination.k8s.io/v1/leases?labelSelector=gpu.scheduling%2Fmanaged%3Dtrue")["items"]
           .items()) {
    if (judge_.isOfRunningPod(item)) {
      running.push_back(fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
                                    item["metadata"]["namespace"].str(), item["metadata"]["name"].str()));
    }
  }
  if (running.empty()) { return std::nullopt; }
  return running[static_cast<std::size_t>(which) % running.size()];
}

void Extras::dropLease(int which) {
  if (const auto lease = leaseOfRunning(which)) { byHand("DELETE", *lease); }
}

void Extras::editLease(const Step& s) {
  const auto lease = leaseOfRunning(s.x);
  if (!lease) { return; }
  Value edit;
  switch (s.y) {
    case 0:
    case 1:
      edit = Object{{"metadata", Object{{"labels", Object{{"gpu.scheduling/managed", nullptr}}}}}};
      break;
    case 2: edit = annotations({{"gpu.scheduling/reservation", "of-nobody"}}); break;
    case 3: edit = annotations({{"gpu.scheduling/reservation", nullptr}}); break;
    case 4: edit = annotations({{"gpu.scheduling/uuid", "GPU-of-nobody"}}); break;
    default: edit = Object{{"metadata", Object{{"labels", Object{{"gpu.scheduling/pod", "nobody"}}}}}}; break;
  }
  byHand("PATCH", *lease, edit, kMerge);
}

void Extras::editPod(const Step& s) {
  Value edit;
  const std::string other = fmt::format("n-{}:{}", s.x % kNodes, s.x % 2);
  switch (s.y) {
    case 0: edit = annotations({{"gpu.scheduling/allocated", other}}); break;
    case 1: edit = annotations({{"gpu.scheduling/allocated", nullptr}}); break;
    case 2: edit = annotations({{"gpu.scheduling/visible-devices", "0,1"}}); break;
    case 3: edit = annotations({{"gpu.scheduling/reservation", "of-nobody"}}); break;
    case 4: edit = annotations({{"gpu.scheduling/fence", "by-hand"}}); break;
    case 5: edit = annotations({{"gpu.scheduling/reservation", nullptr}}); break;
    default:
      edit = annotations({{"gpu.scheduling/allocated", nullptr},
                          {"gpu.scheduling/reservation", nullptr},
                          {"gpu.scheduling/visible-devices", nullptr},
                          {"gpu.scheduling/fence", nullptr}});
  }
  byHand("PATCH", podPath(s.x), edit, kMerge);
}

void Extras::comesBound(const Step& s) {
  Value pod = test::pod(podName(s.x), "", s.z, kNamespaces[s.x % 2]);
  pod.child("spec").set("schedulerName", "default-scheduler");
  pod.child("spec").set("nodeName", nodeName(s.y));
  const std::string pods = fmt::format("/api/v1/namespaces/{}/pods", kNamespaces[s.x % 2]);
  (void)world_.request("DELETE", podPath(s.x), Object{{"gracePeriodSeconds", 0}});
  (void)world_.request("POST", pods, std::move(pod));
}

void Extras::forge(const Step& s) {
  Value pod = test::pod(podName(s.x), "", 0, kNamespaces[s.x % 2]);
  if (s.z % 2 == 1) { pod.child("spec").set("schedulerName", "default-scheduler"); }
  pod.child("spec").set("nodeName", nodeName(s.y));
  std::string ids = s.z < 4 ? "0" : "0,1,7";
  for (int id = 8; s.z >= 6 && id < 48; ++id) { ids += fmt::format(",{}", id); }
  pod.child("metadata")
      .set("annotations", Object{{"gpu.scheduling/allocated", fmt::format("{}:{}", nodeName(s.y), ids)},
                                 {"gpu.scheduling/visible-devices", ids},
                                 {"gpu.scheduling/reservation", s.z % 4 < 2 ? "forged" : ""}});
  byHand("POST", fmt::format("/api/v1/namespaces/{}/pods", kNamespaces[s.x % 2]), pod);
}

void Extras::ownLease(const Step& s) {
  const std::string name = fmt::format("gpu-{}-{}", nodeName(s.x), s.y);
  const std::string path = fmt::format("{}/{}", kLeases, name);
  if (s.z == 0) {
    byHand("POST", kLeases,
           Object{{"apiVersion", "coordination.k8s.io/v1"},
                  {"kind", "Lease"},
                  {"metadata", Object{{"name", name}}},
                  {"spec", Object{{"holderIdentity", "somebody"}}}});
  } else if (world_.get(path)["spec"]["holderIdentity"].str() == "somebody") {
    byHand("DELETE", path);
    ledgers_.trouble(40s);  // until the next sweep
  }
}

// ---- nodes

void Extras::renumber(const Step& s) {
  auto& machines = world_.machines();
  const std::string node = nodeName(s.x);
  auto devices = machines.devicesOf(node);
  if (devices.empty()) { return; }
  const auto at = static_cast<std::size_t>(s.z) % devices.size();
  auto uuids = devices;
  switch (s.y) {
    case 0: uuids.erase(uuids.begin()); break;
    case 1: std::swap(uuids[at], uuids[(at + 1) % uuids.size()]); break;
    case 2: uuids[at].uuid = fmt::format("GPU-{}-new-{}", s.x, ++replaced_); break;
    case 3: std::rotate(uuids.begin(), uuids.begin() + 1, uuids.end()); break;
    default: uuids.erase(uuids.begin() + static_cast<std::ptrdiff_t>(at)); break;
  }
  for (std::size_t i = 0; i < uuids.size(); ++i) { uuids[i].id = static_cast<int>(i); }
  machines.setDevices(node, std::move(uuids));
  world_.touch();
}

void Extras::enforce(int node, int how) {
  const Value labels[] = {nullptr, "kubelet", "agent", "gpu-manager"};
  (void)world_.request(
      "PATCH", "/api/v1/nodes/" + nodeName(node),
      Object{{"metadata", Object{{"labels", Object{{"gpu.scheduling/enforcer", labels[how]}}}}}}, kMerge);
}

void Extras::taint(int node, bool is) {
  json::Array taints;
  if (is) { taints.emplace_back(Object{{"key", "sim"}, {"value", "1"}, {"effect", "NoSchedule"}}); }
  (void)world_.request("PATCH", "/api/v1/nodes/" + nodeName(node),
                       Object{{"spec", Object{{"taints", std::move(taints)}}}}, kMerge);
}

void Extras::limit(const Step& s) {
  limits_[s.x % 2] = {s.y, s.z};
  Object table;
  for (const auto& [ns, limits] : limits_) {
    Object quota;
    if (limits.first >= 0) { quota.set(kModels[0], limits.first); }
    if (limits.second >= 0) { quota.set(kModels[1], limits.second); }
    if (!quota.empty()) { table.set(kNamespaces[ns], Object{{"quota", std::move(quota)}}); }
  }
  const Object data{{"gpu_quota", json::print(Value{std::move(table)})}};
  const std::string maps = "/api/v1/namespaces/kube-system/configmaps";
  const auto answer =
      world_.request("PATCH", fmt::format("{}/{}", maps, kQuotaMap), Object{{"data", data}}, kMerge);
  if (answer.code != 404) { return; }
  const Object meta{{"name", kQuotaMap}, {"namespace", "kube-system"}};
  world_.create(Object{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", meta}, {"data", data}});
}

// ---- other processes, and the server

void Extras::another(bool starts) {
  ledgers_.trouble(6s);
  if (starts && !another_) {
    another_ = kReplicas + plan_.extenders;  // known before its first call
    scheduler::Config config;
    config.scheduler_name = "another-scheduler";
    (void)world_.startReplica(std::move(config));
  } else if (starts) {
    world_.restart(*another_);
  } else if (another_ && world_.alive(*another_)) {
    world_.crash(*another_);
  }
}

void Extras::restore() {
  if (saved_.isNull() || plan_.hasShares()) { return; }
  (void)judge_.watch(world_.now().mono);
  const std::string before = leaderLease();
  world_.goBack(saved_);
  judge_.wentBack();
  ledgers_.trouble(20s);
  if (leaderLease() != before && hindered_until_ < saved_at_) { return; }
  // What everybody reads all the time did not change in between, or somebody could not read it: nothing tells
  // him. Then it is the administrator who has to start all clients of that server again,
  // as Kubernetes asks him to.
  for (sandbox::ReplicaId id = 0; id < kReplicas; ++id) {
    if (world_.alive(id)) { startAgain(id); }
  }
}

/// As it was last written.
std::string Extras::leaderLease() const {
  const auto* lease = world_.api().store().find({kLeasesId, "default", scheduler::kLeaderLease});
  return lease == nullptr ? "" : json::print(*lease->object);
}

void Extras::startAgain(sandbox::ReplicaId id) {
  world_.after({}, [this, id] {
    world_.crash(id);
    world_.restart(id);
  });
  ledgers_.trouble(10s);
}

/// As the node's controller or the pod garbage collector does on a node that is silent:
/// of containers they know nothing.
void Extras::failUnstarted() {
  for (auto it = unstarted_.begin(); it != unstarted_.end();) {
    const Step step = it->second;
    const auto* stored = world_.api().store().find({kPodsId, kNamespaces[step.x % 2], podName(step.x)});
    const bool bound = stored != nullptr && (*stored->object)["spec"]["nodeName"].str().starts_with("n-");
    if (!bound) {
      ++it;
      continue;
    }
    it = unstarted_.erase(it);
    const Value& pod = *stored->object;
    if (pod["status"]["phase"].str() != "Pending") { continue; }  // it runs already
    json::Array waiting;
    for (const Value& c : pod["spec"]["containers"].items()) {
      waiting.emplace_back(Object{{"name", c["name"]},
                                  {"image", c["image"]},
                                  {"imageID", ""},
                                  {"ready", false},
                                  {"restartCount", 0},
                                  {"state", Object{{"waiting", Object{{"reason", "ContainerCreating"}}}}}});
    }
    Object status{{"phase", "Failed"}, {"containerStatuses", std::move(waiting)}};
    if (step.y == 0) {
      status["reason"] = "NodeLost";
    } else {
      status["conditions"] = json::Array{
          Value{Object{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "DeletionByPodGC"}}}};
    }
    const std::string uid{pod["metadata"]["uid"].str()};
    world_.after({}, [this, step, status = std::move(status), uid] {
      (void)world_.request("PATCH", podPath(step.x) + "/status",
                           Object{{"metadata", Object{{"uid", uid}}}, {"status", status}},
                           "application/strategic-merge-patch+json");
    });
    world_.after(std::chrono::seconds{step.z}, [this, step, uid] {
      (void)world_.request("DELETE", podPath(step.x),
                           Object{{"gracePeriodSeconds", 0}, {"preconditions", Object{{"uid", uid}}}});
    });
  }
}

void Extras::look() {
  if (!unstarted_.empty()) { failUnstarted(); }
  if (!plan_.has(Feature::Restore)) { return; }
  const Mono now = world_.now().mono;
  for (sandbox::ReplicaId id = 0; id < kReplicas; ++id) {
    if (!world_.alive(id) || world_.scheduler(id).failure().empty()) {
      failing_.erase(id);
    } else if (failing_.try_emplace(id, now).first->second + kRestartedAfter <= now) {
      startAgain(id);
      failing_.erase(id);
    }
  }
}

void Extras::calmDown() {
  stuck_ = {};
  judge_.nothingSticks();
  late_until_ = {};
  unstarted_.clear();
  if (another_ && world_.alive(*another_)) { world_.crash(*another_); }
  for (int node = 0; plan_.has(Feature::Enforcer) && node < kNodes; ++node) { enforce(node, 0); }
}

}  // namespace gs::sim
