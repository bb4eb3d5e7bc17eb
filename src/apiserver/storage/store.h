// The API server's storage in memory: objects with one global resourceVersion,
// and the history that watches read.
//
// An object is an immutable value that history, watches and answers share. Every change takes the next
// revision and one history entry; revisions start at 1 and never repeat. compact() forgets history: reading
// from before it is "too old".
// Who owns what is indexed by uid, so that orphans are known without looking at everything.
// One thread; no clock, no validation (api.h does that).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "apiserver/patch/apply.h"
#include "json/value.h"

namespace gs::apiserver {

using ObjectPtr = std::shared_ptr<const json::Value>;

/// `resource` is "group/plural" ("/pods" for core).
struct StoreKey {
  std::string resource;
  std::string ns;
  std::string name;
  friend auto operator<=>(const StoreKey&, const StoreKey&) = default;
};

struct StoredObject {
  ObjectPtr object;
  OwnersPtr owners;
};

struct HistoryEntry {
  std::uint64_t revision = 0;
  StoreKey key;
  ObjectPtr before;  // null: it was created
  ObjectPtr after;   // null: it was deleted; then `last` has the last state with the deletion's revision
  ObjectPtr last;
  std::size_t bytes = 0;  // of the new state, where history is limited by bytes
};

/// About what it takes in memory, if it shared nothing.
[[nodiscard]] std::size_t roughBytes(const json::Value& value);

class Store {
 public:
  using Map = std::map<StoreKey, StoredObject>;
  /// Revisions that were given after the last one that was saved, at most.
  static constexpr std::uint64_t kLost = 1'000'000;

  [[nodiscard]] const StoredObject* find(const StoreKey& key) const;
  /// Creates or replaces; sets metadata.resourceVersion. Returns what is stored.
  ObjectPtr put(const StoreKey& key, json::Value object, OwnersPtr owners);
  /// Who owns which field of what is stored: no change of the object.
  void setOwners(const StoreKey& key, OwnersPtr owners) { objects_.at(key).owners = std::move(owners); }
  /// Returns the last state with the new revision.
  ObjectPtr remove(const StoreKey& key);
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  [[nodiscard]] const Map& objects() const { return objects_; }
  /// All of a resource, in one namespace or ("") in all; ordered by namespace and name.
  [[nodiscard]] std::pair<Map::const_iterator, Map::const_iterator> range(const std::string& resource) const;

  /// All of a resource as it was at `revision`, which is not before oldest() nor after revision().
  [[nodiscard]] std::map<StoreKey, ObjectPtr> asOf(const std::string& resource, std::uint64_t revision) const;

  /// Objects that name owners, none of which is there; each is told once, and again when its owners change.
  [[nodiscard]] std::set<StoreKey> takeOrphans() { return std::exchange(orphans_, {}); }

  /// Everything anew, as it was at `revision`; history is forgotten. Revisions go on kLost above it: what was
  /// given after the objects were saved, and is lost, is not given again. Who saw such a one is "too old".
  /// `goes_back`: they go on at `revision`, and who saw later ones is not told.
  void reset(Map objects, std::uint64_t revision, bool goes_back = false);

  /// The first entry after `revision`, as an absolute position for entry(); entries end at historyEnd().
  [[nodiscard]] std::uint64_t positionAfter(std::uint64_t revision) const;
  [[nodiscard]] std::uint64_t historyEnd() const { return first_ + history_.size(); }
  [[nodiscard]] const HistoryEntry* entry(std::uint64_t position) const;  // null: forgotten
  /// The oldest revision that a watch may start from.
  [[nodiscard]] std::uint64_t oldest() const { return oldest_; }
  void compact();
  /// At most so many entries of history, and bytes of objects in them (0: any),
  /// besides what compact() forgets.
  void keepHistory(std::size_t entries, std::size_t bytes) {
    max_history_ = entries;
    max_bytes_ = bytes;
  }

 private:
  std::uint64_t revision_ = 0;
  std::uint64_t oldest_ = 0;
  Map objects_;
  void remember(HistoryEntry entry);
  void index(const StoreKey& key, const json::Value& before, const json::Value& after);
  void lookForOwners(const StoreKey& key, const json::Value& owners);

  std::map<std::string, std::size_t, std::less<>> uids_;               // how many objects have it
  std::map<std::string, std::set<StoreKey>, std::less<>> dependents_;  // by an owner's uid
  std::set<StoreKey> orphans_;

  std::size_t max_history_ = 200'000;
  std::size_t max_bytes_ = 0;
  std::size_t bytes_ = 0;  // of history_
  std::deque<HistoryEntry> history_;
  std::uint64_t first_ = 0;  // position of history_.front()
};

}  // namespace gs::apiserver
