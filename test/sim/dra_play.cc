#include "test/sim/dra_play.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ascii.h"
#include "base/random.h"
#include "json/value.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "sandbox/world/world.h"
#include "test/world/objects.h"
#include "test/world/truth.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using json::Array;
using json::Object;
using json::Value;
using sandbox::CallFault;
using How = CallFault::How;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kClaimsId = "resource.k8s.io/resourceclaims";
constexpr int kGpus = 4;  // of each node
constexpr int kSchedulers = 2;
constexpr int kShared = 2;  // claims that pods share
constexpr int kSteps = 90;
constexpr int kTheirPods = 3;
constexpr const char* kOld = "n-old";  // its kubelet starts containers without what DRA gave them
constexpr const char* kTheirs = "default-scheduler";

/// A device by the name of its node and its own.
using Device = std::pair<std::string, std::string>;

kapi::SimNode node(const char* name, std::uint64_t seed) {
  kapi::SimNode n;
  n.name = model::NodeName{name};
  n.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  n.enforcement = model::Enforcement::Dra;
  for (int i = 0; i < kGpus; ++i) {
    model::Device d;
    d.id = i;
    d.uuid = fmt::format("GPU-{}-{}", name, i);
    d.model = "T";
    d.pci_bus_id = fmt::format("00000000:{:02x}:00.0", i + 1);
    d.memory_mib = 1024;
    d.island = seed % 2 == 0 ? "0" : std::to_string(i / 2);
    d.health = model::Health::Healthy;
    n.devices.push_back(std::move(d));
  }
  return n;
}

/// Plays with pods of another scheduler, kubelets that start anew, a kubelet that knows no DRA, and pods that
/// no driver serves. The others are as they were before there were these.
bool hasOthers(std::uint64_t seed) { return seed % 2 == 1; }
bool hasAgents(std::uint64_t seed) { return seed % 4 != 0 && seed % 8 != 3; }

sandbox::World::Options optionsFor(std::uint64_t seed) {
  sandbox::World::Options options;
  options.seed = seed;
  options.controllers = true;
  options.agents = hasAgents(seed);
  options.nodes = {node("n-a", seed), node("n-b", seed)};
  if (hasOthers(seed) && seed % 3 == 0) { options.nodes.push_back(node(kOld, seed)); }
  return options;
}

Value podObject(const std::string& name, int gpus, int containers) {
  Array list;
  for (int i = 0; i < containers; ++i) {
    list.push_back(
        Object{{"name", fmt::format("c{}", i)},
               {"image", "cuda"},
               {"resources", Object{{"limits", Object{{"nvidia.com/gpu", std::to_string(gpus)}}}}}});
  }
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", Object{{"name", name}, {"namespace", "default"}}},
                {"spec", Object{{"schedulerName", "gpu-scheduler"},
                                {"restartPolicy", "Never"},
                                {"containers", std::move(list)}}}};
}

class DraPlay {
 public:
  DraPlay(std::uint64_t seed, bool tell)
      : rng_{seed ^ 0xd7a0000}, tell_{tell}, world_{optionsFor(seed)}, began_{world_.now().mono} {
    world_.setJudge([this](sandbox::ReplicaId, const kapi::Call& call) { return judge(call); });
    world_.setStreamJudge([this](sandbox::ReplicaId, kapi::Token) -> Duration {
      const bool is_slow = world_.now().mono < slow_until_;
      return is_slow ? std::chrono::milliseconds{below(800)} : Duration{};
    });
    if (tell_) {
      world_.setWitness([this](sandbox::ReplicaId id, const kapi::Call& call, const kapi::Outcome& outcome) {
        if (!call.leader_only) { return; }
        const auto name = call.key.name.empty() ? call.body["metadata"]["name"].str() : call.key.name;
        say(fmt::format("  {} {} {} {}/{}: {} {}", id, std::string{kapi::httpMethod(call.verb)}, name,
                        call.kind->plural, call.subresource, outcome.http, outcome.message));
      });
    }
    world_.kubelet().setConfig({.linger = std::chrono::seconds{5 + below(15)}});
    by_agents_ = hasAgents(seed);
    has_others_ = hasOthers(seed);
    // Without agents nobody but who saw it knows what a pod had whose claim went.
    may_crash_ = by_agents_ || !has_others_;
  }

  DraOutcome play() {
    world_.create(test::gpuClass());
    for (int i = 1; i <= kGpus; ++i) {
      world_.create(test::claimTemplate(fmt::format("gpus-{}", i), test::gpuDevices(i)));
    }
    for (int i = 0; i < kSchedulers; ++i) { world_.startReplica(); }
    if (has_others_) { world_.create(test::claim("one", 1)); }
    until([this] { return world_.leader().has_value(); }, 30s);
    if (has_others_) { isOld(kOld); }
    for (int i = 0; i < kSteps && out_.problem.empty(); ++i) {
      step();
      run(std::chrono::milliseconds{50 + below(900)});
    }
    if (out_.problem.empty()) { calm(); }
    return out_;
  }

 private:
  int below(int n) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(n))); }
  void say(const std::string& what) {
    if (tell_) {
      fmt::print("{:9.3f}s {}\n", std::chrono::duration<double>(world_.now().mono - began_).count(), what);
    }
  }
  void wrong(std::string what) {
    if (!out_.problem.empty()) { return; }
    out_.problem = std::move(what);
    out_.at = world_.now().mono - began_;
    say(out_.problem);
  }
  /// And a claim of a template, for one GPU.
  static Value withTemplate(Value pod) {
    Array claims = pod["spec"]["resourceClaims"].items();
    claims.push_back(Object{{"name", "own"}, {"resourceClaimTemplateName", "gpus-1"}});
    pod.child("spec").set("resourceClaims", std::move(claims));
    return pod;
  }
  void run(Duration by) {
    (void)world_.runUntil([this] { return look(), !out_.problem.empty(); }, by);
    look();
  }
  bool until(const std::function<bool()>& done, Duration limit) {
    return world_.runUntil([&] { return look(), !out_.problem.empty() || done(); }, limit);
  }

  // ---- what happens

  void step() {
    if (has_others_) { theySchedule(); }
    if (has_others_ && rng_.chance(35)) { return stepOfOthers(); }
    switch (below(22)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: return comes();
      case 6:
      case 7:
        return goes("ends", [this](const std::string& name) { world_.kubelet().finish("default", name); });
      case 8: return goes("is deleted", [this](const auto& name) { remove(name, false); });
      case 9:
      case 10:
        return goes("is deleted by force",
                    [this](const auto& name) { remove(name, !isTheirs(name) || isKnownToUse(name)); });
      case 11: return crashes();
      case 12: return theyAllocate();
      case 13: return theyFree();
      case 14: return faults(2s + std::chrono::seconds{below(5)});
      case 15: return driverAway();
      case 16: return agentDown();
      case 17: races_ = 1 + below(2); return;
      case 18: cut_in_ = may_crash_ ? 1 + below(6) : 0; return;
      case 19: return slow();
      default: return starts();
    }
  }
  void comes() {
    if (pods().size() > 14) { return; }
    const std::string name = fmt::format("p{}", ++made_);
    if (rng_.chance(20)) { return comesToShare(name); }
    if (rng_.chance(35)) { return comesWithClaims(name); }
    const int containers = rng_.chance(20) ? 2 : 1;
    const int gpus = rng_.chance(70) ? 1 : 1 + below(containers == 2 ? 2 : kGpus);
    say(fmt::format("{} comes for {} x {}", name, containers, gpus));
    world_.create(podObject(name, gpus, containers));
    wants_[name] = static_cast<std::size_t>(gpus * containers);
  }
  /// Of templates, or claims that were made for it, one or two.
  void comesWithClaims(const std::string& name) {
    const int first = rng_.chance(60) ? 1 : 1 + below(kGpus - 1);
    const int second = rng_.chance(25) ? 1 : 0;
    const bool is_named = rng_.chance(30);
    say(fmt::format("{} comes with {} for {} and {}", name, is_named ? "claims" : "templates", first,
                    second));
    std::vector<std::string> names;
    for (const int gpus : {first, second}) {
      if (gpus == 0) { continue; }
      names.push_back(is_named ? fmt::format("of-{}-{}", name, names.size()) : fmt::format("gpus-{}", gpus));
      if (is_named) { world_.create(test::resourceClaim(names.back(), test::gpuDevices(gpus))); }
    }
    world_.create(test::withClaims(podObject(name, 0, 1),
                                   is_named ? "resourceClaimName" : "resourceClaimTemplateName", names));
    wants_[name] = static_cast<std::size_t>(first + second);
  }
  /// One of a few claims, alone or beside one of a template.
  void comesToShare(const std::string& name) {
    const int which = 1 + below(kShared);
    const std::string claim = fmt::format("shared-{}", which);
    if (made_shared_.insert(claim).second) {
      world_.create(test::resourceClaim(claim, test::gpuDevices(which)));
    }
    const bool is_mixed = rng_.chance(20);
    say(fmt::format("{} comes to share {}{}", name, claim, is_mixed ? " and for one of a template" : ""));
    Value pod = test::withClaims(podObject(name, 0, 1), "resourceClaimName", {claim});
    if (is_mixed) { pod = withTemplate(std::move(pod)); }
    world_.create(pod);
    wants_[name] = static_cast<std::size_t>(which + (is_mixed ? 1 : 0));
    shares_[name] = claim;
  }
  template <class Act>
  void goes(const char* how, const Act& act) {
    const auto names = pods();
    if (names.empty()) { return; }
    const std::string name = names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
    say(fmt::format("{} {}", name, how));
    act(name);
    world_.touch();
  }
  void remove(const std::string& name, bool force) {
    (void)world_.request("DELETE", fmt::format("{}/{}", kPods, name),
                         force ? Value{Object{{"gracePeriodSeconds", 0}}} : Value{Object{}});
  }
  void crashes() {
    const auto id = world_.leader();
    if (!id || !may_crash_) { return; }
    say("the leader dies");
    world_.crash(*id);
  }
  void starts() {
    for (int i = 0; i < kSchedulers; ++i) {
      if (!world_.alive(i)) { world_.restart(i); }
    }
  }
  void faults(Duration by) {
    say("writes fail");
    faults_until_ = world_.now().mono + by;
  }
  /// What watches bring comes late, to each by itself.
  void slow() {
    say("watches are slow");
    slow_until_ = world_.now().mono + 2s + std::chrono::seconds{below(6)};
  }
  void driverAway() {
    const std::string node = below(2) == 0 ? "n-a" : "n-b";
    say(fmt::format("the driver of {} is away", node));
    world_.driver().setAway(node, true);
    world_.after(std::chrono::seconds{2 + below(8)}, [this, node] { world_.driver().setAway(node, false); });
  }
  void agentDown() {
    if (!by_agents_) { return; }
    const std::string node = below(2) == 0 ? "n-a" : "n-b";
    world_.machines().setAgentDown(node, true);
    world_.after(std::chrono::seconds{5 + below(20)}, [this, node] {
      world_.machines().setAgentDown(node, false);
      world_.touch();
    });
    world_.touch();
  }

  // ---- another scheduler

  /// Not what it can see that somebody has.
  void theyAllocate() {
    std::vector<Device> free;
    for (const char* node : {"n-a", "n-b"}) {
      for (int i = 0; i < kGpus; ++i) {
        const Device device{node, inLowerCase(fmt::format("GPU-{}-{}", node, i))};
        if (!allocatedTo(device).has_value()) { free.push_back(device); }
      }
    }
    if (free.empty() || theirs_ > 3) { return; }
    const Device& device = free[static_cast<std::size_t>(below(static_cast<int>(free.size())))];
    if (rng_.chance(40) && theyAllocateShared(device)) { return; }
    allocate(device);
  }
  /// One that pods of ours name, for a pod of theirs that is gone by then, or for nobody: the claim
  /// controller takes the one off, and then the allocation, unless somebody joins before.
  bool theyAllocateShared(const Device& device) {
    const bool is_free = made_shared_.contains("shared-1") && !allocated_.contains("shared-1");
    // A pod of theirs may have it still, whose claim is gone: ours would wait for its end.
    const bool is_used = std::any_of(stripped_.begin(), stripped_.end(),
                                     [&](const auto& one) { return one.second == device; });
    if (!is_free || is_used) { return false; }
    say(fmt::format("shared-1 is allocated {} of {} by others", device.second, device.first));
    const bool for_a_pod = rng_.chance(50);
    Array users;
    if (for_a_pod) {
      users.push_back(Object{{"resource", "pods"}, {"name", "theirs"}, {"uid", "uid-of-theirs"}});
    }
    Value claim = world_.get(fmt::format("{}/shared-1", kClaims));
    const Object result{
        {"request", "gpus"}, {"driver", "gpu.nvidia.com"}, {"pool", device.first}, {"device", device.second}};
    claim.set("status", Object{{"allocation", Object{{"devices", Object{{"results", Array{Value{result}}}}}}},
                               {"reservedFor", std::move(users)}});
    (void)world_.request("PUT", fmt::format("{}/shared-1/status", kClaims), claim);
    return true;
  }
  void allocate(const Device& device) {
    ++theirs_;
    const std::string name = fmt::format("theirs-{}", ++made_);
    say(fmt::format("{} is allocated {} of {}", name, device.second, device.first));
    const Object exactly{
        {"deviceClassName", "gpu.nvidia.com"}, {"allocationMode", "ExactCount"}, {"count", 1}};
    const Object request{{"name", "r"}, {"exactly", exactly}};
    world_.create(Object{{"apiVersion", "resource.k8s.io/v1"},
                         {"kind", "ResourceClaim"},
                         {"metadata", Object{{"name", name}, {"namespace", "default"}}},
                         {"spec", Object{{"devices", Object{{"requests", Array{Value{request}}}}}}}});
    Value claim = world_.get(fmt::format("{}/{}", kClaims, name));
    const Object result{
        {"request", "r"}, {"driver", "gpu.nvidia.com"}, {"pool", device.first}, {"device", device.second}};
    claim.set("status",
              Object{{"allocation", Object{{"devices", Object{{"results", Array{Value{result}}}}}}}});
    (void)world_.request("PUT", fmt::format("{}/{}/status", kClaims, name), claim);
  }
  void theyFree() {
    for (const auto& claim : world_.get(kClaims)["items"].items()) {
      const std::string name{claim["metadata"]["name"].str()};
      if (!name.starts_with("theirs-") || !claim["status"]["reservedFor"].items().empty()) { continue; }
      if (claim["status"]["allocation"].isNull()) { continue; }  // a pod waits for it
      say(fmt::format("{} goes", name));
      --theirs_;
      (void)world_.request("DELETE", fmt::format("{}/{}", kClaims, name));
      return;
    }
  }

  // ---- their pods, and what befalls nodes

  void stepOfOthers() {
    switch (below(6)) {
      case 0:
      case 1: return theirPodComes();
      case 2: return kubeletStartsAnew();
      case 3: return strip();
      case 4: return unservedComes();
      default:
        return goes("is deleted by force",
                    [this](const auto& name) { remove(name, !isTheirs(name) || isKnownToUse(name)); });
    }
  }
  static bool isTheirs(const std::string& pod) { return pod.starts_with("theirs-"); }
  static bool isTheirs(const Value& pod) { return pod["spec"]["schedulerName"].str() == kTheirs; }
  void theirPodComes() {
    const auto names = pods();
    if (std::count_if(names.begin(), names.end(), [](const auto& name) { return isTheirs(name); }) >=
        kTheirPods) {
      return;
    }
    const std::string name = fmt::format("theirs-{}", ++made_);
    const bool is_named = rng_.chance(50);
    say(fmt::format("{} comes, for kube-scheduler, with a {}", name, is_named ? "claim" : "template"));
    if (is_named) { world_.create(test::resourceClaim(name, test::gpuDevices(1))); }
    Value pod =
        test::withClaims(podObject(name, 0, 1), is_named ? "resourceClaimName" : "resourceClaimTemplateName",
                         {is_named ? name : std::string{"gpus-1"}});
    pod.child("spec").set("schedulerName", kTheirs);
    world_.create(pod);
  }
  /// As kube-scheduler does, by what stands: it does not know of containers that outlive their pods, so these
  /// are left out for it.
  void theySchedule() {
    readClaims();
    const Value all = world_.get(kPods);
    for (const auto& pod : all["items"].items()) {
      const bool waits = isTheirs(pod) && pod["spec"]["nodeName"].str().empty() &&
                         pod["metadata"]["deletionTimestamp"].isNull();
      const auto names = waits ? claimsOf(pod) : std::set<std::string>{};
      if (names.size() != 1 || allocated_.contains(*names.begin())) { continue; }
      const Value claim = world_.get(fmt::format("{}/{}", kClaims, *names.begin()));
      const auto device = unusedDevice();
      if (claim["kind"].str() != "ResourceClaim" || !device) { continue; }
      theyBind(pod, claim, *device);
      readClaims();
    }
  }
  [[nodiscard]] std::optional<Device> unusedDevice() {
    std::vector<Device> unused;
    for (const char* node : {"n-a", "n-b"}) {
      if (wiped_.contains(node)) { continue; }
      std::string used;
      for (const auto& running : world_.kubelet().running(node)) {
        used += inLowerCase(running.devices) + ",";
      }
      for (int i = 0; i < kGpus; ++i) {
        const Device device{node, inLowerCase(fmt::format("GPU-{}-{}", node, i))};
        const bool is_used = used.find(device.second + ",") != std::string::npos;
        if (!is_used && !allocatedTo(device)) { unused.push_back(device); }
      }
    }
    if (unused.empty()) { return std::nullopt; }
    return unused[static_cast<std::size_t>(below(static_cast<int>(unused.size())))];
  }
  void theyBind(const Value& pod, Value claim, const Device& device) {
    const std::string name{pod["metadata"]["name"].str()};
    const std::string path = fmt::format("{}/{}", kClaims, claim["metadata"]["name"].str());
    claim.child("metadata").set("finalizers", Array{Value{std::string{model::kDeleteProtection}}});
    if (world_.request("PUT", path, claim).code != 200) { return; }
    claim = world_.get(path);
    const Object result{
        {"request", "gpus"}, {"driver", "gpu.nvidia.com"}, {"pool", device.first}, {"device", device.second}};
    const Object user{
        {"resource", "pods"}, {"name", name}, {"uid", std::string{pod["metadata"]["uid"].str()}}};
    claim.set("status", Object{{"allocation", Object{{"devices", Object{{"results", Array{Value{result}}}}}}},
                               {"reservedFor", Array{Value{user}}}});
    if (world_.request("PUT", path + "/status", claim).code != 200) { return; }
    say(fmt::format("kube-scheduler gives {} {} of {}", name, device.second, device.first));
    const Object target{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", device.first}};
    (void)world_.request("POST", fmt::format("{}/{}/binding", kPods, name),
                         Object{{"apiVersion", "v1"},
                                {"kind", "Binding"},
                                {"metadata", Object{{"name", name}}},
                                {"target", target}});
  }
  /// A user takes the claim of one of their pods away, whose containers run on with what it gave them.
  void strip() {
    const Value all = world_.get(kPods);
    for (const auto& pod : all["items"].items()) {
      const std::string name{pod["metadata"]["name"].str()};
      const auto names = claimsOf(pod);
      const bool is_it = isTheirs(pod) && pod["status"]["phase"].str() == "Running" && names.size() == 1 &&
                         allocated_.contains(*names.begin()) && isKnownToUse(name);
      if (!is_it) { continue; }
      say(fmt::format("{} is deleted under {}", *names.begin(), name));
      stripped_[std::string{pod["metadata"]["uid"].str()}] = *allocated_.at(*names.begin()).devices.begin();
      const std::string path = fmt::format("{}/{}", kClaims, *names.begin());
      Value bare = world_.get(path);
      bare.child("metadata").set("finalizers", Array{});
      (void)world_.request("PUT", path, bare);
      (void)world_.request("DELETE", path);
      return;
    }
  }
  /// Whoever leads after this one has the agent's word for it. Where there is no agent, no leader dies.
  [[nodiscard]] bool isKnownToUse(const std::string& name) {
    if (!by_agents_) { return true; }
    const Value pod = world_.get(fmt::format("{}/{}", kPods, name));
    const std::string node{pod["spec"]["nodeName"].str()};
    const Value status = world_.get(fmt::format("/apis/gpu.scheduling/v1/gpunodestatuses/{}", node));
    for (const auto& device : status["status"]["devices"].items()) {
      for (const auto& user : device["inUseBy"].items()) {
        if (user.str() == pod["metadata"]["uid"].str()) { return true; }
      }
    }
    return false;
  }
  /// It takes the slices of its node away, and its driver is back a moment later, or much later. Not before
  /// the GpuNodeStatus says `dra`: a leader that starts then has nothing else to go by.
  void kubeletStartsAnew() {
    const std::string node = below(2) == 0 ? "n-a" : "n-b";
    const Value object = world_.get(fmt::format("/apis/gpu.scheduling/v1/gpunodestatuses/{}", node));
    const bool is_said = object["status"]["enforcement"].str() == "dra";
    if (!is_said || !wiped_.insert(node).second) { return; }
    say(fmt::format("the kubelet of {} starts anew", node));
    world_.machines().setPublishing(node, false);
    world_.touch();
    const auto by =
        rng_.chance(70) ? std::chrono::seconds{1 + below(4)} : std::chrono::seconds{10 + below(30)};
    world_.after(by, [this, node] { publishesAgain(node); });
  }
  void publishesAgain(const std::string& node) {
    if (wiped_.erase(node) == 0) { return; }
    say(fmt::format("the driver of {} publishes again", node));
    world_.machines().setPublishing(node, true);
    world_.touch();
  }
  /// With a map, or a GpuClaim without a limit: where drivers prepare GPUs nobody would give its containers
  /// any.
  void unservedComes() {
    if (unserved_.size() > 4) { return; }
    const std::string name = fmt::format("unserved{}-0", ++made_);
    say(fmt::format("{} comes", name));
    unserved_.insert(name);
    const std::string map = fmt::format("0={}:{}", below(2) == 0 ? "n-a" : "n-b", below(kGpus));
    world_.create(rng_.chance(50) ? test::mappedPod(name, map) : test::pod(name, "one"));
  }
  /// An older kubelet than DRA needs.
  void isOld(const std::string& node) {
    const Object info{{"kubeletVersion", "v1.33.0"}};
    (void)world_.request("PATCH", "/api/v1/nodes/" + node + "/status",
                         Object{{"status", Object{{"nodeInfo", info}}}}, "application/merge-patch+json");
  }

  // ---- what becomes of calls

  CallFault judge(const kapi::Call& call) {
    if (!call.leader_only) { return {}; }
    const bool of_claim = call.kind == kapi::kResourceClaim;
    out_.writes += of_claim ? 1 : 0;
    const Value& allocation = call.body["status"]["allocation"];
    if (of_claim && !allocation.isNull() && races_ > 0) {
      --races_;
      const Value& first = allocation["devices"]["results"].at(0);
      allocate({std::string{first["pool"].str()}, std::string{first["device"].str()}});
    }
    const bool matters = of_claim || call.kind == kapi::kPod || call.kind == kapi::kLease;
    if (matters && cut_in_ > 0 && --cut_in_ == 0) { return cut(); }
    if (world_.now().mono < faults_until_ && rng_.chance(25)) { return fault(); }
    return {};
  }
  CallFault fault() {
    switch (below(5)) {
      case 0: return {How::LostBefore, 0, {}, false, false};
      case 1: return {How::LostAfter, 0, {}, false, false};
      case 2: return {How::Late, 0, std::chrono::milliseconds{500 + below(9'000)}, false, false};
      case 3: return {How::Refused, 429, {}, false, false};
      default: return {How::Refused, 500, {}, false, false};
    }
  }
  /// It is the last one of that leader.
  CallFault cut() {
    say("the leader dies at a write");
    switch (below(3)) {
      case 0: return {How::Normal, 0, {}, true, false};
      case 1: return {How::Normal, 0, {}, false, true};
      default: return {How::Late, 0, std::chrono::milliseconds{500 + below(9'000)}, false, true};
    }
  }

  // ---- what is so

  [[nodiscard]] std::vector<std::string> pods() {
    std::vector<std::string> out;
    for (const auto& pod : world_.get(kPods)["items"].items()) {
      out.emplace_back(pod["metadata"]["name"].str());
    }
    return out;
  }
  struct Claim {
    std::uint64_t since = 0;  // revision of its allocation
    std::set<Device> devices;
    std::set<std::string> pods;  // uids that it is reserved for
    bool ours = false;
  };
  [[nodiscard]] std::optional<std::string> allocatedTo(const Device& device) const {
    for (const auto& [name, claim] : allocated_) {
      if (claim.devices.contains(device)) { return name; }
    }
    return std::nullopt;
  }

  /// From the history, so that the order of two allocations is known.
  void readClaims() {
    const auto& store = world_.api().store();
    for (; position_ < store.historyEnd(); ++position_) {
      const auto* entry = store.entry(position_);
      if (entry == nullptr || entry->key.resource != kClaimsId) { continue; }
      const std::string& name = entry->key.name;
      if (entry->after == nullptr || (*entry->after)["status"]["allocation"].isNull()) {
        allocated_.erase(name);
        continue;
      }
      const bool is_new = !allocated_.contains(name);
      Claim& claim = allocated_[name];
      if (is_new) { claim.since = entry->revision; }
      claim.ours = !name.starts_with("theirs-");
      claim.devices.clear();
      claim.pods.clear();
      for (const auto& r : (*entry->after)["status"]["allocation"]["devices"]["results"].items()) {
        claim.devices.emplace(r["pool"].str(), r["device"].str());
      }
      for (const auto& user : (*entry->after)["status"]["reservedFor"].items()) {
        claim.pods.emplace(user["uid"].str());
      }
      if (is_new && claim.ours) { gaveWay(claim); }
    }
  }
  void gaveWay(const Claim& claim) {
    for (const auto& entry : allocated_) {
      const Claim& theirs = entry.second;
      const bool first =
          !theirs.ours && std::any_of(claim.devices.begin(), claim.devices.end(),
                                      [&](const auto& device) { return theirs.devices.contains(device); });
      out_.gave_way += first ? 1 : 0;
    }
  }

  void look() {
    if (!out_.problem.empty()) { return; }
    readClaims();
    const std::uint64_t now = world_.api().store().revision();
    if (std::exchange(looked_, now) == now && running_ == world_.kubelet().changes()) { return; }
    running_ = world_.kubelet().changes();
    if (world_.driver().inUse() > 0) {
      return wrong("a driver was asked for a device that another pod's containers have");
    }
    for (const auto& pod : world_.get(kPods)["items"].items()) {
      lookAt(pod);
      if (pod["spec"]["nodeName"].str().empty() && !isTheirs(pod)) { lookAtLeases(pod); }
    }
  }

  /// Leases come before an allocation, and go after it.
  void lookAtLeases(const Value& pod) {
    const std::string uid{pod["metadata"]["uid"].str()};
    for (const auto& of_it : claimsOf(pod)) {
      const auto claim = allocated_.find(of_it);
      if (claim == allocated_.end() || !claim->second.pods.contains(uid)) { continue; }
      for (const auto& [node, device] : claim->second.devices) {
        const std::string name = fmt::format("gpu-{}-{}", node, device.back());
        if (!holds(world_.get(test::kLeases + name), uid)) {
          return wrong(fmt::format("{} is allocated {}, and its lease {} does not say so",
                                   pod["metadata"]["name"].str(), device, name));
        }
      }
    }
  }
  static bool holds(const Value& lease, const std::string& uid) {
    const auto holder = lease["spec"]["holderIdentity"].str();
    const auto holders = lease["metadata"]["annotations"]["gpu.scheduling/holders"].str();
    return holder == uid || (holder == "shared" && holders.find(uid) != std::string_view::npos);
  }
  /// Those that it names, else the one that is made for its limits.
  static std::set<std::string> claimsOf(const Value& pod) {
    std::set<std::string> out;
    for (const auto& one : pod["spec"]["resourceClaims"].items()) {
      if (const auto name = one["resourceClaimName"].str(); !name.empty()) { out.emplace(name); }
    }
    for (const auto& made : pod["status"]["resourceClaimStatuses"].items()) {
      out.emplace(made["resourceClaimName"].str());
    }
    if (pod["spec"]["resourceClaims"].items().empty()) {
      out.insert("gpu-" + std::string{pod["metadata"]["uid"].str()});
    }
    return out;
  }

  /// The devices of the ids that its annotation names.
  static std::set<Device> told(const Value& pod) {
    std::set<Device> out;
    const std::string text{pod["metadata"]["annotations"]["gpu.scheduling/allocated"].str()};
    const auto colon = text.find(':');
    if (colon == std::string::npos) { return out; }
    const std::string node = text.substr(0, colon);
    for (char c : text.substr(colon + 1)) {
      if (c != ',') { out.emplace(node, inLowerCase(fmt::format("GPU-{}-{}", node, c))); }
    }
    return out;
  }
  void lookAt(const Value& pod) {
    const std::string name{pod["metadata"]["name"].str()};
    const std::string uid{pod["metadata"]["uid"].str()};
    const auto phase = pod["status"]["phase"].str();
    if (isTheirs(pod)) { return; }  // what its containers have the driver says
    if (unserved_.contains(name) && !pod["spec"]["nodeName"].str().empty()) {
      return wrong(fmt::format("{} is bound to {}, and nothing gives it GPUs there", name,
                               pod["spec"]["nodeName"].str()));
    }
    if (pod["spec"]["nodeName"].str().empty() || phase == "Succeeded" || phase == "Failed") { return; }
    const auto given = told(pod);
    if (given.size() != wants_[name]) {
      return wrong(fmt::format("{} was given {} GPUs", name, given.size()));
    }
    if (pod["metadata"]["deletionTimestamp"].isNull()) { lookAtClaims(pod, given); }
    if (phase == "Running") { lookAtContainers(name, uid, given); }
  }
  void lookAtClaims(const Value& pod, const std::set<Device>& given) {
    const std::string name{pod["metadata"]["name"].str()};
    const std::string uid{pod["metadata"]["uid"].str()};
    std::set<Device> devices;
    for (const auto& of_it : claimsOf(pod)) {
      const auto claim = allocated_.find(of_it);
      if (claim == allocated_.end()) {
        return wrong(fmt::format("{} is bound, and its claim {} is not allocated", name, of_it));
      }
      if (!claim->second.pods.contains(uid)) {
        return wrong(fmt::format("{} is bound, and its claim {} is not reserved for it", name, of_it));
      }
      devices.insert(claim->second.devices.begin(), claim->second.devices.end());
      lookAtOthers(name, *claim);
    }
    if (devices != given) {
      return wrong(fmt::format("{} is told other devices than its claims are allocated", name));
    }
  }
  void lookAtOthers(const std::string& name, const std::pair<const std::string, Claim>& claim) {
    for (const auto& [other, theirs] : allocated_) {
      if (other == claim.first) { continue; }
      for (const auto& device : claim.second.devices) {
        if (theirs.devices.contains(device) && (theirs.ours || theirs.since < claim.second.since)) {
          return wrong(
              fmt::format("{} was given {}, which {} was allocated before", name, device.second, other));
        }
      }
    }
  }
  void lookAtContainers(const std::string& name, const std::string& uid, const std::set<Device>& given) {
    const auto devices = world_.kubelet().devicesAtStart(uid);
    std::set<std::string> wanted;
    for (const auto& device : given) { wanted.insert(device.second); }
    std::set<std::string> has;
    std::string rest = inLowerCase(devices.value_or(""));
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      has.insert(rest.substr(0, comma));
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    }
    if (has != wanted) {
      return wrong(fmt::format("containers of {} have {}, and it is told {}", name, fmt::join(has, " "),
                               fmt::join(wanted, " ")));
    }
    if (ran_.insert(uid).second) { ++out_.ran; }
  }

  // ---- the end

  void calm() {
    say("all is well from now on");
    faults_until_ = slow_until_ = {};
    races_ = cut_in_ = 0;
    starts();
    for (const char* node : {"n-a", "n-b"}) {
      world_.driver().setAway(node, false);
      publishesAgain(node);
      world_.machines().setAgentDown(node, false);
    }
    world_.touch();
    run(12min);  // what ended uncleanly without an agent waits five minutes
    if (!out_.problem.empty()) { return; }
    const auto truth = test::readTruth(world_);
    if (!truth.problems.empty()) { return wrong(truth.problems.front()); }
    if (!truth.unsettled.empty()) { return wrong(truth.unsettled.front()); }
    lookAtStatuses();
    std::map<std::string, std::size_t> free{{"n-a", kGpus}, {"n-b", kGpus}};
    std::set<std::string> uids;
    const Value all = world_.get(kPods);
    for (const auto& pod : all["items"].items()) { uids.emplace(pod["metadata"]["uid"].str()); }
    for (const auto& [name, claim] : allocated_) {
      for (const auto& device : claim.devices) {
        free[device.first] -= std::min<std::size_t>(free[device.first], 1);
      }
      const bool is_used = std::any_of(claim.pods.begin(), claim.pods.end(),
                                       [&](const auto& uid) { return uids.contains(uid); });
      const bool for_nobody = name.starts_with("shared-") && claim.pods.empty();  // so others wrote it
      if (claim.ours && !is_used && !for_nobody) { return wrong(fmt::format("claim {} is left over", name)); }
    }
    for (const auto& pod : all["items"].items()) {  // what theirs have by claims that are gone
      const auto had = stripped_.find(std::string{pod["metadata"]["uid"].str()});
      if (had == stripped_.end() || allocatedTo(had->second) || isOver(pod)) { continue; }
      free[had->second.first] -= std::min<std::size_t>(free[had->second.first], 1);
    }
    for (const auto& pod : all["items"].items()) {
      const std::string name{pod["metadata"]["name"].str()};
      if (isTheirs(pod) || unserved_.contains(name)) { continue; }
      const bool waits = pod["spec"]["nodeName"].str().empty();
      const auto claim = shares_.find(name);
      const bool is_there = claim != shares_.end() && allocated_.contains(claim->second);
      const bool is_mixed = pod["spec"]["resourceClaims"].items().size() > 1;
      const std::size_t needs = is_there ? (is_mixed ? 1 : 0) : wants_[name];
      const auto& its_node = is_there ? allocated_.at(claim->second).devices.begin()->first : std::string{};
      const bool fits = std::any_of(free.begin(), free.end(), [&](const auto& n) {
        return n.second >= needs && (its_node.empty() || n.first == its_node);
      });
      if (waits && fits) { return wrong(fmt::format("{} waits, and there is room: {}", name, why(pod))); }
      if (!waits && pod["status"]["phase"].str() == "Pending") {
        return wrong(fmt::format("{} never started", name));
      }
    }
  }
  static bool isOver(const Value& pod) {
    const auto phase = pod["status"]["phase"].str();
    return phase == "Succeeded" || phase == "Failed";
  }
  /// What `kubectl get gns` says of the nodes.
  void lookAtStatuses() {
    for (const char* node : {"n-a", "n-b"}) {
      const Value object = world_.get(fmt::format("/apis/gpu.scheduling/v1/gpunodestatuses/{}", node));
      const Value& status = object["status"];
      const auto keeper = object["metadata"]["labels"]["gpu.scheduling/written-by"].str();
      const auto gpus = status["devices"].items().size();
      if (status["enforcement"].str() != "dra" || gpus != kGpus) {
        return wrong(fmt::format("the GpuNodeStatus of {} says {} GPUs, by \"{}\"", node, gpus,
                                 status["enforcement"].str()));
      }
      if (keeper != (by_agents_ ? "agent" : "scheduler") || status["observedTime"].isNull() == by_agents_) {
        return wrong(fmt::format("the GpuNodeStatus of {} is kept by \"{}\", and an agent looked at \"{}\"",
                                 node, keeper, status["observedTime"].str()));
      }
    }
  }
  static std::string why(const Value& pod) {
    for (const auto& c : pod["status"]["conditions"].items()) {
      if (c["type"].str() == "PodScheduled") { return std::string{c["message"].str()}; }
    }
    return "";
  }

  Rng rng_;
  bool tell_;
  sandbox::World world_;
  Mono began_;
  DraOutcome out_;
  bool by_agents_ = true;
  bool has_others_ = false;
  bool may_crash_ = true;
  int made_ = 0;
  int theirs_ = 0;
  int races_ = 0;   // so many of our next allocations somebody else comes before
  int cut_in_ = 0;  // the leader dies at so manieth write
  Mono faults_until_{};
  Mono slow_until_{};
  std::uint64_t position_ = 0;  // of the store's history
  std::uint64_t looked_ = 0;
  std::uint64_t running_ = 0;
  std::map<std::string, Claim> allocated_;
  std::map<std::string, std::size_t> wants_;
  std::map<std::string, std::string> shares_;  // by pod
  std::set<std::string> made_shared_;
  std::set<std::string> wiped_;             // nodes whose slices are away
  std::set<std::string> unserved_;          // pods that are to wait
  std::map<std::string, Device> stripped_;  // by pod, what it has by a claim that was deleted
  std::set<std::string> ran_;
};

}  // namespace

DraOutcome playDra(std::uint64_t seed, bool tell) { return DraPlay{seed, tell}.play(); }

}  // namespace gs::sim
