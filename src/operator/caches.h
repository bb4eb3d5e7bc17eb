// Caches: every cache by its key, what the nodes say of it, and what the operator writes because of that.
//
// A change of a cache or of a node object costs what it changes: the caches whose entries differ are summed
// up again and looked at, no other. A status is written when it differs from what stands there, at most one
// write per kGap and cache, and one whose cause alone differs per kCauseGap; what changes meanwhile goes with
// the next. Every write holds for the version that was decided on only, so one that comes late does nothing.
// What fails is tried again with backoff, by cache, and logged when the reason is new.
// Waiting for its nodes, a cache that is being deleted says once which (event Deleting). It goes only when
// the node objects are known to be no older than the cache (node_news.h).
// A state that is wrong is told when it stands in the status, whether an answer or the watch brings it: each
// new state or first cause once, one per kTellGap and cache at most. What a new leader finds counts as told.
// One thread; time is an argument.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/event.h"
#include "controller/parts.h"
#include "kcache/kinds/kinds.h"
#include "model/object.h"
#include "operator/cache_volumes.h"
#include "operator/desk.h"
#include "operator/node_news.h"
#include "operator/plan.h"

namespace gs::gkm {

class Caches final : public controller::Part {
 public:
  static constexpr Duration kGap = std::chrono::seconds{1};
  static constexpr Duration kCauseGap = std::chrono::seconds{10};
  static constexpr Duration kTellGap = std::chrono::minutes{1};

  explicit Caches(controller::Parts& parts);

  void changed(const model::Ptr<kcache::Cache>& cache);
  void gone(const model::ObjectKey& key, const model::Uid& uid);
  void nodeChanged(const model::Ptr<kcache::CacheNode>& node);
  void nodeGone(const model::ObjectKey& key);
  /// All node objects of that kind are known as they were at that revision.
  void nodesKnown(kapi::Kind kind, model::Revision revision);
  /// Up to where those have to be known; said once.
  [[nodiscard]] std::optional<model::Revision> takeNodesWanted(kapi::Kind kind);

  /// We lead, and everything is known: what was left is done from here on.
  void lead();
  /// Nothing is written any more.
  void reset() override;

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  /// Of the claims of that cache something is new.
  void claimsChanged(const model::ObjectKey& cache);
  /// Does what is due. `volumes`: how the claims of caches are.
  void go(Now now, const CacheVolumes& volumes, kapi::Effects& out);
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  [[nodiscard]] bool underWay() const { return desk_.underWay() > 0; }
  /// Bytes of that cache's files, as a node that has its present image says; 0: none does.
  [[nodiscard]] std::int64_t sizeOf(const model::ObjectKey& cache) const;
  /// Events to send.
  [[nodiscard]] std::vector<controller::EventNote> takeNotes() { return std::exchange(notes_, {}); }

  /// How many caches there are; by the state that they are in, and being deleted.
  [[nodiscard]] const std::map<std::string, std::size_t>& states() const { return states_; }
  [[nodiscard]] std::size_t deleting() const { return deleting_; }
  [[nodiscard]] std::size_t nodeObjects() const { return nodes_.size(); }

 private:
  struct Entry {
    model::Ptr<kcache::Cache> cache{};  // nullptr: nodes speak of it, and it is not there
    Tally tally{};
    std::optional<Mono> written_at{};  // its status
    std::string trouble{};
    bool has_said_deleting = false;
    std::string told{};  // the state and first cause that an event told last; "" it is well
    std::optional<Mono> told_at{};
  };
  using Entries = std::map<model::ObjectKey, Entry>;  // by namespace and handle

  static model::ObjectKey placeOf(const model::ObjectKey& cache);
  void touch(const model::ObjectKey& place) {
    if (is_leading_) { desk_.touch(place); }
  }
  NodeNews& newsOf(const model::ObjectKey& cache) { return cache.ns.empty() ? wide_news_ : news_; }
  void share(Entry& entry, const std::string& object);
  void drop(Entries::iterator entry);
  void count(const Entry& entry, int by);
  void look(const model::ObjectKey& place, Entry& entry, Now now, const CacheVolumes& volumes,
            kapi::Effects& out);
  void write(const model::ObjectKey& place, const kcache::Cache& cache, const Plan& plan, kapi::Effects& out);
  void sayDeleting(Entry& entry);
  void tell(const model::ObjectKey& place, Entry& entry, Now now);
  void written(const model::ObjectKey& place, Act act, const kapi::Outcome& outcome, Now now);
  void failed(const model::ObjectKey& place, Act act, const kapi::Outcome& outcome, Now now,
              kapi::Effects& out);

  Desk<Act> desk_;
  Entries entries_;
  std::map<model::ObjectKey, model::Ptr<kcache::CacheNode>> nodes_;
  NodeNews news_;  // of namespaces
  NodeNews wide_news_;
  std::map<std::string, std::size_t> states_;
  std::size_t deleting_ = 0;
  std::vector<controller::EventNote> notes_;
  bool is_leading_ = false;
};

}  // namespace gs::gkm
