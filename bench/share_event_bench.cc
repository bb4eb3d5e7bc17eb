// What one event costs the deciding thread of the extender while thousands of pods of a kube-scheduler wait
// for shares (extender/grants/refusals.h): 8,000 pods that 4,000 nodes refused, and 1,000 other nodes that
// have room, which were no candidates of theirs.
//
//   share_event_bench               a table: the longest turn, how many follow one change, what all cost
//   share_event_bench --json FILE   the figure as a flat JSON object:
//
//   worst_share_event_ms  the longest turn of all cases, in CPU time of its thread
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "base/cpu_time_test.h"
#include "bench/figures.h"
#include "extender/grants/refusals.h"
#include "kapi/kinds.h"
#include "sched/doors/vcuda.h"
#include "testing/builders.h"

namespace gs::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kFull = 4'000;
constexpr int kFree = 1'000;
constexpr int kPods = 8'000;

std::string nodeName(int i) { return fmt::format("node-{:05}", i); }

struct Cost {
  double worst_ms = 0;
  double all_ms = 0;
  int turns = 0;
  int woken = 0;
};

class Crowd {
 public:
  Crowd() {
    for (int i = 0; i < kFull + kFree; ++i) { nodeHas(i, i < kFull ? 1 : 2); }
    table_ = std::make_shared<const extender::NodeTable>(engine_.ledger());
  }
  void nodeHas(int i, int gpus) {
    model::Node n = testing::makeNode(nodeName(i));
    n.revision = ++revision_;
    n.share_capacity = {100 * gpus, 16 * gpus};
    engine_.apply({kapi::kNode, {"", n.name.text}, {}, std::make_shared<const model::Node>(n), n.revision},
                  now_);
  }
  /// Refused by the full nodes but one, or by all of them.
  void refuse(int i, int kinds, bool one_missing) {
    model::Pod pod = testing::PodBuilder(fmt::format("p{}", i), fmt::format("ns{}", i % kinds)).value();
    pod.share_limits = {{200, 0}};
    engine_.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), ++revision_}, now_);
    const auto door = sched::vcudaDoor(pod);
    extender::Candidates c;
    c.table = table_;
    extender::Answer a;
    auto standings = std::make_shared<sched::Standings>(engine_.ledger().size());
    for (int n = 0; n < kFull; ++n) {
      if (one_missing && n == i % kFull) { continue; }
      c.nodes.push_back(c.table->find(nodeName(n)));
      (*standings)[c.nodes.back()].refused = sched::Reason::TooFewFree;
    }
    a.standings = standings;
    refusals_.refused(pod, std::get<sched::PodRequest>(door), c, a, now_);
  }
  /// Turns until nothing is left to do at this time, and for a second from there on.
  Cost turns() {
    Cost cost;
    for (const Mono end = now_ + 1s; now_ <= end; now_ += 20ms) {
      for (int i = 0; i < 100'000; ++i) {
        const double began = cpuSeconds();
        const auto uid = refusals_.next(now_, [](const auto&) { return true; });
        const double ms = (cpuSeconds() - began) * 1e3;
        cost.worst_ms = std::max(cost.worst_ms, ms);
        cost.all_ms += ms;
        ++cost.turns;
        cost.woken += uid ? 1 : 0;
        const auto due = refusals_.nextDue();
        if (!due || *due > now_) { break; }
      }
    }
    return cost;
  }
  void pass(Duration by) { now_ += by; }

 private:
  engine::Engine engine_;
  extender::NodeTablePtr table_;
  extender::Refusals refusals_{engine_};
  Mono now_{1h};
  model::Revision revision_ = 0;
};

struct Case {
  const char* name;
  int kinds;
  bool one_missing;  // each pod was refused by other nodes
  std::function<void(Crowd&)> event;
};

Cost costOf(const Case& c) {
  Crowd crowd;
  for (int i = 0; i < kPods; ++i) { crowd.refuse(i, c.kinds, c.one_missing); }
  crowd.pass(2s);
  (void)crowd.turns();
  c.event(crowd);
  return crowd.turns();
}

int run(const char* json) {
  const auto none = [](Crowd&) {};
  const auto one = [](Crowd& crowd) { crowd.nodeHas(kFull, 3); };
  const auto all = [](Crowd& crowd) {
    for (int i = 0; i < kFree; ++i) { crowd.nodeHas(kFull + i, 3); }
  };
  const auto useful = [](Crowd& crowd) { crowd.nodeHas(7, 2); };
  const Case cases[] = {{"nothing", 1, false, none},
                        {"one other node", 1, false, one},
                        {"all other nodes", 1, false, all},
                        {"one of theirs", 1, false, useful},
                        {"all other nodes, each pod with nodes of its own", 1, true, all},
                        {"one of theirs, each pod with nodes of its own", 1, true, useful},
                        {"all other nodes, 4,000 kinds", kPods / 2, true, all}};
  double worst = 0;
  for (const Case& c : cases) {
    const Cost cost = costOf(c);
    worst = std::max(worst, cost.worst_ms);
    fmt::print("{:<50} longest turn {:8.2f} ms, {:5} turns, {:9.1f} ms in all, {} woken\n", c.name,
               cost.worst_ms, cost.turns, cost.all_ms, cost.woken);
  }
  if (json == nullptr) { return 0; }
  return writeFigures(fmt::format("{{\"worst_share_event_ms\": {:.2f}}}\n", worst), json);
}

}  // namespace
}  // namespace gs::bench

int main(int argc, char** argv) {
  const bool has_json = argc == 3 && std::strcmp(argv[1], "--json") == 0;
  return gs::bench::run(has_json ? argv[2] : nullptr);
}
