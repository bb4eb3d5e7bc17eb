// Everything at random from one seed: schedulers ask, bind and give up, writes are lost, doubled and late,
// watches are late, processes crash, pods say of themselves what is not so. Checked: a pod is bound where its
// annotations say, and no device is given more than it has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/random.h"
#include "extender/extender.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

constexpr int kMemoryEach = 40;

class ExtenderPlay {
 public:
  explicit ExtenderPlay(std::uint64_t seed) : rng_{seed} {
    for (std::uint64_t i = 0; i < 1 + rng_.below(4); ++i) {
      nodes_.push_back("n" + std::to_string(i));
      devices_[nodes_.back()] = static_cast<int>(1 + rng_.below(3));
    }
    restart();
  }

  /// "" or what is wrong.
  std::string step() {
    now_.mono += std::chrono::milliseconds{rng_.below(800)};
    const auto what = rng_.below(100);
    if (what < 12) {
      come();
    } else if (what < 40) {
      askFor(anyPod());
    } else if (what < 65) {
      carryOutOne();
    } else if (what < 70) {
      landLate();
    } else if (what < 82) {
      watch(1 + rng_.below(6));
    } else if (what < 92) {
      bindOne();
    } else if (what < 95) {
      end(anyPod());
    } else if (what < 98) {
      giveUp(anyPod());
    } else if (what < 99) {
      now_.mono += 20min;
    } else {
      restart();
    }
    settle();
    return problem_;
  }
  int bound = 0;

 private:
  struct Chosen {
    std::string node;
    Mono at{};
  };

  void restart() {
    for (auto& call : calls_) { late_.push_back(call); }
    calls_.clear();
    asked_.clear();  // what somebody was told already stands
    events_.clear();
    extender_.reset();
    engine_ = std::make_unique<engine::Engine>();
    extender_ = std::make_unique<Extender>(*engine_, Config{}, Rng{rng_.next()});
    for (const auto& name : nodes_) {
      engine_->apply({kapi::kNode,
                      {"", name},
                      {},
                      std::make_shared<const model::Node>(gpuNode(name, devices_[name], kMemoryEach)),
                      1},
                     now_.mono);
    }
    for (const auto& [name, pod] : server_.pods) { bring(pod); }
    extender_->lead(now_);
  }
  void bring(const model::Pod& pod) {
    engine_->apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), pod.revision},
                   now_.mono);
  }
  /// The watch will bring what it is now.
  void changed(const std::string& name) { events_.push_back(server_.pods.at(name)); }

  void come() {
    if (server_.pods.size() > 12) { return; }
    std::vector<model::VcudaLimits> limits;
    for (std::uint64_t i = 0; i < 1 + rng_.below(2); ++i) {
      limits.push_back(rng_.chance(25)
                           ? model::VcudaLimits{static_cast<std::int64_t>(100 * (1 + rng_.below(2))), 0}
                           : model::VcudaLimits{static_cast<std::int64_t>(10 * (1 + rng_.below(9))),
                                                static_cast<std::int64_t>(1 + rng_.below(30))});
    }
    const std::string name = "p" + std::to_string(next_pod_++);
    model::Pod pod = vcudaPod(name, limits);
    if (rng_.chance(20)) { pod.gang = rng_.chance(50) ? "gang" : "podgroup-of-owner"; }
    if (rng_.chance(15)) { forge(pod); }
    server_.add(pod);
    changed(name);
  }
  /// It says of itself that it has devices, whoever has them.
  void forge(model::Pod& pod) {
    pod.annotations["tencent.com/predicate-node"] = nodes_[rng_.below(nodes_.size())];
    pod.annotations["tencent.com/predicate-time"] = std::to_string(1 + rng_.below(1'000'000'000));
    for (std::size_t i = 0; i < pod.share_limits.size(); ++i) {
      const auto id = rng_.below(3);
      pod.annotations[fmt::format("tencent.com/predicate-gpu-idx-{}", i)] =
          model::vcudaOf(pod.share_limits[i]).wholeGpus() > 1 ? fmt::format("{},{}", id, id + 1)
                                                              : std::to_string(id);
    }
  }
  std::string anyPod() {
    if (server_.pods.empty()) { return ""; }
    auto it = server_.pods.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(server_.pods.size())));
    return it->first;
  }
  static bool isVolcanos(const std::string& name) { return name.ends_with('3') || name.ends_with('7'); }
  void askFor(const std::string& name) {
    if (name.empty() || server_.pods.at(name).bound()) { return; }
    Request q;
    q.verb = isVolcanos(name) ? Verb::Predicate : Verb::Filter;
    q.pod = std::make_shared<const model::Pod>(server_.pods.at(name));
    q.candidates.table = extender_->table();
    std::vector<std::string> names;
    for (const auto& node : nodes_) {
      if (rng_.chance(60)) { names.push_back(node); }
    }
    if (q.verb == Verb::Predicate) { names = {nodes_[rng_.below(nodes_.size())]}; }
    for (const auto& node : names) { q.candidates.nodes.push_back(q.candidates.table->find(node)); }
    if (q.verb == Verb::Filter) { chosen_.erase(name); }
    asked_[++request_ids_] = {name, names};
    latest_[name] = request_ids_;
    FrontDesk{extender_->config().answer_within}.ask(*extender_, request_ids_, std::move(q), now_);
  }

  void carryOutOne() {
    if (calls_.empty()) { return; }
    const auto at = calls_.begin() + static_cast<std::ptrdiff_t>(rng_.below(calls_.size()));
    const kapi::Call call = *at;
    calls_.erase(at);
    const auto luck = rng_.below(100);
    kapi::Outcome unknown;
    unknown.token = call.token;
    if (luck < 75) {
      extender_->handle(write(call), now_);
      return;
    }
    if (luck < 85) {
      (void)write(call);
    } else if (luck < 93) {
      late_.push_back(call);
    }
    extender_->handle(unknown, now_);
  }
  kapi::Outcome write(const kapi::Call& call) {
    const int before = server_.writes;
    kapi::Outcome o = server_.carryOut(call);
    if (server_.writes != before) { changed(call.key.name); }
    return o;
  }
  void landLate() {
    if (late_.empty()) { return; }
    const auto at = late_.begin() + static_cast<std::ptrdiff_t>(rng_.below(late_.size()));
    const kapi::Call call = *at;
    late_.erase(at);
    (void)write(call);
  }
  void watch(std::uint64_t events) {
    for (; events > 0 && !events_.empty(); --events) {
      const model::Pod pod = events_.front();
      events_.pop_front();
      if (pod.phase == model::PodPhase::Unknown) {
        engine_->apply(
            {kapi::kPod, pod.key, pod.uid, {}, pod.revision, std::make_shared<const model::Pod>(pod)},
            now_.mono);
      } else {
        bring(pod);
      }
    }
  }

  /// Its scheduler binds it where it was told, soon after.
  void bindOne() {
    if (chosen_.empty()) { return; }
    auto it = chosen_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(chosen_.size())));
    const auto [name, chosen] = *it;
    chosen_.erase(name);
    if (!server_.pods.contains(name) || now_.mono - chosen.at > (isVolcanos(name) ? 4s : 8s)) { return; }
    model::Pod& pod = server_.pods.at(name);
    if (pod.bound()) { return; }
    const auto note = model::readVcudaNote(pod.annotations);
    if (note.node.text != chosen.node) {
      problem_ = fmt::format("{} is bound to {}, its annotations say {}", name, chosen.node, note.node.text);
    }
    pod.node = model::NodeName{chosen.node};
    pod.phase = model::PodPhase::Running;
    pod.revision = ++server_.revision;
    changed(name);
    ++bound;
    checkRoom(chosen.node);
  }
  void end(const std::string& name) {
    if (name.empty()) { return; }
    model::Pod pod = server_.pods.at(name);
    server_.pods.erase(name);
    chosen_.erase(name);
    pod.revision = ++server_.revision;
    pod.phase = model::PodPhase::Unknown;  // stands for: gone
    events_.push_back(pod);
  }
  void giveUp(const std::string& name) {
    if (name.empty() || server_.pods.at(name).bound()) { return; }
    model::Pod& pod = server_.pods.at(name);
    pod.scheduled =
        model::ScheduledCondition{"False", "Unschedulable", fmt::format("{}", ++server_.revision)};
    pod.revision = server_.revision;
    chosen_.erase(name);
    changed(name);
  }

  void checkRoom(const std::string& node) {
    std::map<int, sched::Amount> used;
    for (const auto& [name, pod] : server_.pods) {
      if (pod.node.text != node) { continue; }
      for (const auto& [id, amount] : sched::amountsOf(sched::vcudaPicks(pod))) {
        sched::Amount& sum = used[id];
        sum.milli += amount.shared ? amount.milli : sched::kWholeMilli;
        sum.mib += amount.shared ? amount.mib : kMemoryEach * model::kMibPerVcudaMemory;
        if (sum.milli > sched::kWholeMilli || sum.mib > kMemoryEach * model::kMibPerVcudaMemory ||
            id >= devices_[node]) {
          problem_ = fmt::format("{}:{} has {} milli and {} MiB in use, the last for {}", node, id, sum.milli,
                                 sum.mib, name);
        }
      }
    }
  }

  void settle() {
    extender_->settle(now_);
    for (auto& effect : extender_->takeEffects()) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls_.push_back(std::move(*call)); }
    }
    for (auto& [request_id, answer] : extender_->takeAnswers()) {
      const auto [name, names] = asked_.at(request_id);
      asked_.erase(request_id);
      const bool listens = isVolcanos(name) || latest_[name] == request_id;  // else it has given up that call
      if (!listens || answer.kind != Answer::Kind::Chosen) { continue; }
      // kube-scheduler binds to what it was told last, Volcano to any node that it was told to fit.
      if (!isVolcanos(name)) { chosen_.erase(name); }
      chosen_.emplace(name, Chosen{names.at(answer.chosen), now_.mono});
    }
  }

  Rng rng_;
  std::vector<std::string> nodes_;
  std::map<std::string, int> devices_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Extender> extender_;
  PodServer server_;
  Now now_{Mono{1h}, Wall{1000h}};
  std::vector<kapi::Call> calls_;
  std::vector<kapi::Call> late_;  // an API server may still carry these out
  std::deque<model::Pod> events_;
  std::map<RequestId, std::pair<std::string, std::vector<std::string>>> asked_;
  std::map<std::string, RequestId> latest_;
  std::multimap<std::string, Chosen> chosen_;
  RequestId request_ids_ = 0;
  int next_pod_ = 0;
  std::string problem_;
};

TEST(ExtenderProperty, NoDeviceIsGivenTwiceWhateverGoesWrong) {
  int bound = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    ExtenderPlay play{seed};
    for (int i = 0; i < 400; ++i) { ASSERT_EQ(play.step(), "") << "seed " << seed << ", step " << i; }
    bound += play.bound;
  }
  EXPECT_GT(bound, 2'000);
}

}  // namespace
}  // namespace gs::extender
