// The Kubernetes API server in memory: requests in, answers and watch events out, as the real server words them
// (kubectl-wire facts). Requests are method, target, content type and a JSON body, so the World calls it
// directly and an HTTP server needs only text around it.
//
// Pure and deterministic: time is an argument, uids and name suffixes come from the Rng. One thread.
// Watch events are pulled (poll), so a driver can delay, drop or double them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "json/value.h"
#include "sandbox/answer.h"
#include "sandbox/resources.h"
#include "sandbox/selectors.h"
#include "sandbox/store.h"

namespace gs::sandbox {

struct Request {
  std::string method;  // GET POST PUT PATCH DELETE
  std::string target;  // path and query
  std::string content_type = "application/json";
  json::Value body{};
  std::string bad_body{};  // why the body could not be read, in Go's words; then `body` is null
};

struct Response {
  int code = 200;
  json::Value body{};
  std::string text{};  // when set: answered as plain text instead of `body`
  std::vector<std::string> warnings{};
};

[[nodiscard]] Response toResponse(const ApiError& error);

using WatchId = std::uint64_t;

class Api {
 public:
  Api(Rng rng, Now now);
  /// Everything that is stored and the revision, as plain JSON.
  [[nodiscard]] json::Value save() const;
  /// Takes over what save() gave, in place of all that is there; watches from before are "too old". Error: what is wrong
  /// in it; then nothing changed.
  [[nodiscard]] gs::Status restore(const json::Value& saved);

  [[nodiscard]] Response handle(const Request& request, Now now);

  /// Opens a watch of "path?watch=true&resourceVersion=..."; absent or 0: ADDED for all that is there, then live.
  [[nodiscard]] Answer<WatchId> watch(std::string_view target);
  /// The next event {"type","object"}; nothing: none yet. An ERROR event (410) is the last.
  [[nodiscard]] std::optional<json::Value> poll(WatchId id);
  /// A bookmark after everything that poll() gives before it.
  void bookmark(WatchId id);
  void close(WatchId id) { watches_.erase(id); }
  /// False: closed, or ended (an ERROR was given, or what it watched is no longer served).
  [[nodiscard]] bool isOpen(WatchId id) const { return watches_.contains(id); }
  /// The last so many changes are remembered for watches.
  void keepHistory(std::size_t entries) { store_.keepHistory(entries); }
  /// Forgets history: watches and lists from before now are "too old".
  void compact() { store_.compact(); }

  /// Dependents of owners that are gone are deleted. Call after deletions.
  void collectGarbage(Now now);

  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] const Resources& resources() const { return resources_; }

 private:
  struct Watch {
    const Resource* resource = nullptr;
    std::string ns;
    Selector labels;
    Selector fields;
    std::uint64_t position = 0;
    std::uint64_t from = 0;
    std::deque<json::Value> first;  // the initial ADDEDs
    bool bookmark_due = false;
    bool too_old = false;
  };
  using Result = Answer<Response>;

  [[nodiscard]] Result dispatch(const Request& request, Now now);
  [[nodiscard]] Result get(const Route& route) const;
  [[nodiscard]] Result list(const Route& route) const;
  [[nodiscard]] Result create(const Route& route, json::Value body, Now now);
  [[nodiscard]] Result update(const Route& route, json::Value body);
  [[nodiscard]] Result patch(const Route& route, const Request& request, Now now);
  [[nodiscard]] Result apply(const Route& route, const json::Value& config, Now now);
  [[nodiscard]] Result remove(const Route& route, const json::Value& options, Now now);
  [[nodiscard]] Result removeAll(const Route& route, const json::Value& options, Now now);
  [[nodiscard]] Result bind(const Route& route, const json::Value& binding, Now now);
  [[nodiscard]] Result removeStored(const Route& route, const StoredObject& stored,
                                    const json::Value& options, Now now);
  /// Admits `next` as the new state of what is stored: subresource rules, generation, validation, no-op.
  [[nodiscard]] Result replace(const Route& route, const StoredObject& stored, json::Value next,
                               OwnersPtr owners);
  [[nodiscard]] Answer<json::Value> shape(const Resource& r, json::Value object,
                                          const json::Value& old) const;
  void stamp(const Route& route, json::Value& object, Now now);
  void finish(const Resource& r, const json::Value& object);
  [[nodiscard]] StoreKey keyOf(const Route& route) const {
    return {route.resource->id(), route.ns, route.name};
  }
  [[nodiscard]] std::optional<json::Value> eventOf(const Watch& w, const HistoryEntry& entry) const;

  Rng rng_;
  Resources resources_;
  Store store_;
  std::map<WatchId, Watch> watches_;
  WatchId next_watch_ = 1;
};

/// What the API server adds to a new pod, and its first status.
void defaultPod(json::Value& pod);
/// The new object with what this kind of write may not change taken from the old one: the main resource keeps status,
/// `/status` keeps all but status (a pod's also takes metadata labels and annotations).
void keepOtherPart(const Resource& resource, const std::string& subresource, const json::Value& old,
                   json::Value& next);

}  // namespace gs::sandbox
