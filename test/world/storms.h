// A World whose calls are counted, and answered as a test says.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kapi/kinds.h"
#include "test/world/cluster.h"
#include "test/world/one_node.h"

namespace gs::test {

[[nodiscard]] inline bool isGpuLease(const kapi::Call& call) {
  return call.kind == kapi::kLease &&
         call.body["metadata"]["labels"]["gpu.scheduling/managed"].str() == "true";
}
[[nodiscard]] inline bool isBinding(const kapi::Call& call) { return call.subresource == "binding"; }
[[nodiscard]] inline bool isPodWrite(const kapi::Call& call) {
  return call.kind == kapi::kPod && call.verb != kapi::Verb::Get;
}

/// A scheduler whose calls are counted, and answered as the test says.
class Storms : public Cluster {
 protected:
  explicit Storms(sandbox::World::Options options = {}, bool start = true) : Cluster{std::move(options)} {
    world.setJudge([this](sandbox::ReplicaId, const kapi::Call& call) {
      const std::string name{call.body["metadata"]["name"].str()};  // of what is created
      ++calls_[{call.kind, call.key.name.empty() ? model::ObjectKey{call.key.ns, name} : call.key}];
      const auto http = answer_ ? answer_(call) : std::nullopt;
      if (!http) { return sandbox::CallFault{}; }
      return sandbox::CallFault{.how = sandbox::CallFault::How::Refused, .http = *http};
    });
    if (start) { startOne(); }
  }
  /// nullopt: carried out.
  void answerWith(std::function<std::optional<int>(const kapi::Call&)> answer) {
    answer_ = std::move(answer);
  }
  void answerAsUsual() { answer_ = nullptr; }

  /// The most calls about one object of that kind in so long.
  int mostCalls(kapi::Kind kind, Duration in, const std::string& name_begins = "") {
    calls_.clear();
    world.run(in);
    int most = 0;
    for (const auto& [object, n] : calls_) {
      if (object.first == kind && object.second.name.starts_with(name_begins)) { most = std::max(most, n); }
    }
    return most;
  }
  void runningPods(int n) {
    world.create(claim("one", 1));
    for (int i = 0; i < n; ++i) { world.create(pod("p" + std::to_string(i), "one")); }
    ASSERT_TRUE(eventually([&] {
      for (int i = 0; i < n; ++i) {
        if (podObject("p" + std::to_string(i))["status"]["phase"].str() != "Running") { return false; }
      }
      return true;
    }));
  }
  void patchLease(const std::string& name, json::Object meta) {
    ASSERT_EQ(world
                  .request("PATCH", kLeases + name, json::Object{{"metadata", std::move(meta)}},
                           "application/merge-patch+json")
                  .code,
              200);
  }
  [[nodiscard]] std::string holder(const std::string& lease) {
    return std::string{world.get(kLeases + lease)["spec"]["holderIdentity"].str()};
  }
  [[nodiscard]] std::string uidOf(const std::string& name) {
    return std::string{podObject(name)["metadata"]["uid"].str()};
  }
  [[nodiscard]] std::size_t placed(const std::string& ns) {
    std::size_t n = 0;
    for (const auto& p : world.get("/api/v1/namespaces/" + ns + "/pods")["items"].items()) {
      n += p["spec"]["nodeName"].isNull() ? 0U : 1U;
    }
    return n;
  }
  [[nodiscard]] std::size_t warnings(const std::string& reason) {
    std::size_t n = 0;
    for (const auto& e : world.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"].items()) {
      n += e["reason"].str() == reason ? 1U : 0U;
    }
    return n;
  }

 private:
  std::map<std::pair<kapi::Kind, model::ObjectKey>, int> calls_;
  std::function<std::optional<int>(const kapi::Call&)> answer_;
};

/// Of nodes n-00 to n-11 all but one refuse every pod.
template <class Base>
class AllButOneRefuse : public Base, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kNodes = 12;
  AllButOneRefuse() : Base{nodes()} {}
  void refuse(const std::string& but) {
    this->answerWith([but, http = this->GetParam()](const kapi::Call& call) -> std::optional<int> {
      const auto node = call.body["target"]["name"].str();
      return isBinding(call) && node != but ? std::optional{http} : std::nullopt;
    });
  }

 private:
  static sandbox::World::Options nodes() {
    sandbox::World::Options out;
    out.nodes.clear();
    for (int i = 0; i < kNodes; ++i) {
      kapi::SimNode& node = out.nodes.emplace_back();
      node.name = model::NodeName{fmt::format("n-{:02}", i)};
      node.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
      node.devices = gpusOf({fmt::format("GPU-{}", i)});
    }
    return out;
  }
};

}  // namespace gs::test
