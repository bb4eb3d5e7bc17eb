// The watch cache: open watches, each an initial state and then the store's history as it looks through its
// selectors.
//
// Events are pulled (poll), so a driver can delay, drop or double them. A watch that is behind what history
// remembers gets an ERROR (410) as its last event. What an object looked like before a change decides whether
// a watcher sees it come (ADDED), change or leave (DELETED). `store` must outlive it. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "apiserver/meta/selectors.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "json/value.h"

namespace gs::apiserver {

using WatchId = std::uint64_t;

/// What is watched. `resource` stays where it is until end() was told of it.
struct WatchOptions {
  const Resource* resource = nullptr;
  std::string ns;  // "": all
  Selector labels;
  Selector fields;
  std::uint64_t from = 0;  // a revision; 0: ADDED for all that is there, then live
};

class WatchCache {
 public:
  explicit WatchCache(const Store& store) : store_{store} {}

  [[nodiscard]] WatchId open(WatchOptions options);
  /// The next event {"type","object"}; nothing: none yet. An ERROR event is the last.
  [[nodiscard]] std::optional<json::Value> poll(WatchId id);
  /// A bookmark after everything that poll() gives before it.
  void bookmark(WatchId id);
  void close(WatchId id) { watches_.erase(id); }
  /// False: closed, or ended (an ERROR was given, or what it watched is no longer served).
  [[nodiscard]] bool isOpen(WatchId id) const { return watches_.contains(id); }
  /// Ends the watches of what is no longer served; what they did not read yet is kept for them.
  void end(const Resource& gone);
  /// Closes all, without a word.
  void clear() { watches_.clear(); }

 private:
  struct Watch {
    WatchOptions of;
    std::string store_id;  // of its resource
    std::uint64_t position = 0;
    std::deque<json::Value> first;  // the initial ADDEDs; of one that ended, all that is left of it
    bool bookmark_due = false;
    bool too_old = false;
    bool ended = false;  // its resource may not be there any more
  };
  [[nodiscard]] std::optional<json::Value> eventOf(const Watch& w, const HistoryEntry& entry) const;
  /// The next that history has for it; an ERROR ends it.
  [[nodiscard]] std::optional<json::Value> read(Watch& w) const;

  const Store& store_;
  std::map<WatchId, Watch> watches_;
  WatchId next_ = 1;
};

}  // namespace gs::apiserver
