// gkm-agent as a machine: the kernel caches of the cluster -> what its node is to have; what the node has ->
// GKMCacheNode and ClusterGKMCacheNode (docs/use/gkm-agent.md). It fetches nothing itself: cacherim/keeper
// keeps the store as wanted() says, and tells by has() what came of that.
//
// It watches all caches, and the node objects that bear its node's label. An agent has no others: they write
// to their own node's objects only. Node objects of its node under another name are an older version's: they
// are taken away.
//   scope_plan.h  what to do about one node object
// Nothing is wanted before each kind was listed, and a kind that is not served holds everything up: what it
// does not know it must not take for gone. A change of a cache, or of what the node has of it, costs what
// its namespace has. A status is written when it differs, at most one write per kGap and object. One that
// can wait (scope_plan.h) does so for kPatience, and each further one in a row for twice the time, up to
// kMostPatience: twelve in the first hour.
// What gpu-scheduler asks for first (kcache/kinds/first.h) comes before others of its namespace, as long as
// that counts.
// An image that failed is tried again after kTerms, by cache; one that another digest took the place of, at
// once.
// One thread; time is an argument.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/backoff.h"
#include "controller/event_sender.h"
#include "controller/parts.h"
#include "controller/watches.h"
#include "kapi/call.h"
#include "operator/desk.h"
#include "operator/node/scope_plan.h"

namespace gs::gkm {

class NodeAgent {
 public:
  static constexpr Duration kGap = std::chrono::seconds{1};
  static constexpr Duration kPatience = std::chrono::seconds{5};
  static constexpr Duration kMostPatience = std::chrono::minutes{10};
  static constexpr kapi::RetryTerms kTerms{std::chrono::seconds{10}, std::chrono::minutes{10}};

  struct Config {
    model::NodeName node;
    std::string instance = "gkm-agent";  // of events: reportingInstance
  };
  NodeAgent(const Config& config, Rng rng, controller::Owners owners = {});

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event, Now now);
  /// What the node has now.
  [[nodiscard]] kapi::Effects has(const kcache::NodeHasPtr& has, Now now);
  /// Its GPUs. Nothing is written before they were told once.
  [[nodiscard]] kapi::Effects gpus(std::vector<kcache::CacheGpu> gpus, Now now);

  [[nodiscard]] bool knowsGpus() const { return knows_gpus_; }
  /// What the node is to have, when that changed; nullptr: it did not.
  [[nodiscard]] kcache::WantedPtr takeWanted();

  /// SIGTERM: nothing new is written.
  void stopTaking() { is_taking_ = false; }
  [[nodiscard]] bool underWay() const { return desk_.underWay() > 0; }
  /// Why it can do nothing more; "" it can.
  [[nodiscard]] const std::string& failure() const { return watches_.failure(); }
  /// Ready when every kind is known and the store works.
  [[nodiscard]] Readiness readiness() const;
  /// How many images of caches the node's objects say to be in each state.
  [[nodiscard]] std::map<kcache::State, std::size_t> states() const;

 private:
  enum class Doing : std::uint8_t { Create, Label, WriteStatus, WriteFinalizers, Delete };
  struct Scope {
    NodeScope known{};
    std::map<std::string, model::Ptr<kcache::CacheNode>> others{};  // by name: an older version's
    std::optional<Mono> written_at{};                               // its status
    std::optional<Mono> waits_since{};                              // a status that can
    Duration patience = kPatience;                                  // how long it does
    std::string trouble{};
    model::Uid gone{};                          // of our object that the watch last said to be gone
    bool is_unlabelled = false;                 // it is there, and the watch does not see it
    std::vector<controller::EventNote> news{};  // of the write under way
    [[nodiscard]] bool isEmpty() const {
      return known.caches.empty() && known.object == nullptr && known.has.empty() && others.empty();
    }
  };
  struct Attempt {
    std::string digest;
    std::int64_t number = 0;
    bool has_failed = false;  // and was told to waits_
  };

  void take(const controller::Reflector::Output& output);
  void apply(const controller::Change& change);
  void applyCache(const controller::Change& change);
  void applyNodeObject(const model::ObjectKey& key, const model::Ptr<kcache::CacheNode>& object);
  void answered(const kapi::Outcome& outcome, Now now, kapi::Effects& out);
  void failed(const model::ObjectKey& key, Doing doing, const kapi::Outcome& outcome, Now now,
              kapi::Effects& out);
  [[nodiscard]] bool isComplete() const;
  void touch(const std::string& ns) { desk_.touch({ns, config_.node.text}); }
  void touchAll();

  void go(Now now, kapi::Effects& out);
  void look(const model::ObjectKey& key, Scope& scope, Now now, kapi::Effects& out);
  void lookAtOther(const model::ObjectKey& key, const Scope& scope, kapi::Effects& out);
  void send(const model::ObjectKey& key, Doing doing, kapi::Call call, kapi::Effects& out);
  void carryOut(const model::ObjectKey& key, Scope& scope, const ScopePlan& plan, Now now,
                kapi::Effects& out);

  void learnAttempts(const model::ObjectKey& cache, const kcache::HasImages& has, Now now);
  void takeDueAttempts(Now now);
  [[nodiscard]] Attempt firstAttempt(const model::ObjectKey& cache, const std::string& digest) const;
  [[nodiscard]] kcache::Wanted wanted() const;
  [[nodiscard]] std::optional<Wall> firstUntil() const;

  Config config_;
  Rng rng_;
  controller::Parts parts_;
  controller::Watches watches_;
  controller::EventRecorder recorder_;
  controller::EventSender events_;
  Desk<Doing> desk_;
  std::map<std::string, Scope> scopes_;  // by namespace
  NodeFacts facts_;
  bool knows_gpus_ = false;
  kcache::NodeHasPtr has_;  // nullptr: the rim has not said anything yet
  std::string store_trouble_;
  controller::Backoff<model::ObjectKey> waits_{kTerms, std::chrono::minutes{30}};
  std::map<model::ObjectKey, Attempt> attempts_;  // of what is wanted, or was and may be again (undecided)
  kcache::WantedPtr told_;                        // what takeWanted() gave last
  bool is_wanted_new_ = false;
  std::optional<Wall> first_until_;  // then something that is asked for first counts no more
  Wall wall_{};                      // of the last event
  std::vector<controller::EventNote> notes_;
  bool is_taking_ = true;
};

}  // namespace gs::gkm
