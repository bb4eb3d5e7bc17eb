// Another scheduler places pods by asking an extender, and a simulated gpu-manager picks their devices for
// itself when the kubelet takes them: its picks must be what the extender wrote.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kapi/decode.h"
#include "sandbox/node/gpu_manager.h"
#include "sandbox/world/world.h"
#include "test/world/objects.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using sandbox::GpuManager;
using Trouble = GpuManager::Trouble;

constexpr int kMemoryEach = 32;
constexpr Duration kUnheard = 20ms;  // what happened so shortly before a decision was not known to it

struct ManagedOptions {
  bool strict = false;
  bool ends_at_any_time = false;  // else only while no pod is on its way to that node
  int most_processes = 0;
};

/// Four nodes of gpu-manager, and a kube-scheduler: one filter call at a time, Bindings side by side some
/// time later, pods that found no node again after a while.
class ManagedCluster {
 public:
  ManagedCluster(std::uint64_t seed, ManagedOptions options)
      : options_{options}, rng_{seed}, world_{{.seed = seed, .nodes = {}}} {
    for (int n = 0; n < 4; ++n) {
      const std::string name = "m" + std::to_string(n);
      GpuManager::Config config{name, n + 1, kMemoryEach};
      config.most_processes = options_.most_processes;
      managers_.push_back(std::make_unique<GpuManager>(world_.api(), config, rng_.split()));
      world_.kubelet().setPlugin(name, *managers_.back());
      world_.create(gpuManagerNode(name, config.devices, static_cast<int>(config.memory_each)));
      nodes_.push_back(name);
    }
    extender::Config config;
    config.strict = options_.strict;
    extender_ = world_.startExtender(config);
    world_.setListener([this](auto, extender::RequestId request_id, const extender::Answer& answer) {
      answered(request_id, answer);
    });
    EXPECT_TRUE(world_.runUntil([this] { return world_.leadingExtender().has_value(); }, 30s));
  }

  void run(int steps) {
    for (int i = 0; i < steps && overfull_.empty(); ++i) {
      const auto what = rng_.below(100);
      if (what < 45) {
        come();
      } else if (what < 70) {
        end();
      } else if (what < 80) {
        deleteWaiting();
      }
      world_.run(Duration{1ms} * static_cast<std::int64_t>(rng_.below(60)));
      schedule();
    }
  }

  [[nodiscard]] int arrivals() const { return next_; }
  [[nodiscard]] int sharesGiven() const {
    int sum = 0;
    for (const auto& m : managers_) { sum += m->sharesGiven(); }
    return sum;
  }
  [[nodiscard]] std::vector<GpuManager::Refused> refused() const {
    std::vector<GpuManager::Refused> out;
    for (const auto& m : managers_) { out.insert(out.end(), m->refused().begin(), m->refused().end()); }
    return out;
  }
  [[nodiscard]] const std::string& overfull() const { return overfull_; }
  [[nodiscard]] int mostOnTheWay() const { return most_on_the_way_; }
  /// Between the pod's decision and `r` another one left its node, or was refused there.
  [[nodiscard]] bool somebodyLeft(const GpuManager::Refused& r) const {
    const auto decided = decided_.find(r.uid);
    if (decided == decided_.end()) { return false; }
    // Named, not unpacked: clang 14 has no captures of structured bindings.
    const std::string& node = decided->second.node;
    const Mono since = decided->second.at;
    const auto left = left_.lower_bound({node, since - kUnheard});
    if (left != left_.end() && left->first == node && left->second <= r.at) { return true; }
    const auto all = refused();
    return std::any_of(all.begin(), all.end(), [&](const auto& other) {
      const auto there = decided_.find(other.uid);
      return there != decided_.end() && there->second.node == node && other.at >= since - kUnheard &&
             other.at < r.at;
    });
  }

 private:
  struct Decision {
    std::string node;
    Mono at{};
  };

  static std::string path(const std::string& name, const char* sub = "") {
    return "/api/v1/namespaces/default/pods/" + name + sub;
  }
  [[nodiscard]] std::vector<const Value*> pods() {
    std::vector<const Value*> out;
    const auto [first, last] = world_.api().store().range("/pods");
    for (auto it = first; it != last; ++it) { out.push_back(it->second.object.get()); }
    return out;
  }
  static std::string_view nameOf(const Value& pod) { return pod["metadata"]["name"].str(); }
  static std::string_view note(const Value& pod, const char* key) {
    return pod["metadata"]["annotations"][std::string{"tencent.com/"} + key].str();
  }
  static std::string_view phaseOf(const Value& pod) { return pod["status"]["phase"].str(); }
  static bool isOnTheWay(const Value& pod) {
    return !note(pod, "predicate-node").empty() && phaseOf(pod) == "Pending";
  }

  void come() {
    if (pods().size() > 40) { return; }
    std::vector<Vcuda> limits;
    if (rng_.chance(15)) {
      limits.push_back({static_cast<int>(100 * (1 + rng_.below(2))), 0});
    } else {
      const auto containers = rng_.chance(25) ? 2 : 1;
      for (int i = 0; i < containers; ++i) {
        limits.push_back({static_cast<int>(10 * (1 + rng_.below(9))), static_cast<int>(1 + rng_.below(24))});
      }
    }
    const std::string name = "p" + std::to_string(next_++);
    world_.create(vcudaPod(name, limits));
    queue_.push_back({name, {}});
  }

  /// The front of the queue is asked for, if no call is open.
  void schedule() {
    if (open_ != 0 || queue_.empty() || world_.now().mono < pause_until_) { return; }
    const auto [name, not_before] = queue_.front();
    if (world_.now().mono < not_before) { return; }
    queue_.pop_front();
    const Value object = world_.get(path(name));
    if (object["spec"].isNull() || !object["spec"]["nodeName"].str().empty()) { return schedule(); }
    extender::Request q;
    q.verb = extender::Verb::Filter;
    q.pod = std::make_shared<const model::Pod>(kapi::decodePod(object));
    asked_for_ = name;
    asked_nodes_.clear();
    for (const auto& node : nodes_) {
      if (rng_.chance(80)) { asked_nodes_.push_back(node); }
    }
    open_ = ++request_ids_;
    world_.ask(extender_, open_, std::move(q), asked_nodes_);
  }

  void answered(extender::RequestId request_id, const extender::Answer& answer) {
    if (request_id != open_) { return; }
    open_ = 0;
    const std::string name = asked_for_;
    if (answer.kind != extender::Answer::Kind::Chosen) {
      queue_.push_back({name, world_.now().mono + 200ms});
      return;
    }
    const std::string node = asked_nodes_.at(answer.chosen);
    const Value object = world_.get(path(name));
    decided_[std::string{object["metadata"]["uid"].str()}] = {node, world_.now().mono};
    world_.after(Duration{1ms} * static_cast<std::int64_t>(rng_.below(300)), [this, name, node] {
      (void)world_.request("POST", path(name, "/binding"),
                           Object{{"apiVersion", "v1"},
                                  {"kind", "Binding"},
                                  {"metadata", Object{{"name", name}}},
                                  {"target", Object{{"kind", "Node"}, {"name", node}}}});
      checkRoom();
    });
  }

  /// A pod that runs ends, by itself or deleted, or one that failed is cleared away.
  void end() {
    if (!options_.ends_at_any_time) { world_.run(10ms); }  // what is asked is answered
    std::map<std::string, int> on_the_way;
    std::vector<const Value*> over;
    for (const Value* pod : pods()) {
      if (isOnTheWay(*pod)) { ++on_the_way[std::string{note(*pod, "predicate-node")}]; }
    }
    for (const auto& [node, count] : on_the_way) { most_on_the_way_ = std::max(most_on_the_way_, count); }
    for (const Value* pod : pods()) {
      const bool in_the_way = open_ != 0 || on_the_way[std::string{(*pod)["spec"]["nodeName"].str()}] > 0;
      const bool runs = phaseOf(*pod) == "Running" && (options_.ends_at_any_time || !in_the_way);
      if (runs || phaseOf(*pod) == "Succeeded" || phaseOf(*pod) == "Failed") { over.push_back(pod); }
    }
    if (over.empty()) { return; }
    const Value& pod = *over[rng_.below(over.size())];
    const std::string name{nameOf(pod)};
    if (phaseOf(pod) == "Running") {
      left_.insert({std::string{pod["spec"]["nodeName"].str()}, world_.now().mono});
      if (!options_.ends_at_any_time) { pause_until_ = world_.now().mono + 10ms; }
    }
    if (phaseOf(pod) == "Running" && rng_.chance(50)) {
      world_.kubelet().finish("default", name);
      world_.touch();
    } else {
      (void)world_.request("DELETE", path(name), Object{{"gracePeriodSeconds", 0}});
    }
  }
  /// One that is not bound goes; or, at any time, one that is on its way.
  void deleteWaiting() {
    std::vector<std::string> waiting;
    for (const Value* pod : pods()) {
      const bool bound = !(*pod)["spec"]["nodeName"].str().empty();
      if (phaseOf(*pod) == "Pending" && (!bound || options_.ends_at_any_time)) {
        waiting.emplace_back(nameOf(*pod));
        if (bound) { left_.insert({std::string{(*pod)["spec"]["nodeName"].str()}, world_.now().mono}); }
      }
    }
    if (waiting.empty()) { return; }
    (void)world_.request("DELETE", path(waiting[rng_.below(waiting.size())]),
                         Object{{"gracePeriodSeconds", 0}});
  }

  /// By the annotations of bound, unfinished pods alone. Which devices whole GPUs are is known once they are
  /// assigned; before that so many must be left over.
  void checkRoom() {
    std::map<std::string, Use> used;
    for (const Value* pod : pods()) {
      const std::string node{(*pod)["spec"]["nodeName"].str()};
      if (node.empty() || phaseOf(*pod) == "Succeeded" || phaseOf(*pod) == "Failed") { continue; }
      const auto& containers = (*pod)["spec"]["containers"].items();
      for (std::size_t i = 0; i < containers.size(); ++i) {
        const Value& limits = containers[i]["resources"]["limits"];
        const int cores = std::stoi(std::string{limits["tencent.com/vcuda-core"].str()});
        if (cores >= 100 && note(*pod, "gpu-assigned") != "true") {
          used[node].whole += cores / 100;
          continue;
        }
        std::istringstream ids{std::string{note(*pod, ("predicate-gpu-idx-" + std::to_string(i)).c_str())}};
        for (std::string id; std::getline(ids, id, ',');) {
          auto& [c, m] = used[node].of[std::stoi(id)];
          c += std::min(cores, 100);
          m += cores < 100 ? std::stoi(std::string{limits["tencent.com/vcuda-memory"].str()}) : kMemoryEach;
          if (c > 100 || m > kMemoryEach) { overfull_ = node + ":" + id; }
        }
      }
    }
    for (const auto& [node, use] : used) {
      const int devices = 1 + node.back() - '0';
      if (static_cast<int>(use.of.size()) + use.whole > devices) { overfull_ = node + " for whole GPUs"; }
    }
  }
  struct Use {
    std::map<int, std::pair<int, int>> of;  // cores and memory by device
    int whole = 0;                          // devices that somebody is to have
  };

  ManagedOptions options_;
  Rng rng_;
  sandbox::World world_;
  std::vector<std::string> nodes_;
  std::vector<std::unique_ptr<GpuManager>> managers_;
  sandbox::ReplicaId extender_ = 0;
  struct Queued {
    std::string name;
    Mono not_before{};
  };
  std::deque<Queued> queue_;
  extender::RequestId open_ = 0;  // 0: none
  extender::RequestId request_ids_ = 0;
  std::string asked_for_;
  std::vector<std::string> asked_nodes_;
  Mono pause_until_{};
  std::map<std::string, Decision> decided_;      // by uid
  std::set<std::pair<std::string, Mono>> left_;  // (node, when)
  int next_ = 0;
  int most_on_the_way_ = 0;
  std::string overfull_;
};

/// Four nodes of eight GPUs, and a Volcano with allocateFunc: a session gives a node to one pod of a gang
/// after the other, and binds them all, or takes all back.
class GangCluster {
 public:
  explicit GangCluster(std::uint64_t seed) : rng_{seed}, world_{{.seed = seed, .nodes = {}}} {
    for (int n = 0; n < 4; ++n) {
      nodes_.push_back("m" + std::to_string(n));
      managers_.push_back(std::make_unique<GpuManager>(
          world_.api(), GpuManager::Config{nodes_.back(), 8, kMemoryEach}, rng_.split()));
      world_.kubelet().setPlugin(nodes_.back(), *managers_.back());
      world_.create(gpuManagerNode(nodes_.back(), 8, kMemoryEach));
    }
    extender_ = world_.startExtender();
    world_.setListener([this](auto, extender::RequestId request_id, const extender::Answer& answer) {
      answers_[request_id] = answer;
    });
    EXPECT_TRUE(world_.runUntil([this] { return world_.leadingExtender().has_value(); }, 30s));
  }

  void create(const std::string& name, Vcuda limits) {
    Value pod = vcudaPod(name, {limits});
    pod.child("metadata").set("annotations", Object{{"scheduling.k8s.io/group-name", "gang"}});
    pod.child("spec").set("schedulerName", "volcano");
    world_.create(pod);
    world_.run(50ms);
  }
  /// How many of them were given a node; all: they are bound then, the last so long after the first.
  std::size_t session(const std::vector<std::string>& pods, Duration binding = {}) {
    std::map<std::string, std::string> given;
    for (const auto& pod : pods) {
      if (const std::string node = allocate(pod); !node.empty()) { given[pod] = node; }
    }
    for (const auto& [pod, node] : given) {
      if (given.size() < pods.size()) {
        (void)ask(extender::Verb::Deallocate, pod, "");
        continue;
      }
      const auto most = static_cast<std::uint64_t>(binding / 1ms) + 1;
      world_.after(Duration{1ms} * static_cast<std::int64_t>(rng_.below(most)),
                   [this, pod = pod, node = node] { bind(pod, node); });
    }
    world_.run(5s);
    return given.size();
  }
  [[nodiscard]] std::size_t running(const std::vector<std::string>& pods) {
    return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const std::string& pod) {
      return world_.get(path(pod))["status"]["phase"].str() == "Running";
    }));
  }
  [[nodiscard]] std::size_t refused() const {
    std::size_t sum = 0;
    for (const auto& m : managers_) { sum += m->refused().size(); }
    return sum;
  }
  /// Pods that gpu-manager refused are made anew by their owner.
  std::vector<std::string> makeAnew(const std::vector<std::string>& pods, Vcuda limits) {
    std::vector<std::string> anew;
    for (const auto& pod : pods) {
      if (world_.get(path(pod))["status"]["phase"].str() != "Failed") { continue; }
      (void)world_.request("DELETE", path(pod), Object{{"gracePeriodSeconds", 0}});
      create(pod + "x", limits);
      anew.push_back(pod + "x");
    }
    return anew;
  }
  [[nodiscard]] sandbox::World& world() { return world_; }

 private:
  static std::string path(const std::string& name, const char* sub = "") {
    return "/api/v1/namespaces/default/pods/" + name + sub;
  }
  extender::Answer ask(extender::Verb verb, const std::string& pod, const std::string& node) {
    extender::Request q;
    q.verb = verb;
    q.pod = std::make_shared<const model::Pod>(kapi::decodePod(world_.get(path(pod))));
    const extender::RequestId request_id = ++request_ids_;
    world_.ask(extender_, request_id, std::move(q),
               node.empty() ? std::vector<std::string>{} : std::vector<std::string>{node});
    EXPECT_TRUE(world_.runUntil([&] { return answers_.contains(request_id); }, 10s)) << pod;
    return answers_[request_id];
  }
  std::string allocate(const std::string& pod) {
    for (const auto& node : nodes_) {
      if (ask(extender::Verb::Look, pod, node).kind != extender::Answer::Kind::Chosen) { continue; }
      const auto answer = ask(extender::Verb::Allocate, pod, node);
      return answer.kind == extender::Answer::Kind::Chosen ? node : "";
    }
    return "";
  }
  void bind(const std::string& pod, const std::string& node) {
    (void)world_.request("POST", path(pod, "/binding"),
                         Object{{"apiVersion", "v1"},
                                {"kind", "Binding"},
                                {"metadata", Object{{"name", pod}}},
                                {"target", Object{{"kind", "Node"}, {"name", node}}}});
  }

  Rng rng_;
  sandbox::World world_;
  std::vector<std::string> nodes_;
  std::vector<std::unique_ptr<GpuManager>> managers_;
  sandbox::ReplicaId extender_ = 0;
  std::map<extender::RequestId, extender::Answer> answers_;
  extender::RequestId request_ids_ = 0;
};

std::vector<std::string> gangOf(GangCluster& cluster, int members, Vcuda limits) {
  std::vector<std::string> pods;
  for (int i = 0; i < members; ++i) {
    pods.push_back("g" + std::to_string(i));
    cluster.create(pods.back(), limits);
  }
  return pods;
}

/// All are bound before the first one is taken: gpu-manager serves equal pods by their predicate-time, as
/// they were chosen.
TEST(GpuManagerWorld, AGangOfSharesThatFillsTheClusterRuns) {
  for (const int members : {8, 32}) {
    GangCluster cluster{static_cast<std::uint64_t>(members)};
    const auto pods = gangOf(cluster, members, {90, 8});
    EXPECT_EQ(cluster.session(pods), pods.size());
    EXPECT_EQ(cluster.running(pods), pods.size());
    EXPECT_EQ(cluster.refused(), 0U);
    EXPECT_GT(cluster.world().counted("gpu_admission_share_choice_uncertain_total"), 0);
  }
}

TEST(GpuManagerWorld, AGangOfWholeGpusRuns) {
  GangCluster cluster{1};
  const auto pods = gangOf(cluster, 8, {400, 0});
  EXPECT_EQ(cluster.session(pods), pods.size());
  EXPECT_EQ(cluster.running(pods), pods.size());
  EXPECT_EQ(cluster.refused(), 0U);
  EXPECT_EQ(cluster.world().counted("gpu_admission_share_choice_uncertain_total"), 0);
}

TEST(GpuManagerWorld, AGangThatDoesNotFitLeavesNothingBehind) {
  GangCluster cluster{2};
  const auto pods = gangOf(cluster, 33, {90, 8});
  EXPECT_EQ(cluster.session(pods), 32U);
  cluster.create("whole", {400, 0});
  EXPECT_EQ(cluster.session({"whole"}), 1U);
}

/// What is not promised of a gang: that no member is taken before the others are bound. Who is refused for it
/// is made anew, and then the others have been taken.
TEST(GpuManagerWorld, MembersThatAreTakenBeforeOthersAreBoundMayBeRefusedAndEndUpRunning) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    GangCluster cluster{seed};
    auto pods = gangOf(cluster, 32, {90, 8});
    std::size_t runs = 0;
    for (int round = 0; round < 12 && !pods.empty(); ++round) {
      (void)cluster.session(pods, 3s);
      runs += cluster.running(pods);
      pods = cluster.makeAnew(pods, {90, 8});
    }
    EXPECT_EQ(runs, 32U) << "seed " << seed;
    refused += cluster.refused();
  }
  EXPECT_GT(refused, 0U);
}

TEST(GpuManagerWorld, ItsPicksAreTheAnnotationsWhateverOrderPodsAreTakenIn) {
  int arrivals = 0;
  int given = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ManagedCluster cluster{seed, {}};
    cluster.run(6'000);
    for (const auto& r : cluster.refused()) { ADD_FAILURE() << "seed " << seed << ": " << r.text; }
    ASSERT_EQ(cluster.overfull(), "") << "seed " << seed;
    EXPECT_GE(cluster.mostOnTheWay(), 3) << "seed " << seed;
    arrivals += cluster.arrivals();
    given += cluster.sharesGiven();
  }
  EXPECT_GT(arrivals, 10'000);
  EXPECT_GT(given, 5'000);
}

/// What nobody can know when the choice is made: who will have left, and, between devices that are equally
/// full, how many processes there are.
TEST(GpuManagerWorld, OnlyWhatCouldNotBeKnownMakesItsPicksDiffer) {
  int differ = 0;
  int ties = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ManagedCluster cluster{seed, {.ends_at_any_time = true, .most_processes = 2}};
    cluster.run(3'000);
    ASSERT_EQ(cluster.overfull(), "") << "seed " << seed;
    for (const auto& r : cluster.refused()) {
      ++differ;
      ties += r.tie ? 1 : 0;
      EXPECT_TRUE(r.tie || cluster.somebodyLeft(r)) << "seed " << seed << ": " << r.text;
    }
  }
  EXPECT_GT(ties, 0);
  EXPECT_GT(differ, ties);
}

/// So the first of these tests can fail.
TEST(GpuManagerWorld, ChoicesThatAreNotCertainAreOftenNotItsPicks) {
  std::size_t differ = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    ManagedCluster cluster{seed, {.strict = true}};
    cluster.run(3'000);
    for (const auto& r : cluster.refused()) { differ += r.trouble == Trouble::OtherDevice ? 1 : 0; }
  }
  EXPECT_GT(differ, 20U);
}

}  // namespace
}  // namespace gs::test
