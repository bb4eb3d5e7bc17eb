#include "sandbox/node/kubelet.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "apiserver/handlers/api.h"
#include "kapi/quantity.h"
#include "kapi/time.h"
#include "model/annotations.h"
#include "sandbox/node/pod_event.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kPods = "/pods";
constexpr const char* kNodes = "/nodes";
constexpr int kStoppedBySignal = 143;  // SIGTERM

std::string pathOf(const model::ObjectKey& pod, const char* subresource = "") {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", pod.ns, pod.name, subresource);
}

bool isFinished(const Value& pod) {
  const std::string_view phase = pod["status"]["phase"].str();
  return phase == "Succeeded" || phase == "Failed";
}

bool isDeleting(const Value& pod) { return pod["metadata"].find("deletionTimestamp") != nullptr; }

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

int gpusOf(const Value& pod) {
  int out = 0;
  for (const Value& container : pod["spec"]["containers"].items()) {
    const auto count = kapi::unitsOf(container["resources"]["limits"]["nvidia.com/gpu"]);
    out += static_cast<int>(std::clamp<std::int64_t>(count.value_or(0), 0, 1024));
  }
  return out;
}

Value condition(const char* type, bool is, const std::string& since, const char* reason = nullptr) {
  Value out = Object{{"type", type}, {"status", is ? "True" : "False"}, {"lastTransitionTime", since}};
  if (reason != nullptr) { out.set("reason", reason); }
  return out;
}

Array conditions(bool ready, const std::string& now, const char* reason) {
  Array out;
  out.push_back(condition("Initialized", true, now));
  out.push_back(condition("Ready", ready, now, reason));
  out.push_back(condition("ContainersReady", ready, now, reason));
  return out;
}

Value statusOf(const Value& container, bool ready, Value state) {
  return Object{{"name", container["name"]},
                {"image", container["image"]},
                {"imageID", ""},
                {"ready", ready},
                {"started", ready},
                {"restartCount", 0},
                {"state", std::move(state)}};
}

Value terminated(int exit_code, const std::string& started, const std::string& now) {
  return Object{{"terminated", Object{{"exitCode", exit_code},
                                      {"reason", exit_code == 0 ? "Completed" : "Error"},
                                      {"startedAt", started.empty() ? now : started},
                                      {"finishedAt", now}}}};
}

bool isSaidToWait(const Value& pod) {
  const Array& said = pod["status"]["containerStatuses"].items();
  return std::any_of(said.begin(), said.end(),
                     [](const Value& c) { return c["state"]["waiting"].isObject(); });
}

bool isSidecar(const Value& container) { return container["restartPolicy"].str() == "Always"; }

bool hasSidecars(const Value& pod) {
  const Array& init = pod["spec"]["initContainers"].items();
  return std::any_of(init.begin(), init.end(), isSidecar);
}

/// `exit_code` nullopt: sidecars run.
Array initStatuses(const Value& pod, const std::string& started, const std::string& now,
                   std::optional<int> exit_code) {
  Array out;
  for (const Value& container : pod["spec"]["initContainers"].items()) {
    if (!isSidecar(container)) {
      out.push_back(statusOf(container, true, terminated(0, started, started)));
    } else if (exit_code) {
      out.push_back(statusOf(container, false, terminated(*exit_code, started, now)));
    } else {
      out.push_back(statusOf(container, true, Object{{"running", Object{{"startedAt", started}}}}));
    }
  }
  return out;
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
      if (entry->after != nullptr) { podChanged(*entry->after, entry->after, now); }
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
    podChanged(*it->second.object, it->second.object, now);
  }
  std::vector<std::string> gone;
  for (const auto& entry : sims_) {
    if (!there.contains(entry.first)) { gone.push_back(entry.first); }
  }
  for (const std::string& uid : gone) { podGone(uid, now); }
}

void Kubelet::podChanged(const Value& pod, const apiserver::ObjectPtr& shared, Now now) {
  const std::string uid{pod["metadata"]["uid"].str()};
  const std::string node{pod["spec"]["nodeName"].str()};
  if (node.empty()) { return; }
  const auto [at, is_new] = sims_.try_emplace(uid);
  Sim& sim = at->second;
  sim.pod = shared;
  if (sim.finished != isFinished(pod)) { ++changes_; }
  sim.finished = isFinished(pod);
  if (is_new) {
    sim.key = {std::string{pod["metadata"]["namespace"].str()}, std::string{pod["metadata"]["name"].str()}};
    sim.node = node;
    sim.phase = sim.finished ? Phase::Over : Phase::Waiting;
    if (begins_ && pod["status"]["phase"].str() == "Running") {
      adopt(sim, uid, now);
    } else if (!sim.finished) {
      const auto plugin = plugins_.find(node);
      sim.to_take = plugin == plugins_.end() ? nullptr : plugin->second;
      const Duration wait = sim.to_take != nullptr ? sim.to_take->takenAfter() : config_.start_after;
      plan(sim, uid, now.mono + (nodeExists(node) ? wait : config_.orphan_after));
    }
  }
  const bool lingers = config_.linger > Duration{};
  if (lingers && !is_new && sim.finished && sim.phase == Phase::Waiting && isSaidToWait(pod)) {
    runUnseen(sim, uid, now);
  }
  if (sim.phase == Phase::Unseen) { return; }
  if (isDeleting(pod) && sim.phase != Phase::Stopping) {
    const std::chrono::seconds grace{pod["metadata"]["deletionGracePeriodSeconds"].intOr(30)};
    const bool runs = sim.phase == Phase::Runs;
    if (runs) { sim.phase = Phase::Stopping; }
    if (!runs && !nodeExists(sim.node) && sim.due) { return; }  // nobody is there to see it
    plan(sim, uid, now.mono + (runs ? std::min<Duration>(config_.stop_takes, grace) : Duration{}));
  } else if (sim.finished && sim.phase == Phase::Runs && !sim.exit_code) {
    sim.exit_code = kStoppedBySignal;  // somebody else ended the pod (eviction): its containers are stopped
    plan(sim, uid, now.mono + config_.stop_takes);
  }
}

void Kubelet::podGone(const std::string& uid, Now now) {
  envs_.erase(uid);
  const auto at = sims_.find(uid);
  if (at == sims_.end()) { return; }
  Sim& sim = at->second;
  if (sim.phase == Phase::Unseen) {
    sim.phase = Phase::Lingering;
    return;
  }
  const bool containers = sim.phase == Phase::Runs || sim.phase == Phase::Stopping;
  if (containers) { ++changes_; }
  if (!containers || (config_.linger == Duration{} && !down_.contains(sim.node))) {
    plan(sim, uid, std::nullopt);
    sims_.erase(at);
    return;
  }
  sim.phase = Phase::Lingering;
  plan(sim, uid, now.mono + config_.linger);
}

void Kubelet::nodeChanged(const std::string& node, bool exists, Now now) {
  ++changes_;
  std::vector<std::string> gone;
  for (auto& [uid, sim] : sims_) {
    if (sim.node != node) { continue; }
    if (exists && sim.phase == Phase::Waiting && !sim.running.ended) {
      const Mono start = now.mono + config_.start_after;
      if (sim.due && *sim.due > start) { plan(sim, uid, start); }
    }
    if (exists) { continue; }
    if (sim.phase == Phase::Lingering) { gone.push_back(uid); }
    if (sim.phase == Phase::Runs || sim.phase == Phase::Stopping) { sim.phase = Phase::Waiting; }
    if (sim.phase == Phase::Unseen) {
      sim.phase = Phase::Over;
      plan(sim, uid, std::nullopt);
    }
    if (sim.phase == Phase::Waiting) { plan(sim, uid, now.mono + config_.orphan_after); }
  }
  for (const std::string& uid : gone) {
    plan(sims_.at(uid), uid, std::nullopt);
    sims_.erase(uid);
  }
}

/// Replaces what is due for this pod. A node that is down has nothing due.
void Kubelet::plan(Sim& sim, const std::string& uid, std::optional<Mono> due) {
  if (sim.due) { due_.erase({*sim.due, uid}); }
  sim.due = due;
  if (due && !down_.contains(sim.node)) { due_.emplace(*due, uid); }
}

// ---- acting

void Kubelet::tick(Now now) {
  observe(now);
  while (!due_.empty() && due_.begin()->first <= now.mono) {
    const auto at = sims_.find(due_.begin()->second);
    plan(at->second, at->first, std::nullopt);
    act(at, now);
    observe(now);
  }
}

void Kubelet::act(Sims::iterator at, Now now) {
  const std::string uid = at->first;
  Sim& sim = at->second;
  if (sim.phase == Phase::Lingering) {
    ++changes_;
    sims_.erase(at);
    return;
  }
  if (!nodeExists(sim.node)) {
    orphan(sim, uid, now);
    return;
  }
  switch (sim.phase) {
    case Phase::Stopping: stopForDeletion(sim, uid, now); break;
    case Phase::Unseen:
      ++changes_;
      sim.phase = Phase::Over;
      if (isDeleting(*sim.pod)) { remove(sim, uid, now); }
      break;
    case Phase::Waiting:
    case Phase::Over:
      if (isDeleting(*sim.pod)) {
        remove(sim, uid, now);
      } else if (sim.phase == Phase::Waiting && sim.to_take != nullptr) {
        take(sim, uid, now);
      } else if (sim.phase == Phase::Waiting) {
        start(sim, uid, now);
      }
      break;
    case Phase::Runs:
      if (!leaveSidecars(sim, uid, sim.exit_code.value_or(0), now)) {
        end(sim, uid, sim.exit_code.value_or(0), now);
      }
      break;
    case Phase::Lingering: break;
  }
}

void Kubelet::take(Sim& sim, const std::string& uid, Now now) {
  DevicePlugin& plugin = *std::exchange(sim.to_take, nullptr);
  if (const auto refusal = plugin.allocate(*sim.pod, now)) { return refuse(sim, uid, *refusal, now); }
  if (patchStatus(sim, uid, Object{{"startTime", kapi::timeText(now.wall)}}, now)) {
    plan(sim, uid, now.mono + config_.start_after);
  }
}

void Kubelet::refuse(Sim& sim, const std::string& uid, const DevicePlugin::Refusal& refusal, Now now) {
  sim.phase = Phase::Over;
  (void)patchStatus(
      sim, uid, Object{{"phase", "Failed"}, {"reason", refusal.reason}, {"message", refusal.message}}, now);
}

void Kubelet::start(Sim& sim, const std::string& uid, Now now) {
  if (const auto plugin = plugins_.find(sim.node); plugin != plugins_.end()) {
    if (const auto refusal = plugin->second->preStart(*sim.pod, now)) {
      return refuse(sim, uid, *refusal, now);
    }
    observe(now);  // what it wrote
  }
  const apiserver::ObjectPtr pod = sim.pod;
  const std::string time = kapi::timeText(now.wall);
  ++changes_;
  sim.phase = Phase::Runs;
  sim.started_at = time;
  holdContainers(sim, uid);
  const std::string address = addresses_.next();
  Array statuses;
  for (const Value& container : (*pod)["spec"]["containers"].items()) {
    statuses.push_back(statusOf(container, true, Object{{"running", Object{{"startedAt", time}}}}));
  }
  Value status = Object{{"phase", "Running"},
                        {"startTime", time},
                        {"podIP", address},
                        {"podIPs", Array{Value{Object{{"ip", address}}}}},
                        {"conditions", conditions(true, time, nullptr)},
                        {"containerStatuses", std::move(statuses)}};
  if (const std::string host = addressOf(sim.node); !host.empty()) {
    status.set("hostIP", host);
    status.set("hostIPs", Array{Value{Object{{"ip", host}}}});
  }
  if (Array init = initStatuses(*pod, time, time, std::nullopt); !init.empty()) {
    status.set("initContainerStatuses", std::move(init));
  }
  if (!patchStatus(sim, uid, std::move(status), now)) { return; }
  const auto told = to_finish_.find(sim.key);
  if (told != to_finish_.end()) {
    sim.exit_code = told->second;
    to_finish_.erase(told);
    plan(sim, uid, now.mono);
  } else if (const auto time_to_run = timeToRun(*pod, now)) {
    plan(sim, uid, now.mono + *time_to_run);
  }
}

void Kubelet::runUnseen(Sim& sim, const std::string& uid, Now now) {
  ++changes_;
  sim.phase = Phase::Unseen;
  holdContainers(sim, uid);
  plan(sim, uid, now.mono + config_.linger);
}

/// Of its annotation. One that cannot be read is told, and the pod runs until somebody ends it.
std::optional<Duration> Kubelet::timeToRun(const Value& pod, Now now) {
  const Value* wanted = pod["metadata"]["annotations"].find(kRunForKey);
  if (wanted == nullptr) { return std::nullopt; }
  const auto out = parseDuration(wanted->str());
  if (!out) {
    warnAbout(
        api_, pod, "BadRunFor",
        fmt::format(
            "annotation {}: \"{}\" is no duration; write one such as 30s, 5m or 1h30m (at most 270000h); "
            "the pod runs until it is deleted",
            kRunForKey, wanted->str()),
        now);
  }
  return out;
}

/// What the containers got, from the pod as it is now.
void Kubelet::holdContainers(Sim& sim, const std::string& uid) {
  const Value& pod = *sim.pod;
  sim.running = {uid, sim.key, devicesOf(pod), gpusOf(pod), false};
  auto& envs = envs_[uid];
  envs.clear();
  for (const Value& container : pod["spec"]["containers"].items()) {
    envs.emplace_back(container["name"].str(), resolveEnv(pod, container));
  }
}

void Kubelet::adopt(Sim& sim, const std::string& uid, Now now) {
  ++changes_;
  sim.phase = Phase::Runs;
  sim.started_at = (*sim.pod)["status"]["startTime"].str();
  holdContainers(sim, uid);
  const auto time_to_run = parseDuration((*sim.pod)["metadata"]["annotations"][kRunForKey].str());
  const auto began = kapi::parseTime(sim.started_at);
  if (time_to_run && began) { plan(sim, uid, now.mono + (*began + *time_to_run - now.wall)); }
}

/// The main containers end. False: nothing runs on without them.
bool Kubelet::leaveSidecars(Sim& sim, const std::string& uid, int exit_code, Now now) {
  if (sim.main_ended || sim.finished || config_.sidecar_takes == Duration{} || !hasSidecars(*sim.pod)) {
    return false;
  }
  sim.main_ended = true;
  const apiserver::ObjectPtr pod = sim.pod;
  const std::string time = kapi::timeText(now.wall);
  Array statuses;
  for (const Value& container : (*pod)["spec"]["containers"].items()) {
    statuses.push_back(statusOf(container, false, terminated(exit_code, sim.started_at, time)));
  }
  (void)patchStatus(sim, uid,
                    Object{{"conditions", conditions(false, time, "PodCompleted")},
                           {"containerStatuses", std::move(statuses)},
                           {"initContainerStatuses", initStatuses(*pod, sim.started_at, time, std::nullopt)}},
                    now);
  plan(sim, uid, now.mono + config_.sidecar_takes);
  return true;
}

void Kubelet::end(Sim& sim, const std::string& uid, int exit_code, Now now) {
  const apiserver::ObjectPtr pod = sim.pod;
  const std::string time = kapi::timeText(now.wall);
  ++changes_;
  sim.phase = Phase::Over;
  Array statuses;
  for (const Value& container : (*pod)["spec"]["containers"].items()) {
    statuses.push_back(statusOf(container, false, terminated(exit_code, sim.started_at, time)));
  }
  const char* phase = exit_code == 0 ? "Succeeded" : "Failed";
  const char* reason = exit_code == 0 ? "PodCompleted" : "PodFailed";
  Value status =
      Object{{"conditions", conditions(false, time, reason)}, {"containerStatuses", std::move(statuses)}};
  if (hasSidecars(*pod)) {
    status.set("initContainerStatuses", initStatuses(*pod, sim.started_at, time, exit_code));
  }
  if (!isFinished(*pod)) { status.set("phase", phase); }
  (void)patchStatus(sim, uid, std::move(status), now);
}

/// The containers ended within the grace: say so, then the pod may go.
void Kubelet::stopForDeletion(Sim& sim, const std::string& uid, Now now) {
  end(sim, uid, sim.exit_code.value_or(kStoppedBySignal), now);
  remove(sim, uid, now);
}

void Kubelet::remove(const Sim& sim, const std::string& uid, Now now) {
  (void)api_.handle({"DELETE", pathOf(sim.key), "application/json",
                     Object{{"gracePeriodSeconds", 0}, {"preconditions", Object{{"uid", uid}}}}},
                    now);
}

void Kubelet::orphan(const Sim& sim, const std::string& uid, Now now) {
  const model::ObjectKey key = sim.key;
  if (!sim.finished) { (void)patchStatus(sim, uid, Object{{"phase", "Failed"}}, now); }
  (void)api_.handle({"DELETE", pathOf(key), "application/json",
                     Object{{"gracePeriodSeconds", 0}, {"preconditions", Object{{"uid", uid}}}}},
                    now);
}

bool Kubelet::patchStatus(const Sim& sim, const std::string& uid, Value status, Now now) {
  Value body = Object{{"metadata", Object{{"uid", uid}}}};
  body.set("status", std::move(status));
  return api_.handle({"PATCH", pathOf(sim.key, "/status"), "application/strategic-merge-patch+json",
                      std::move(body)},
                     now)
             .code == 200;
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

// ---- commands and questions

void Kubelet::finish(const std::string& ns, const std::string& name, int exit_code) {
  const model::ObjectKey key{ns, name};
  for (auto& [uid, sim] : sims_) {
    if (sim.key != key || sim.phase != Phase::Runs) { continue; }
    sim.exit_code = exit_code;
    plan(sim, uid, Mono::min());
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
    if (sim.node == node) { plan(sim, uid, sim.due); }
  }
}

std::vector<Kubelet::Running> Kubelet::running(const std::string& node) const {
  std::vector<Running> out;
  for (const auto& [uid, sim] : sims_) {
    const bool containers = sim.phase == Phase::Runs || sim.phase == Phase::Stopping ||
                            sim.phase == Phase::Unseen || sim.phase == Phase::Lingering;
    if (!containers || sim.node != node) { continue; }
    out.push_back(sim.running);
    out.back().ended = sim.finished || sim.phase == Phase::Lingering;
  }
  return out;
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
