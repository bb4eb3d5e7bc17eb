// List+watch of one kind as a pure machine: pages in, watch lines in; changes out,
// each exactly once and in order.
//
// States: Listing (pages of `page_size`, resourceVersion "" = the latest) -> Watching from the list's
// revision, with bookmarks. A watch that ends normally is opened again from the last revision; 410 or an
// ERROR 410 lists again (with jittered backoff 0.8 s .. 30 s when that repeats before anything came, or 10 s
// went by) and the difference to what is known becomes changes: a vanished object a deletion (with its last
// known uid), a new uid under an old name a deletion followed by an addition.
// Floor rule: an event at or below `progress()` is dropped, so a second stream (catchUp) can never apply
// anything twice or bring an object back.
// Memory: one entry (key, uid, revision) per known object.
// Tokens: calls and streams carry makeToken(owner, n); route outcomes back by tokenOwner. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kapi/call.h"

namespace gs::controller {

/// One change of one object. `object` is empty when it is gone (then `last_uid` says who was there).
struct Change {
  kapi::Kind kind{};
  model::ObjectKey key;
  model::Uid last_uid;
  model::Object object;
  model::Revision revision = 0;
  model::Object last{};  // gone, and the watch said so: as it was then
};

class Reflector {
 public:
  static constexpr std::size_t kListedToCatchUp = 500;

  struct Config {
    kapi::Kind kind{};
    std::uint8_t owner = 1;  // high byte of tokens
    std::string ns;          // "" all namespaces
    kapi::Selectors selectors{};
    /// What we may do without: that it is forbidden is as good as that it is not there.
    bool optional = false;
    int page_size = 500;
    /// A kind of fewer objects than this reaches the present by a list, which is faster than a bookmark.
    std::size_t listed_to_catch_up = kListedToCatchUp;
  };
  struct Output {
    kapi::Effects effects;
    std::vector<Change> changes;
    bool synced_now = false;  // the first list is complete with this output (said once)
    /// A list is complete with this output: whatever is not known() and not newer than this is gone.
    std::optional<model::Revision> listed_at;
    /// What came is older than what was known: the server's history went back (etcd restored from a backup).
    /// What is known is then worth nothing; start anew. A list says so, and an event at or below the revision
    /// that its watch was opened from. A bookmark below it has the kind listed again, which tells a restored
    /// server from one that lags behind.
    bool went_back = false;
    bool forbidden_now = false;  // a list of an optional kind was answered 403
    bool caught_up_now = false;  // the pending catchUp reached its revision with this output
  };

  Reflector(Config config, Rng rng);

  /// Begins listing. Call once.
  [[nodiscard]] Output start(Now now);
  [[nodiscard]] Output handle(const kapi::Outcome& outcome, Now now);
  [[nodiscard]] Output handle(const kapi::WatchEvent& event, Now now);
  [[nodiscard]] Output handle(const kapi::WatchEnded& ended, Now now);
  /// Timers: call at every TimerDue; nothing due does nothing.
  [[nodiscard]] Output tick(Now now);

  /// R37: says caught_up_now once everything up to `revision` was applied. Already there: at once. Few
  /// objects (listed_to_catch_up) are listed again. Else a second watch from progress() with
  /// allowWatchBookmarks=true&timeoutSeconds=3, and another when that ends; 3 s without a bookmark at or past
  /// it: list again. (After a list those begin with the next tick.)
  /// A second call replaces the first.
  /// The server sends that bookmark 1 to 2 s after the watch was opened, so one opened beforehand by
  /// expectCatchUp() saves time; it serves while it is younger than that, else another one is opened.
  [[nodiscard]] Output catchUp(model::Revision revision, Now now);
  [[nodiscard]] Output expectCatchUp(Now now);

  [[nodiscard]] bool synced() const { return synced_; }
  [[nodiscard]] bool knows(const model::ObjectKey& key, const model::Uid& uid) const {
    const auto it = known_.find(key);
    return it != known_.end() && it->second.uid == uid;
  }
  [[nodiscard]] kapi::Kind kind() const { return config_.kind; }
  [[nodiscard]] const std::string& ns() const { return config_.ns; }
  /// A list of a kind of ours was answered 404: its CRD is missing. Such a kind is empty, and absent until a
  /// list is complete, whatever fails in between. Listed again every 10 s.
  /// Or the last of an optional one was answered 403: what was known stays. Listed again, later each time, up
  /// to every 10 s.
  [[nodiscard]] bool absent() const { return absent_; }
  /// Everything up to here was applied (list revision, event or bookmark).
  [[nodiscard]] model::Revision progress() const { return progress_; }
  /// The last error of list or watch, "" when the stream runs; for /readyz.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  struct Known {
    model::Uid uid;
    model::Revision revision = 0;
  };
  Config config_;
  Rng rng_;
  bool synced_ = false;
  bool absent_ = false;
  model::Revision progress_ = 0;
  std::string trouble_;
  std::unordered_map<model::ObjectKey, Known> known_;

  enum class State : std::uint8_t { Idle, Listing, Watching, Waiting };
  void list(Output& out);
  void askPage(const std::string& continue_token, Output& out);
  void page(const kapi::Outcome& outcome, Now now, Output& out);
  void listComplete(Now now, Output& out);
  void removeVanished(Output& out);
  void listFailed(const kapi::Outcome& outcome, Now now, Output& out);
  void say(std::string trouble, Output& out);
  void watch(Output& out);
  [[nodiscard]] bool catchesUpByList() const { return known_.size() < config_.listed_to_catch_up; }
  void probe(Now now, Output& out);
  void openProbe(Now now, Output& out);
  void awaitProbe(Now now, Output& out);
  [[nodiscard]] bool mayProbe(Mono now) const;
  /// A stream did what it is for: neither errors nor 410s are in a row any more.
  void worked();
  void wentBack(const kapi::WatchEvent& event, Output& out);
  void streamEnded(const kapi::WatchEnded& ended, Now now, Output& out);
  void wait(Duration at_least, Now now, Output& out);
  void upsert(const model::Object& object, model::Revision revision, Output& out);
  void remove(const model::ObjectKey& key, model::Revision revision, const model::Object& last, Output& out);
  void advance(model::Revision revision, Output& out);
  void closeProbe(Output& out);
  [[nodiscard]] kapi::Token token() { return kapi::makeToken(config_.owner, next_++); }

  State state_ = State::Idle;
  kapi::Token list_call_ = 0;
  kapi::Token stream_ = 0;
  kapi::Token probe_ = 0;            // the second watch of catchUp
  model::Revision stream_from_ = 0;  // what they were opened from
  model::Revision probe_from_ = 0;
  Mono probe_opened_{};
  std::optional<model::Revision> target_;  // of the pending catchUp
  bool probe_begins_ = false;              // with the next tick
  std::optional<Mono> probe_deadline_;
  std::vector<model::Object> listed_;  // pages of the list under way
  std::string page_token_;             // of the page that was asked for
  int page_size_ = 0;                  // halved when a page is too large to take
  bool from_cache_ = false;            // the list under way may come from the API server's cache
  bool list_failed_ = false;           // the last one; the next is a consistent one
  model::Revision list_revision_ = 0;
  bool stream_brought_ = false;  // the present stream brought something
  Mono stream_opened_{};
  bool relist_ = false;  // after the wait: list, not watch. True until a list is complete
  int failures_ = 0;
  bool expired_ = false;  // a 410 came since a stream worked
  std::optional<Mono> due_;
  std::uint64_t next_ = 1;
};

}  // namespace gs::controller
