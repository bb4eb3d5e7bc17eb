// The operator and the agents of some nodes on one API server, all at once, with faults: writes that fail or
// whose answers are lost, watches that end, news that are late, agents and operators that start anew, nodes
// that leave. Users make, change and delete caches; pods come and go. At any time:
//   - a cache that a pod has mounted keeps its object, and its node says that it has it, unless somebody lost
// it
//     by force (a node that left)
// and when the faults are over:
//   - what the nodes say is what they have, and what the operator says is the sum
//   - everything that is deleted goes, and leaves nothing
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/kinds.h"
#include "operator/node/node_agent_hand_test.h"
#include "operator/operator.h"

namespace gs::gkm {
namespace {

using std::chrono::seconds;

/// One machine, with its streams and answers.
template <class Machine>
struct Client {
  int number = 0;
  std::optional<Machine> machine{};
  std::deque<kapi::MachineEvent> events{};
  std::set<Mono> wakes{};
};

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : rng_{seed} {
    for (int i = 0; i < kNodes; ++i) {
      nodes_.emplace_back();
      nodes_.back().name = fmt::format("node-{}", i);
      nodes_.back().agent.number = i + 1;
      server_.put(kNodePresence, json::Object{{"metadata", json::Object{{"name", nodes_.back().name}}}});
      startAgent(nodes_.back());
    }
    startOperator();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      turn();
      if (rng_.chance(30)) { pass(seconds{1 + static_cast<int>(rng_.below(20))}); }
      check();
    }
  }
  /// No more faults: everything comes to rest.
  void calm() {
    is_faulty_ = false;
    server_.held.clear();
    for (Node& node : nodes_) { node.store.is_held = false; }
    for (int i = 0; i < 200; ++i) { pass(seconds{5}); }
  }
  void checkTold() {
    for (const auto& [key, object] : server_.objects) {
      const bool is_cache = key.first == "gkmcaches" || key.first == "clustergkmcaches";
      if (!is_cache) { continue; }
      const auto cache = kcache::decodeCache(object);
      if (cache.is_deleting) { continue; }  // nothing is said of those any more
      std::int64_t nodes = 0;
      std::int64_t pods = 0;
      for (Node& node : nodes_) {
        if (!node.is_there) { continue; }
        const auto has = node.store.turn();
        const auto mine = has->caches.find(cache.key);
        if (mine == has->caches.end()) { continue; }
        ++nodes;
        for (const auto& [digest, image] : mine->second) {
          pods += static_cast<std::int64_t>(image.pods.size());
        }
      }
      ASSERT_TRUE(cache.status.has_value()) << cache.key.text();
      EXPECT_EQ(cache.status->counts.nodes, nodes) << cache.key.text();
      EXPECT_EQ(cache.status->counts.pods_running + cache.status->counts.pods_outdated, pods)
          << cache.key.text();
    }
  }
  void deleteAll() {
    for (Node& node : nodes_) { node.store.pods.clear(); }
    std::vector<model::ObjectKey> all;
    for (const auto& [key, object] : server_.objects) {
      if (key.first == "gkmcaches" || key.first == "clustergkmcaches") { all.push_back(key.second); }
    }
    for (const auto& key : all) { server_.deleteSoftly(kcache::cacheKindOf(key), key); }
    calm();
    for (const auto& [key, object] : server_.objects) {
      EXPECT_TRUE(key.first == "nodes" || key.first == "events" || key.first == "csidrivers")
          << key.first << " " << key.second.text() << " " << json::print(object);
    }
  }

 private:
  static constexpr int kNodes = 3;
  struct Node {
    std::string name;
    bool is_there = true;
    Client<NodeAgent> agent{};
    StoreOnPaper store{};
    std::optional<kcache::NodeHasPtr> last{};
  };

  void startAgent(Node& node) {
    server_.closeAll(node.agent.number);
    node.agent.events.clear();
    node.agent.wakes.clear();
    node.last.reset();
    node.agent.machine.emplace(NodeAgent::Config{.node = model::NodeName{node.name}}, rng_.split());
    carry(node.agent, node.agent.machine->start(now()));
    carry(node.agent, node.agent.machine->gpus({}, now()));
  }
  void startOperator() {
    server_.closeAll(0);
    operator_.events.clear();
    operator_.wakes.clear();
    operator_.machine.emplace(Operator::Config{}, rng_.split());
    carry(operator_, operator_.machine->start(now()));
    operator_.events.emplace_back(kapi::Leadership{true, ++term_, now().mono + std::chrono::hours{1}});
  }

  // ---- what users, pods and faults do

  model::ObjectKey someKey() {
    const char* const all[] = {"a", "b", ""};
    return {all[rng_.below(3)], fmt::format("cache-{}", rng_.below(2))};
  }
  [[nodiscard]] json::Value* cacheObject(const model::ObjectKey& key) {
    const auto it = server_.objects.find({std::string{kcache::cacheKindOf(key)->plural}, key});
    return it == server_.objects.end() ? nullptr : &it->second;
  }
  void act() {
    const model::ObjectKey key = someKey();
    const std::string digest = rng_.chance(50) ? kDigestA : kDigestB;
    json::Value* cache = cacheObject(key);
    Node& node = nodes_[rng_.below(kNodes)];
    switch (rng_.below(9)) {
      case 0:
      case 1:
        if (cache == nullptr) { make(key, digest); }
        break;
      case 2:
        if (cache != nullptr && (*cache)["metadata"]["deletionTimestamp"].isNull()) {
          cache->child("metadata").child("annotations").set(kcache::kDigestKey, digest);
          server_.touch({std::string{kcache::cacheKindOf(key)->plural}, key});
        }
        break;
      case 3:
        if (cache != nullptr) { server_.deleteSoftly(kcache::cacheKindOf(key), key); }
        break;
      case 4:
      case 5: mount(node, key); break;
      case 6:
        if (auto& pods = node.store.pods[key]; !pods.empty()) { pods.erase(pods.begin()); }
        break;
      case 7: fault(node); break;
      default: node.store.is_held = is_faulty_ && rng_.chance(30); break;
    }
  }
  void make(const model::ObjectKey& key, const std::string& digest) {
    json::Value meta =
        json::Object{{"name", key.name}, {"annotations", json::Object{{kcache::kDigestKey, digest}}}};
    if (!key.ns.empty()) { meta.set("namespace", key.ns); }
    server_.put(kcache::cacheKindOf(key),
                json::Object{{"metadata", meta}, {"spec", json::Object{{"image", "quay.io/gkm/a:b"}}}});
  }
  /// As the CSI driver does: what new pods get is there, of a cache that is not over.
  void mount(Node& node, const model::ObjectKey& key) {
    const auto* wanted = node.store.wanted();
    if (!node.is_there || wanted == nullptr || !wanted->images.contains(key)) { return; }
    const std::string digest = wanted->images.at(key).image.digest->text();
    const auto has = node.store.turn();
    const auto cache = has->caches.find(key);
    if (cache == has->caches.end() || !cache->second.contains(digest)) { return; }
    if (cache->second.at(digest).what != kcache::HasImage::What::Here) { return; }
    node.store.pods[key][digest].push_back(
        {key.ns, fmt::format("pod-{}", ++pod_), fmt::format("v-{}", pod_)});
  }
  void fault(Node& node) {
    if (!is_faulty_) { return; }
    switch (rng_.below(6)) {
      case 0: return startOperator();
      case 1: return startAgent(node);
      case 2: server_.held = {rng_.chance(50) ? "gkmcachenodes" : "gkmcaches"}; return;
      case 3: server_.held.clear(); return;
      case 4: endWatches(); return;
      default:
        if (node.is_there && rng_.chance(10)) {  // for good
          node.is_there = false;
          server_.closeAll(node.agent.number);
          server_.remove(kNodePresence, {"", node.name});
        }
    }
  }
  void endWatches() {
    for (Node& node : nodes_) {
      for (const auto kind : {kcache::kCache, kcache::kCacheNode}) {
        for (const auto token : server_.streamsOf(kind, node.agent.number)) {
          server_.close(token, node.agent.number);
          node.agent.events.emplace_back(kapi::WatchEnded{token, rng_.chance(50) ? 200 : 410, ""});
        }
      }
    }
  }

  // ---- the world

  [[nodiscard]] Now now() const { return clock_.now(); }
  void pass(Duration time) {
    const Mono end = now().mono + time;
    turn();
    while (true) {
      Mono next = end;
      const auto sooner = [&](const std::set<Mono>& wakes) {
        if (!wakes.empty()) { next = std::min(next, *wakes.begin()); }
      };
      sooner(operator_.wakes);
      for (const Node& node : nodes_) { sooner(node.agent.wakes); }
      if (next >= end) { break; }
      if (next > now().mono) { clock_.advance(next - now().mono); }
      tick(operator_);
      for (Node& node : nodes_) { tick(node.agent); }
      turn();
    }
    if (end > now().mono) { clock_.advance(end - now().mono); }
  }
  template <class Machine>
  void tick(Client<Machine>& client) {
    if (client.wakes.empty() || *client.wakes.begin() > now().mono) { return; }
    client.wakes.erase(client.wakes.begin(), client.wakes.upper_bound(now().mono));
    client.events.emplace_back(kapi::TimerDue{});
  }
  /// Until nothing more is to be heard.
  void turn() {
    for (bool is_busy = true; is_busy;) {
      is_busy = step(operator_);
      for (Node& node : nodes_) {
        if (!node.is_there) { continue; }
        is_busy = step(node.agent) || is_busy;
        if (auto wanted = node.agent.machine->takeWanted()) { node.store.want(std::move(wanted)); }
        auto has = node.store.turn();
        if (node.last && **node.last == *has) { continue; }
        node.last = has;
        carry(node.agent, node.agent.machine->has(has, now()));
        is_busy = true;
      }
    }
  }
  template <class Machine>
  bool step(Client<Machine>& client) {
    for (auto& event : server_.takeNews(client.number)) { client.events.emplace_back(std::move(event)); }
    if (client.events.empty()) { return false; }
    const kapi::MachineEvent event = std::move(client.events.front());
    client.events.pop_front();
    carry(client, client.machine->handle(event, now()));
    return true;
  }
  template <class Machine>
  void carry(Client<Machine>& client, kapi::Effects effects) {
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) {
        client.events.emplace_back(send(*call));
      } else if (const auto* open = std::get_if<kapi::OpenWatch>(&effect)) {
        server_.open(*open, client.number);
      } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
        server_.close(close->stream, client.number);
      } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
        client.wakes.insert(wake->at);
      }
    }
  }
  kapi::Outcome send(const kapi::Call& call) {
    const bool is_write = !kapi::isRead(call.verb);
    const auto fails = [&](int http, kapi::CallResult result) {
      kapi::Outcome out;
      out.token = call.token;
      out.http = http;
      out.result = result;
      return out;
    };
    if (is_faulty_ && is_write && rng_.chance(15)) {
      if (rng_.chance(50)) { (void)server_.carryOut(call); }  // it was done, and nobody heard of it
      return fails(0, kapi::CallResult::Unknown);
    }
    if (is_faulty_ && rng_.chance(5)) { return fails(500, kapi::CallResult::Unknown); }
    kapi::Outcome out = server_.carryOut(call);
    out.token = call.token;
    return out;
  }

  void check() {
    for (Node& node : nodes_) {
      if (!node.is_there) { continue; }
      for (const auto& [key, images] : node.store.pods) {
        for (const auto& [digest, pods] : images) {
          if (pods.empty()) { continue; }
          EXPECT_NE(cacheObject(key), nullptr)
              << key.text() << " went while " << node.name << " had it mounted";
        }
      }
    }
  }

  Rng rng_;
  Server server_;
  ManualClock clock_;
  std::deque<Node> nodes_;
  Client<Operator> operator_;
  std::uint64_t term_ = 0;
  int pod_ = 0;
  bool is_faulty_ = true;
};

TEST(GkmCluster, WhatIsMountedStaysAndEverythingCanGo) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Cluster cluster{seed};
    cluster.run(150);
    cluster.calm();
    cluster.checkTold();
    cluster.deleteAll();
    if (testing::Test::HasFailure()) { return; }
  }
}

}  // namespace
}  // namespace gs::gkm
