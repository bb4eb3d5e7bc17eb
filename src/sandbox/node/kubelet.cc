#include "sandbox/node/kubelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "apiserver/handlers/api.h"
#include "kapi/decode.h"
#include "kapi/time.h"
#include "model/annotations.h"
#include "sandbox/node/pod_event.h"
#include "sandbox/node/pod_status.h"
#include "sandbox/node/program.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kPods = "/pods";
constexpr const char* kNodes = "/nodes";
constexpr const char* kVolumeClaims = "/persistentvolumeclaims";

std::string pathOf(const model::ObjectKey& pod, const char* subresource = "") {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", pod.ns, pod.name, subresource);
}

/// "node-a:0,1" and "0,1" -> "0,1"
std::string devicesOf(const Value& pod) {
  const Value& notes = pod["metadata"]["annotations"];
  if (const std::string_view ids = notes[model::kVisibleDevicesKey].str(); !ids.empty()) {
    return std::string{ids};
  }
  const std::string_view allocated = notes[model::kAllocatedKey].str();
  const std::size_t colon = allocated.rfind(':');
  return std::string{colon == std::string_view::npos ? allocated : allocated.substr(colon + 1)};
}

/// As many as its containers have at once, sidecars and all.
int gpusOf(const Value& pod) {
  const std::int64_t asked = kapi::decodePod(pod).requests.get(model::kNvidiaGpu);
  return static_cast<int>(std::clamp<std::int64_t>(asked, 0, 1024));
}

}  // namespace

Kubelet::Kubelet(apiserver::Api& api, Config config) : api_{api}, config_{config} {
  position_ = api_.store().positionAfter(0);
  const auto [first, last] = api_.store().range(kPods);
  for (auto it = first; it != last; ++it) { addresses_.inUse((*it->second.object)["status"]["podIP"].str()); }
}

// ---- seeing what changed

std::optional<Mono> Kubelet::nextDue(Now now) {
  observe(now);
  if (due_.empty()) { return std::nullopt; }
  return due_.begin()->first;
}

void Kubelet::observe(Now now) {
  const apiserver::Store& store = api_.store();
  if (begins_ && store.oldest() > 0) { resync(now); }
  begins_ = false;
  for (; position_ < store.historyEnd(); ++position_) {
    const apiserver::HistoryEntry* entry = store.entry(position_);
    if (entry == nullptr) {
      resync(now);
      return;
    }
    if (entry->key.resource == kNodes) {
      const bool came_or_went = entry->before == nullptr || entry->after == nullptr;
      if (came_or_went) { nodeChanged(entry->key.name, entry->after != nullptr, now); }
    } else if (entry->key.resource == kPods) {
      const std::string gone{entry->after == nullptr ? (*entry->before)["metadata"]["uid"].str()
                                                     : std::string_view{}};
      if (entry->after != nullptr) { podChanged(entry->after, now); }
      if (!gone.empty()) { podGone(gone, now); }
    }
  }
}

/// The history was compacted away under us: compare with what is there.
void Kubelet::resync(Now now) {
  const apiserver::Store& store = api_.store();
  position_ = store.historyEnd();
  std::set<std::string> there;
  const auto [first, last] = store.range(kPods);
  for (auto it = first; it != last; ++it) {
    if (!(*it->second.object)["spec"]["nodeName"]
             .str()
             .empty()) {  // else it was bound once, before the server went back
      there.emplace((*it->second.object)["metadata"]["uid"].str());
    }
    podChanged(it->second.object, now);
  }
  std::vector<std::string> gone;
  for (const auto& entry : sims_) {
    if (!there.contains(entry.first)) { gone.push_back(entry.first); }
  }
  for (const std::string& uid : gone) { podGone(uid, now); }
}

void Kubelet::podChanged(const apiserver::ObjectPtr& shared, Now now) {
  const Value& pod = *shared;
  const std::string uid{pod["metadata"]["uid"].str()};
  const std::string node{pod["spec"]["nodeName"].str()};
  if (node.empty()) { return; }
  const auto [at, is_new] = sims_.try_emplace(uid);
  Sim& sim = at->second;
  sim.pod = shared;
  if (is_new) { return firstSeen(sim, uid, now); }
  if (sim.unprepared && *sim.unprepared != pod["metadata"]["annotations"]) {
    sim.unprepared = pod["metadata"]["annotations"];
    happened(sim, uid, pod_event::NotMounted{}, now);  // it is tried again at once
  }
  if (happened(sim, uid, pod_event::Changed{viewOf(pod)}, now) == PodStep::RunUnseen) {
    holdContainers(sim, uid, now.wall);
  }
}

void Kubelet::firstSeen(Sim& sim, const std::string& uid, Now now) {
  const Value& pod = *sim.pod;
  sim.key = {std::string{pod["metadata"]["namespace"].str()}, std::string{pod["metadata"]["name"].str()}};
  sim.node = pod["spec"]["nodeName"].str();
  if (begins_ && pod["status"]["phase"].str() == "Running") {
    sim.started_at = pod["status"]["startTime"].str();
    holdContainers(sim, uid, kapi::parseTime(sim.started_at).value_or(now.wall));
    happened(sim, uid, pod_event::Adopted{viewOf(pod), endOfAdopted(sim, now)}, now);
    return;
  }
  pod_event::Bound bound{viewOf(pod)};
  const auto plugin = plugins_.find(sim.node);
  if (!bound.pod.finished && plugin != plugins_.end()) { bound.taken_after = plugin->second->takenAfter(); }
  happened(sim, uid, bound, now);
}

void Kubelet::podGone(const std::string& uid, Now now) {
  envs_.erase(uid);
  const auto at = sims_.find(uid);
  if (at == sims_.end()) { return; }
  if (happened(at->second, uid, pod_event::Gone{}, now) == PodStep::Forget) { sims_.erase(at); }
}

void Kubelet::nodeChanged(const std::string& node, bool exists, Now now) {
  ++changes_;
  for (auto at = sims_.begin(); at != sims_.end();) {
    const auto here = at++;
    if (here->second.node != node) { continue; }
    const PodEvent event = exists ? PodEvent{pod_event::NodeCame{}} : PodEvent{pod_event::NodeWent{}};
    if (happened(here->second, here->first, event, now) == PodStep::Forget) { sims_.erase(here); }
  }
}

PodStep Kubelet::happened(Sim& sim, const std::string& uid, const PodEvent& event, Now now) {
  const Surroundings around{now.mono, config_, nodeExists(sim.node), down_.contains(sim.node)};
  const PodTransition to = next(sim.state, event, around);
  if (to.changed) { ++changes_; }
  if (to.state.due != sim.state.due) { plan(sim, uid, to.state.due); }
  sim.state = to.state;
  return to.step;
}

/// Replaces what is due for this pod. A node that is down has nothing due.
void Kubelet::plan(Sim& sim, const std::string& uid, std::optional<Mono> due) {
  if (sim.state.due) { due_.erase({*sim.state.due, uid}); }
  sim.state.due = due;
  if (due && !down_.contains(sim.node)) { due_.emplace(*due, uid); }
}

// ---- acting

void Kubelet::tick(Now now) {
  observe(now);
  while (!due_.empty() && due_.begin()->first <= now.mono) {
    act(sims_.find(due_.begin()->second), now);
    observe(now);
  }
}

void Kubelet::act(Sims::iterator at, Now now) {
  const std::string uid = at->first;
  Sim& sim = at->second;
  const PodState before = sim.state;
  const PodStep step = happened(sim, uid, pod_event::Due{}, now);
  switch (step) {
    case PodStep::Take: take(sim, uid, now); break;
    case PodStep::Start: start(sim, uid, reportOf(step, before), now); break;
    case PodStep::EndMain:
    case PodStep::End: report(sim, uid, reportOf(step, before, programOf(*sim.pod).exit_code), now); break;
    case PodStep::Stop:
      report(sim, uid, reportOf(step, before), now);
      remove(sim, uid, now);
      break;
    case PodStep::Remove: remove(sim, uid, now); break;
    case PodStep::Orphan: orphan(sim, uid, now); break;
    case PodStep::Forget: sims_.erase(at); break;
    case PodStep::RunUnseen:  // comes with what changed
    case PodStep::Nothing: break;
  }
}

void Kubelet::take(Sim& sim, const std::string& uid, Now now) {
  const auto plugin = plugins_.find(sim.node);
  if (const auto refusal = plugin->second->allocate(*sim.pod, now)) {
    return refuse(sim, uid, *refusal, now);
  }
  if (patchStatus(sim, uid, Object{{"startTime", kapi::timeText(now.wall)}}, now)) {
    happened(sim, uid, pod_event::Taken{}, now);
  }
}

void Kubelet::refuse(Sim& sim, const std::string& uid, const DevicePlugin::Refusal& refusal, Now now) {
  happened(sim, uid, pod_event::Refused{}, now);
  (void)patchStatus(
      sim, uid, Object{{"phase", "Failed"}, {"reason", refusal.reason}, {"message", refusal.message}}, now);
}

void Kubelet::start(Sim& sim, const std::string& uid, const PodReport& report, Now now) {
  if (!hasItsClaims(*sim.pod) || (volumes_ != nullptr && !volumes_->areMounted(*sim.pod, now))) {
    happened(sim, uid, pod_event::NotMounted{}, now);
    return;
  }
  if (driver_ != nullptr && driver_->serves(*sim.pod)) {
    auto prepared = driver_->prepare(*sim.pod);
    if (!prepared) { return notPrepared(sim, uid, now); }
    sim.prepared = *std::move(prepared);
    sim.unprepared.reset();
  }
  if (const auto plugin = plugins_.find(sim.node); plugin != plugins_.end()) {
    if (const auto refusal = plugin->second->preStart(*sim.pod, now)) {
      return refuse(sim, uid, *refusal, now);
    }
    observe(now);  // what it wrote
  }
  const apiserver::ObjectPtr pod = sim.pod;
  sim.started_at = kapi::timeText(now.wall);
  holdContainers(sim, uid, now.wall);
  happened(sim, uid, pod_event::Started{}, now);
  Value status = statusOf(report, *pod, sim.started_at, sim.started_at);
  status.set("startTime", sim.started_at);
  setAddresses(status, addresses_.next(), addressOf(sim.node));
  if (!patchStatus(sim, uid, std::move(status), now)) { return; }
  pod_event::Reported reported;
  const auto told = to_finish_.find(sim.key);
  if (told != to_finish_.end()) {
    reported.exit_code = told->second;
    to_finish_.erase(told);
  } else {
    reported.run_for = timeToRun(*pod, now);
  }
  happened(sim, uid, reported, now);
}

void Kubelet::notPrepared(Sim& sim, const std::string& uid, Now now) {
  const bool is_first = !sim.unprepared.has_value();
  sim.unprepared = (*sim.pod)["metadata"]["annotations"];
  happened(sim, uid, pod_event::NotPrepared{}, now);
  warnAbout(api_, *sim.pod, "FailedPrepareDynamicResources", "its devices cannot be prepared now", now);
  if (!is_first) { return; }
  Object condition{{"type", "PodReadyToStartContainers"}, {"status", "False"}};
  (void)patchStatus(sim, uid,
                    Object{{"startTime", kapi::timeText(now.wall)}, {"conditions", Array{Value{condition}}}},
                    now);
}

void Kubelet::report(const Sim& sim, const std::string& uid, const PodReport& report, Now now) {
  (void)patchStatus(sim, uid, statusOf(report, *sim.pod, sim.started_at, kapi::timeText(now.wall)), now);
}

/// When it ends by itself. What of it cannot be read is told.
std::optional<Duration> Kubelet::timeToRun(const Value& pod, Now now) {
  const Program program = programOf(pod);
  for (const auto& [reason, message] : program.complaints) { warnAbout(api_, pod, reason, message, now); }
  return program.runs;
}

/// What the containers got, from the pod as it is now.
void Kubelet::holdContainers(Sim& sim, const std::string& uid, Wall created) {
  const Value& pod = *sim.pod;
  const bool by_driver = driver_ != nullptr && driver_->serves(pod);
  const std::string devices = by_driver ? fmt::format("{}", fmt::join(sim.prepared, ",")) : devicesOf(pod);
  sim.running = {uid, sim.key, devices, gpusOf(pod), by_driver, false, created};
  auto& envs = envs_[uid];
  envs.clear();
  for (const char* part : {"containers", "initContainers"}) {
    for (const Value& container : pod["spec"][part].items()) {
      envs.emplace_back(container["name"].str(), resolveEnv(pod, container));
    }
  }
}

/// When it ends by itself.
std::optional<Mono> Kubelet::endOfAdopted(const Sim& sim, Now now) const {
  const auto time_to_run = programOf(*sim.pod).runs;
  const auto began = kapi::parseTime(sim.started_at);
  if (!time_to_run || !began) { return std::nullopt; }
  return now.mono + (*began + *time_to_run - now.wall);
}

void Kubelet::remove(const Sim& sim, const std::string& uid, Now now) {
  (void)api_.handle({"DELETE", pathOf(sim.key), "application/json",
                     Object{{"gracePeriodSeconds", 0}, {"preconditions", Object{{"uid", uid}}}}},
                    now);
}

void Kubelet::orphan(const Sim& sim, const std::string& uid, Now now) {
  const model::ObjectKey key = sim.key;
  if (!sim.state.pod.finished) { (void)patchStatus(sim, uid, Object{{"phase", "Failed"}}, now); }
  (void)api_.handle({"DELETE", pathOf(key), "application/json",
                     Object{{"gracePeriodSeconds", 0}, {"preconditions", Object{{"uid", uid}}}}},
                    now);
}

bool Kubelet::patchStatus(const Sim& sim, const std::string& uid, Value status, Now now) {
  Value body = Object{{"metadata", Object{{"uid", uid}}}};
  body.set("status", std::move(status));
  const auto answer = api_.handle(
      {"PATCH", pathOf(sim.key, "/status"), "application/strategic-merge-patch+json", std::move(body)}, now);
  const bool refused = answer.code >= 400 && answer.code != 404 && answer.code != 409;
  if (refused) { warnAbout(api_, *sim.pod, "StatusRefused", std::string{answer.body["message"].str()}, now); }
  return answer.code == 200;
}

/// Its InternalIP; "" when it has none.
std::string Kubelet::addressOf(const std::string& node) const {
  const auto* there = api_.store().find({kNodes, "", node});
  if (there == nullptr) { return {}; }
  for (const Value& address : (*there->object)["status"]["addresses"].items()) {
    if (address["type"].str() == "InternalIP") { return std::string{address["address"].str()}; }
  }
  return {};
}

bool Kubelet::nodeExists(const std::string& node) const {
  return api_.store().find({kNodes, "", node}) != nullptr;
}

bool Kubelet::hasItsClaims(const Value& pod) const {
  if (!waits_for_claims_) { return true; }
  const Value& meta = pod["metadata"];
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    std::string name{volume["persistentVolumeClaim"]["claimName"].str()};
    if (volume["ephemeral"].isObject()) {
      name = fmt::format("{}-{}", meta["name"].str(), volume["name"].str());
    }
    if (name.empty()) { continue; }
    const auto* there = api_.store().find({kVolumeClaims, std::string{meta["namespace"].str()}, name});
    if (there == nullptr || (*there->object)["status"]["phase"].str() != "Bound") { return false; }
  }
  return true;
}

// ---- commands and questions

void Kubelet::finish(const std::string& ns, const std::string& name, int exit_code) {
  const model::ObjectKey key{ns, name};
  for (auto& [uid, sim] : sims_) {
    if (sim.key != key || sim.state.phase != PodPhase::Runs) { continue; }
    happened(sim, uid, pod_event::Told{exit_code}, {});
    return;
  }
  to_finish_[key] = exit_code;
}

void Kubelet::setNodeDown(const std::string& node, bool down) {
  if (down) {
    down_.insert(node);
  } else {
    down_.erase(node);
  }
  for (auto& [uid, sim] : sims_) {
    if (sim.node == node) { plan(sim, uid, sim.state.due); }
  }
}

std::vector<Kubelet::Running> Kubelet::running(const std::string& node) const {
  std::vector<Running> out;
  for (const auto& [uid, sim] : sims_) {
    if (!sim.state.hasContainers() || sim.node != node) { continue; }
    out.push_back(sim.running);
    out.back().ended = sim.state.ended();
  }
  return out;
}

bool Kubelet::needsVolumes(const std::string& uid) const {
  const auto at = sims_.find(uid);
  return at != sims_.end() && at->second.state.phase != PodPhase::Over;
}

std::optional<std::string> Kubelet::devicesAtStart(const std::string& uid) const {
  const auto at = sims_.find(uid);
  if (at == sims_.end() || at->second.running.devices.empty()) { return std::nullopt; }
  return at->second.running.devices;
}

const Env* Kubelet::envOf(const std::string& uid, const std::string& container) const {
  const auto pod = envs_.find(uid);
  if (pod == envs_.end()) { return nullptr; }
  const auto at = std::find_if(pod->second.begin(), pod->second.end(),
                               [&](const auto& c) { return container.empty() || c.first == container; });
  return at == pod->second.end() ? nullptr : &at->second;
}

}  // namespace gs::sandbox
