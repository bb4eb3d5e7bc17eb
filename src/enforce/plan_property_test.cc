// Drawn nodes, containers and picks of a device plugin: whatever is allowed to start sees, by the slow
// model of a runtime, nothing that another pod's lease holds; a holder's containers see exactly its
// devices.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "enforce/enforcer.h"
#include "enforce/fixture_test.h"

namespace gs::enforce {
namespace {

using fixture::gpu;
using fixture::Ids;

constexpr int kPlays = 1000;
constexpr int kStepsOfAPlay = 12;

std::string said(const Ids& ids) {
  return ids.empty() ? "" : std::string{fixture::kNode} + ":" + listed(ids);
}

/// One node from its start, with pods that come and containers that come and go.
class Play {
 public:
  explicit Play(std::uint64_t seed)
      : rng_{seed},
        node_{static_cast<int>(2 + rng_.below(4)), rng_.chance(50)},
        is_nvidia_{rng_.chance(50)},
        enforcer_{facts()} {
    const bool has_vendor_file = !is_nvidia_ || rng_.chance(70);
    node_.index = fixture::indexOf(node_.record.devices, {has_vendor_file, rng_.chance(70), rng_.chance(80)});
    enforcer_.setIndex(std::make_shared<const cdi::Index>(node_.index));
    tell();
  }

  void run() {
    for (int step = 0; step < kStepsOfAPlay && !::testing::Test::HasFailure(); ++step) {
      if (rng_.chance(40)) { placePod(); }
      if (rng_.chance(25)) { endPod(); }
      if (rng_.chance(20) && !made_.empty()) { endContainer(); }
      tell();
      createContainer();
    }
  }

  int started = 0;
  int refused = 0;
  int moved = 0;

 private:
  struct Container {
    std::string id;
    std::string pod;
  };

  RuntimeFacts facts() {
    node_.facts.injects_cdi = rng_.chance(75);
    node_.facts.is_nvidia_runtime = is_nvidia_ && rng_.chance(70);
    return node_.facts;
  }
  void tell() { enforcer_.setRecord(std::make_shared<const NodeRecord>(node_.record)); }

  bool isGiven(const NodeDevice& device) const {
    return !device.id.isWhole() ||
           std::none_of(node_.record.devices.begin(), node_.record.devices.end(), [&](const NodeDevice& one) {
             return one.id.gpu == device.id.gpu && !one.id.isWhole();
           });
  }
  Ids drawIds(bool only_unheld) {
    Ids out;
    for (const NodeDevice& device : node_.record.devices) {
      const bool held = heldByOther(node_.record, device.id, model::Uid{}).has_value();
      if (isGiven(device) && !(only_unheld && held) && rng_.chance(35)) { out.push_back(device.id); }
    }
    return out;
  }

  void placePod() {
    Ids ids = drawIds(true);
    if (ids.empty()) { return; }
    const std::string pod = fmt::format("holder-{}", next_++);
    node_.holds(pod, std::move(ids), false);
    if (rng_.chance(10)) { node_.record.holdings[model::Uid{pod}].hold = Hold::Unverified; }
    holders_.push_back(pod);
  }
  void endPod() {
    if (holders_.empty()) { return; }
    const std::string pod = holders_.back();
    holders_.pop_back();
    node_.record.holdings.erase(model::Uid{pod});
    std::erase_if(node_.record.held, [&](const auto& one) { return one.second.text == pod; });
    for (auto it = made_.begin(); it != made_.end();) {
      if (it->pod == pod) { enforcer_.removeContainer(it->id); }
      it = it->pod == pod ? made_.erase(it) : it + 1;
    }
  }
  void endContainer() {
    const auto at = made_.begin() + static_cast<std::ptrdiff_t>(rng_.below(made_.size()));
    enforcer_.removeContainer(at->id);
    made_.erase(at);
  }

  /// What image and pod say, and what the plugin adds.
  rpc::nri::Container drawContainer() {
    auto out = fixture::containerOf(fmt::format("c{}", next_++));
    const std::vector<std::string> words{"all", "void",  "none",        "",       "0",
                                         "1",   "GPU-0", "GPU-1,GPU-0", "MIG-2-0"};
    const auto say = [&](const char* key) {
      out.env.push_back(std::string{key} + "=" + words.at(rng_.below(words.size())));
    };
    if (rng_.chance(40)) { out.env.emplace_back("NVIDIA_VISIBLE_DEVICES=all"); }
    if (rng_.chance(20)) { out.env.emplace_back("CUDA_VERSION=12.4"); }
    for (const char* key : {"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
      if (rng_.chance(20)) { say(key); }
    }
    if (rng_.chance(60)) {
      std::vector<NodeDevice> picked;
      for (const model::DeviceId id : drawIds(false)) { picked.push_back(node_.device(id)); }
      if (!picked.empty()) { fixture::pluginGives(fixture::kPlugins[rng_.below(5)], picked, out); }
    }
    return out;
  }

  void createContainer() {
    const bool of_holder = !holders_.empty() && rng_.chance(50);
    const std::string pod =
        of_holder ? holders_.at(rng_.below(holders_.size())) : fmt::format("other-{}", rng_.below(4));
    const Ids own = of_holder ? node_.record.holdings.at(model::Uid{pod}).devices : Ids{};
    const Ids claimed = rng_.chance(95) ? own : drawIds(false);  // a forged annotation
    const auto container = drawContainer();
    const auto planned = enforcer_.createContainer(fixture::podOf(pod, said(claimed)), container);
    if (!planned) {
      ++refused;
      EXPECT_FALSE(planned.error().text.empty());
      return;
    }
    ++started;
    moved += static_cast<int>(planned->moves.size());
    made_.push_back({container.id, pod});
    EXPECT_EQ(claimed, own) << "a forged annotation";
    check(container, *planned, pod, own);
  }

  void check(const rpc::nri::Container& container, const Plan& plan, const std::string& pod, const Ids& own) {
    const auto made =
        fixture::madeOf(container, plan.adjustment, node_.index, {node_.facts.injects_cdi, is_nvidia_});
    const auto sees = fixture::visible(made, node_.record.devices);
    if (!own.empty()) {
      EXPECT_EQ(sees, std::set<model::DeviceId>(own.begin(), own.end())) << container.id << " of " << pod;
      checkVariables(made, own);
      return;
    }
    for (const model::DeviceId id : sees) {
      const auto holder = heldByOther(node_.record, id, model::Uid{});
      EXPECT_FALSE(holder) << container.id << " of " << pod << " sees " << print(id);
    }
    for (const Move& move : plan.moves) {
      EXPECT_TRUE(sees.contains(move.to)) << print(move.to);
      EXPECT_FALSE(sees.contains(move.from)) << print(move.from);
    }
  }

  void checkVariables(const fixture::Made& made, const Ids& own) {
    std::string uuids;
    for (const model::DeviceId id : own) { uuids += (uuids.empty() ? "" : ",") + node_.device(id).uuid; }
    const std::string& cuda = made.env.at("CUDA_VISIBLE_DEVICES");
    EXPECT_TRUE(cuda == uuids || cuda == numbersFrom0(own.size())) << cuda;
    const std::string& nvidia = made.env.at("NVIDIA_VISIBLE_DEVICES");
    EXPECT_TRUE(nvidia == uuids || nvidia == "void" || nvidia == "none") << nvidia;
  }

  Rng rng_;
  fixture::Node node_;
  bool is_nvidia_;
  Enforcer enforcer_;
  std::vector<std::string> holders_;
  std::vector<Container> made_;
  int next_ = 0;
};

TEST(PlanProperty, NobodySeesWhatAnotherPodsLeaseHolds) {
  int started = 0;
  int refused = 0;
  int moved = 0;
  for (int seed = 0; seed < kPlays; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Play play{static_cast<std::uint64_t>(seed)};
    play.run();
    ASSERT_FALSE(HasFailure());
    started += play.started;
    refused += play.refused;
    moved += play.moved;
  }
  // The draw reaches what it is about.
  EXPECT_GT(started, kPlays);
  EXPECT_GT(refused, kPlays / 10);
  EXPECT_GT(moved, kPlays / 20);
}

}  // namespace
}  // namespace gs::enforce
