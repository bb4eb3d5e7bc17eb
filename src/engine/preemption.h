// Preemption for a pod that a kube-scheduler places: on which nodes there is room for it once other pods
// have been evicted, and which pods besides those that kube-scheduler names itself
// (sched/placement/victims.h). kube-scheduler counts neither shares of GPUs nor claims, so it cannot name
// victims for them: it sends such nodes with empty lists, and we fill them. The extender uses it for pods
// with shares, the scheduler for pods with claims.
//
// No victim is named while one of the nodes will have room without any. Some pods leave by themselves:
// those that are being deleted, and those that ended and whose containers may still run. GPUs that are held
// for somebody for a moment (MakesRoom) come free, too. These GPUs are free a little later than
// kube-scheduler hears that its victims are gone; it would evict further pods on another node meanwhile. A
// pod is told to wait like this for kAwaited at most, since some pods never go; after that, those who leave
// count as staying.
//
// A request may name every node of the cluster. A node with many devices and hundreds of pods takes
// hundreds of looks, and each may be a search (R83). So the work is cut into turns: a turn costs its
// budget, and one such look, or the copy of one node, more; the next turn is due at once. What is found of
// a node is true of the node, its pods and the quota as they were when its first look began. Each node is
// looked at once, however often it is named. Requests are served in the order in which they came. One
// thread; the engine must outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "sched/ledger/quota.h"
#include "sched/placement/victims.h"
#include "sched/policy/meter.h"

namespace gs::engine {

class Preemption {
 public:
  /// A usual grace period, and the agent's look.
  static constexpr Duration kAwaited = std::chrono::seconds{40};
  /// Of a node on which more is held than that nobody has to go.
  static constexpr std::size_t kMostHolders = 8'192;

  using NodeIndex = sched::Ledger::NodeIndex;
  using Uids = std::vector<model::Uid>;
  struct Question {
    std::uint64_t id = 0;  // its caller's
    model::PodPtr pod;
    sched::PodRequest request;
    std::int64_t milli = 0;  // that it counts of its namespace's quota; nothing of that is in the ledger
    /// By position; nullopt: none that is known.
    std::vector<std::optional<NodeIndex>> nodes;
    /// By position, whom kube-scheduler would evict; null: nobody anywhere.
    std::shared_ptr<const std::vector<Uids>> given;
    Mono until = Mono::max();  // nobody waits for the answer any more
  };
  /// A node that is a candidate.
  struct Kept {
    std::size_t position = 0;
    Uids victims;  // all, the most important first; empty: those that were given, and nobody else
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  struct Answer {
    enum class Kind : std::uint8_t {
      Found,
      NodesChanged,  // indexes may mean other nodes by now
      TooLate,
    };
    std::uint64_t id = 0;
    Kind kind{};
    std::vector<Kept> kept{};
  };
  /// Does it fit there? `self` is the pod. What it takes beside a walk over the node's devices is counted.
  using Fits = bool (*)(const sched::NodeState&, const sched::PodRequest&, const model::Uid& self,
                        sched::Meter*);

  /// Is what that pod has there held by courtesy, and goes in a moment?
  using MakesRoom = std::function<bool(const model::Uid&, const model::NodeName&)>;

  Preemption(
      const Engine& engine, Fits fits, MakesRoom makes_room = [](const auto&, const auto&) { return false; })
      : engine_{engine}, fits_{fits}, makes_room_{std::move(makes_room)} {}

  void ask(Question question);
  /// The pod of the next turn; nullptr: nobody asks.
  [[nodiscard]] const model::Pod* next() const {
    return questions_.empty() ? nullptr : questions_.front().question.pod.get();
  }
  /// One turn.
  void work(Mono now);
  [[nodiscard]] std::vector<Answer> takeAnswers() { return std::exchange(answers_, {}); }
  /// Somebody else decides from now on: the ids of those that were not answered.
  [[nodiscard]] std::vector<std::uint64_t> drop();
  [[nodiscard]] std::size_t size() const { return questions_.size() + awaits_.size(); }
  /// What all turns have cost, in devices and pods that were looked at, or as much of a search.
  [[nodiscard]] std::uint64_t cost() const { return cost_; }

 private:
  struct Look {  // at one node
    sched::RoomSearch search;
    std::vector<const model::Pod*> given;
    std::vector<model::PodPtr> pods;  // that the search and `given` mean
    std::size_t cost = 0;             // of each time
  };
  struct Open {
    Question question;
    std::size_t comings = 0;     // Ledger::comings(), when it came
    std::size_t at = 0;          // the position that is looked at, or the next one
    std::optional<Look> look{};  // there
    std::vector<bool> seen{};    // by node
    std::optional<sched::QuotaRoom> room{};
    std::vector<Kept> found{};
  };
  struct Pods {
    sched::NodePods of;
    std::vector<model::PodPtr> alive;
  };
  struct Awaits {  // a pod that was told to wait for what leaves by itself
    Mono since{};
    Mono last{};
  };

  void readQuota(Open& open) const;
  /// False: that node is none.
  [[nodiscard]] bool begin(Open& open, Mono now);
  /// False: it is to go on.
  [[nodiscard]] bool goOn(Open& open);
  [[nodiscard]] Pods podsOf(const Question& question, std::size_t position, const sched::NodeWithout& node,
                            bool leave);
  [[nodiscard]] model::PodPtr podAt(const model::Uid& uid, const model::NodeName& node) const;
  [[nodiscard]] static const Uids& givenOn(const Question& question, std::size_t position);
  [[nodiscard]] static Uids allVictims(const Uids& given, std::vector<const model::Pod*> known,
                                       const std::vector<const model::Pod*>& named);
  [[nodiscard]] bool mayAwait(const model::Uid& uid, Mono now) const;
  void await(const model::Uid& uid, Mono now);
  void conclude(Open& open, Mono now);

  const Engine& engine_;
  Fits fits_;
  MakesRoom makes_room_;
  std::deque<Open> questions_;
  std::vector<Answer> answers_;
  std::map<model::Uid, Awaits> awaits_;
  std::uint64_t cost_ = 0;
};

}  // namespace gs::engine
