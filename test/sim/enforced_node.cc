#include "test/sim/enforced_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "model/annotations.h"

namespace gs::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kNvidia = 195;
constexpr unsigned kDies = 6;          // times in a hundred, at each step of a container
constexpr int kConnectsWithin = 3000;  // ms
constexpr unsigned kLate = 30;         // records of a hundred
constexpr int kLateBy = 1500;          // ms, at most

std::vector<std::string> gpuUuids(const kapi::SimNode& node) {
  std::vector<std::string> out;
  for (const model::Device& device : node.devices) { out.push_back(device.uuid); }
  return out;
}

enforce::cdi::DeviceNode nodeOf(const std::string& path, std::int64_t minor) {
  enforce::cdi::DeviceNode out;
  out.path = path;
  out.type = "c";
  out.major = kNvidia;
  out.minor = minor;
  return out;
}
std::string gpuPath(int gpu) { return fmt::format("/dev/nvidia{}", gpu); }

/// As the vendor's tool writes it.
enforce::IndexPtr indexOf(const std::vector<std::string>& uuids) {
  auto spec = std::make_shared<enforce::cdi::Spec>();
  spec->file = "/var/run/cdi/nvidia.json";
  spec->kind = {"nvidia.com", "gpu"};
  spec->edits.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  spec->edits.device_nodes = {nodeOf("/dev/nvidiactl", 255)};
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    enforce::cdi::Device device;
    device.name = uuids[i];
    const int gpu = static_cast<int>(i);
    device.edits.device_nodes = {nodeOf(gpuPath(gpu), gpu)};
    spec->devices.push_back(std::move(device));
  }
  const std::vector<enforce::cdi::SpecFile> files{{0, std::move(spec)}};
  return std::make_shared<const enforce::cdi::Index>(files);
}

enforce::RuntimeFacts facts() {
  enforce::RuntimeFacts out;
  out.injects_cdi = true;
  return out;
}

void put(rpc::nri::LinuxDevice device, rpc::nri::Container& container) {
  std::erase_if(container.devices, [&](const auto& there) { return there.path == device.path; });
  container.devices.push_back(std::move(device));
}
void put(const enforce::cdi::DeviceNode& node, rpc::nri::Container& container) {
  rpc::nri::LinuxDevice device;
  device.path = node.path;
  device.type = node.type;
  device.major = node.major;
  device.minor = node.minor;
  put(std::move(device), container);
}

int limitOf(const json::Value& pod) {
  int out = 0;
  for (const json::Value& container : pod["spec"]["containers"].items()) {
    out += std::atoi(std::string{container["resources"]["limits"]["nvidia.com/gpu"].str()}.c_str());
  }
  return out;
}

}  // namespace

EnforcedNode::EnforcedNode(sandbox::World& world, const kapi::SimNode& node, Rng rng,
                           std::function<void(const Made&)> on_made)
    : world_{world},
      name_{node.name.text},
      uuids_{gpuUuids(node)},
      index_{indexOf(uuids_)},
      rng_{rng},
      on_made_{std::move(on_made)} {}

// ---- the agent's process

void EnforcedNode::follow() {
  followProcess();
  followContainers();
  if (is_connected_ && !std::exchange(is_told_, true)) { tell(); }
}

void EnforcedNode::followProcess() {
  const agent::Agent* agent = world_.agents().of(name_);
  const std::uint64_t life = agent == nullptr ? 0 : world_.agents().starts(name_);
  if (life != life_) {
    life_ = life;
    enforcer_.reset();
    newest_ = given_ = nullptr;
    is_connected_ = is_told_ = false;
  }
  if (agent == nullptr) { return; }
  if (!enforcer_) {
    enforcer_.emplace(facts());
    enforcer_->setIndex(index_);
    world_.after(milliseconds{rng_.below(kConnectsWithin)}, [this, life] { connect(life); });
  }
  if (agent->record() == newest_) { return; }
  newest_ = agent->record();
  if (!rng_.chance(kLate)) { return give(newest_); }
  world_.after(milliseconds{rng_.below(kLateBy)}, [this, life, record = newest_] {
    if (life == life_ && (given_ == nullptr || record->version > given_->version)) { give(record); }
  });
}

void EnforcedNode::connect(std::uint64_t life) {
  follow();
  if (life != life_) { return; }
  std::vector<rpc::nri::PodSandbox> pods;
  std::vector<rpc::nri::Container> containers;
  for (const auto& [id, made] : made_) {
    pods.push_back(made.pod);
    containers.push_back(made.shown);
  }
  enforcer_->synchronize(pods, containers);
  is_connected_ = true;
  is_told_ = false;
  follow();
}

void EnforcedNode::give(const enforce::NodeRecordPtr& record) {
  given_ = record;
  enforcer_->setRecord(record);
  is_told_ = false;
}

void EnforcedNode::tell() {
  enforce::Report report;
  report.is_connected = true;
  report.runtime = {"containerd", "v2.2.9"};
  report.counts = enforcer_->counts();
  report.mismatches = audit();
  for (const auto& [id, has] : enforcer_->containers().all()) {
    const auto it = made_.find(id);
    if (it == made_.end()) { continue; }
    const rpc::nri::PodSandbox& pod = it->second.pod;
    report.containers.push_back({{pod.ns, pod.name}, has.pod, it->second.shown.name, has.devices});
  }
  world_.after({}, [this, life = life_, report = std::move(report)] {
    if (life == life_) { world_.agents().enforced(name_, report); }
  });
}

std::vector<enforce::Mismatch> EnforcedNode::audit() {
  GS_CHECK(is_connected_, "nobody answers for node {}", name_);
  return enforcer_->audit();
}

bool EnforcedNode::mayDie() { return !is_calm_ && life_ != 0 && rng_.chance(kDies); }

void EnforcedNode::die() {
  world_.agents().crash(name_);
  follow();
}

// ---- containers

/// Those that the kubelet holds no more are gone.
void EnforcedNode::followContainers() {
  std::set<std::string> running;
  for (const auto& one : world_.kubelet().running(name_)) { running.insert(one.uid); }
  for (auto it = made_.begin(); it != made_.end();) {
    if (running.contains(it->second.pod.uid)) {
      ++it;
      continue;
    }
    if (enforcer_ && is_connected_) { enforcer_->removeContainer(it->first); }
    asked_.erase(it->second.pod.uid);
    it = made_.erase(it);
    is_told_ = false;
  }
}

/// Pods that went before their containers were made.
void EnforcedNode::forgetGone() {
  std::erase_if(asked_, [this](const auto& one) {
    const auto& [ns, name] = std::pair{one.second.sandbox.ns, one.second.sandbox.name};
    const json::Value pod = world_.get(fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name));
    const auto phase = pod["status"]["phase"].str();
    return pod["metadata"]["uid"].str() != one.first || phase == "Failed" || phase == "Succeeded";
  });
}

std::set<int> EnforcedNode::pick(int gpus) {
  forgetGone();
  std::vector<int> left;
  for (int gpu = 0; gpu < static_cast<int>(uuids_.size()); ++gpu) {
    const bool is_picked = std::any_of(asked_.begin(), asked_.end(),
                                       [&](const auto& one) { return one.second.picked.contains(gpu); });
    if (!is_picked) { left.push_back(gpu); }
  }
  std::set<int> out;
  for (; gpus > 0 && !left.empty(); --gpus) {
    const auto at = left.begin() + static_cast<std::ptrdiff_t>(rng_.below(left.size()));
    out.insert(*at);
    left.erase(at);
  }
  return out;
}

std::size_t EnforcedNode::unpicked() {
  forgetGone();
  std::size_t picked = 0;
  for (const auto& [uid, asked] : asked_) { picked += asked.picked.size(); }
  return uuids_.size() - picked;
}

EnforcedNode::Asked& EnforcedNode::askedOf(const json::Value& pod) {
  const std::string uid{pod["metadata"]["uid"].str()};
  if (const auto it = asked_.find(uid); it != asked_.end()) { return it->second; }
  Asked asked;
  asked.sandbox.id = "sandbox-" + uid;
  asked.sandbox.uid = uid;
  asked.sandbox.name = pod["metadata"]["name"].str();
  asked.sandbox.ns = pod["metadata"]["namespace"].str();
  for (const auto& [key, value] : pod["metadata"]["annotations"].members()) {
    asked.sandbox.annotations.emplace(key, value.str());
  }
  asked.is_gated = asked.sandbox.annotations.contains(kGated);
  asked.picked = pick(limitOf(pod));
  return asked_.emplace(uid, std::move(asked)).first->second;
}

bool EnforcedNode::mayPass(const Asked& asked) const {
  if (!is_connected_ || newest_ == nullptr) { return false; }
  const auto holding = newest_->holdings.find(model::Uid{asked.sandbox.uid});
  return holding != newest_->holdings.end() && holding->second.hold == enforce::Hold::Verified;
}

bool EnforcedNode::start(const json::Value& pod) {
  follow();
  Asked& asked = askedOf(pod);
  if (!asked.has_passed) {
    if (asked.is_gated && !mayPass(asked)) { return false; }
    asked.has_passed = true;
    asked.passed_in = life_;
    if (mayDie()) { die(); }
  }
  return create(asked);
}

rpc::nri::Container EnforcedNode::wanted(const Asked& asked) {
  rpc::nri::Container out;
  out.id = fmt::format("c{}", ++last_id_);
  out.pod_sandbox_id = asked.sandbox.id;
  out.name = "main";
  out.state = rpc::nri::ContainerState::Created;
  out.mounts = {{"/sys", "sysfs", "sysfs", {"ro"}}};
  for (const int gpu : asked.picked) { put(nodeOf(gpuPath(gpu), gpu), out); }
  if (!asked.picked.empty()) {
    put(nodeOf("/dev/nvidiactl", 255), out);
    out.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
  }
  return out;
}

bool EnforcedNode::create(const Asked& asked) {
  rpc::nri::Container container = wanted(asked);
  if (!is_connected_) {
    make(asked, std::move(container), {}, nullptr);
    return true;
  }
  const enforce::NodeRecordPtr record = given_ != nullptr ? given_ : std::make_shared<enforce::NodeRecord>();
  auto planned = enforcer_->createContainer(asked.sandbox, container);
  if (mayDie()) {  // and its answer is not read
    die();
    make(asked, std::move(container), {}, nullptr);
    return true;
  }
  is_told_ = false;
  if (!planned) {
    ++counts_.refused;
    enforcer_->removeContainer(container.id);
    return false;
  }
  counts_.moved += planned->moves.empty() ? 0 : 1;
  make(asked, std::move(container), planned->adjustment, record);
  return true;
}

/// As the runtime does it: CDI's nodes, the plugin's, then the rules that take rights back.
void EnforcedNode::make(const Asked& asked, rpc::nri::Container container,
                        const rpc::nri::Adjustment& adjustment, enforce::NodeRecordPtr record) {
  std::set<Numbers> rights;
  for (const auto& device : container.devices) { rights.emplace(device.major, device.minor); }
  for (const std::string& name : adjustment.cdi_devices) {
    const auto entry = index_->resolve(name);
    GS_CHECK(entry.has_value(), "no runtime resolves {}", name);
    for (const auto* edits : {&entry->spec->edits, &entry->device->edits}) {
      for (const auto& node : edits->device_nodes) {
        put(node, container);
        rights.emplace(node.major, node.minor);
      }
    }
  }
  for (const auto& device : adjustment.devices) {
    put(device, container);
    rights.emplace(device.major, device.minor);
  }
  for (const auto& denied : adjustment.denied_devices) { rights.erase({denied.major, denied.minor}); }
  for (const auto& [key, value] : adjustment.annotations) { container.annotations[key] = value; }
  container.state = rpc::nri::ContainerState::Running;
  Made made;
  made.pod = asked.sandbox;
  for (int gpu = 0; gpu < static_cast<int>(uuids_.size()); ++gpu) {
    if (rights.contains({kNvidia, gpu})) { made.sees.insert(gpu); }
  }
  made.is_gated = asked.is_gated;
  made.died_since_gate = asked.passed_in != life_ || life_ == 0;
  made.record = std::move(record);
  ++(made.record == nullptr ? counts_.unanswered : counts_.answered);
  const std::string id = container.id;
  made.shown = std::move(container);
  on_made_(made_.emplace(id, std::move(made)).first->second);
}

}  // namespace gs::sim
