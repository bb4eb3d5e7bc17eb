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

#include "apiserver/meta/answer.h"
#include "apiserver/meta/selectors.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "json/value.h"

namespace gs::apiserver {

struct Request {
  std::string method;  // GET POST PUT PATCH DELETE
  std::string target;  // path and query
  std::string content_type = "application/json";
  json::Value body{};
  std::string bad_body{};    // why the bytes could not be read, in Go's words; then `body` is null
  std::string shown_body{};  // and what a message shows of them
  std::string user_agent{};  // owns what is written, where the query names no fieldManager; "": nobody does
};

struct Response {
  int code = 200;
  json::Value body{};
  std::string text{};  // when set: answered as plain text instead of `body`
  std::vector<std::string> warnings{};
};

[[nodiscard]] Response toResponse(const ApiError& error);

using WatchId = std::uint64_t;
struct ListOptions;

class Api {
 public:
  Api(Rng rng, Now now);
  /// Everything that is stored and the revision, as plain JSON.
  [[nodiscard]] json::Value save() const;
  /// Takes over what save() gave, in place of all that is there; watches from before are "too old". Error: what is wrong
  /// in it; then nothing changed.
  [[nodiscard]] gs::Status restore(const json::Value& saved) { return take(saved, false); }
  /// The same, and revisions go on from the saved one: those that were given since are given again, as by an etcd that was
  /// restored from a backup. Watches end without a word.
  [[nodiscard]] gs::Status goBack(const json::Value& saved) { return take(saved, true); }

  [[nodiscard]] Response handle(const Request& request, Now now);

  /// What every write to `target` is answered where nothing is served; nullopt: something is.
  [[nodiscard]] std::optional<ApiError> nowhere(std::string_view target) const;

  /// Opens a watch of "path?watch=true&resourceVersion=..."; absent or 0: ADDED for all that is there, then live.
  [[nodiscard]] Answer<WatchId> watch(std::string_view target);
  /// The next event {"type","object"}; nothing: none yet. An ERROR event (410) is the last.
  [[nodiscard]] std::optional<json::Value> poll(WatchId id);
  /// A bookmark after everything that poll() gives before it.
  void bookmark(WatchId id);
  void close(WatchId id) { watches_.erase(id); }
  /// False: closed, or ended (an ERROR was given, or what it watched is no longer served).
  [[nodiscard]] bool isOpen(WatchId id) const { return watches_.contains(id); }
  /// The last so many changes are remembered for watches, and so many bytes of objects (0: any).
  void keepHistory(std::size_t entries, std::size_t bytes) { store_.keepHistory(entries, bytes); }
  /// Forgets history: watches and lists from before now are "too old".
  void compact() { store_.compact(); }

  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] const Resources& resources() const { return resources_; }

 private:
  struct Watch {
    const Resource* resource = nullptr;
    std::string store_id;  // of it
    std::string ns;
    Selector labels;
    Selector fields;
    std::uint64_t position = 0;
    std::uint64_t from = 0;
    std::deque<json::Value> first;  // the initial ADDEDs; of one that ended, all that is left of it
    bool bookmark_due = false;
    bool too_old = false;
    bool ended = false;  // `resource` may not be there any more
  };
  [[nodiscard]] gs::Status take(const json::Value& saved, bool goes_back);
  using Result = Answer<Response>;
  enum class Checking : std::uint8_t { Ignore, Warn, Strict };  // of unknown fields
  /// One request on its way through.
  struct Call {
    Route route;
    const Request& request;
    Now now;
    bool dry_run = false;
    Checking checking = Checking::Warn;
    OwnersPtr owners{};  // of what an apply creates
    std::vector<std::string> warnings{};

    [[nodiscard]] const Resource& resource() const { return *route.resource; }
    [[nodiscard]] std::string query(const char* key) const { return valueOf(route.query, key); }
  };

  [[nodiscard]] Result dispatch(Call& call);
  [[nodiscard]] Result dispatchSubresource(Call& call);
  [[nodiscard]] std::optional<ApiError> noSubresource(const Route& route) const;
  [[nodiscard]] Done readOptions(Call& call) const;
  [[nodiscard]] Result get(const Call& call) const;
  [[nodiscard]] Result list(const Call& call) const;
  /// Where a list begins, and as of when.
  struct Span {
    std::uint64_t revision = 0;
    StoreKey after;
    bool continues = false;  // after `after`
  };
  [[nodiscard]] Answer<Span> spanOf(const Resource& resource, const ListOptions& options) const;

  // POST and PUT.
  [[nodiscard]] Result post(Call& call);
  [[nodiscard]] Result create(Call& call, json::Value object);
  [[nodiscard]] Result update(Call& call);
  /// The body: one of `type`, of its version, in the URL's namespace, decoded.
  [[nodiscard]] Answer<json::Value> readObject(Call& call, const Resource& type) const;
  /// With defaults, and without unknown fields, which become warnings. Error: what a decoder says. `known`: what is stored.
  [[nodiscard]] tl::expected<json::Value, std::string> decode(Call& call, const Resource& type,
                                                              json::Value object,
                                                              const json::Value& known = {}) const;
  [[nodiscard]] Done admit(const Call& call, json::Value& object) const;
  void stamp(Call& call, json::Value& object);
  /// Validation, and what to warn of; `old` null: a new object.
  [[nodiscard]] Done check(Call& call, const json::Value& object, const json::Value& old) const;
  [[nodiscard]] Done checkNameOnUrl(const Call& call, const json::Value& object) const;
  [[nodiscard]] static Refused preconditionFailed(const Call& call, const char* what, std::string_view want,
                                                  std::string_view have);
  /// Admits `next` as the new state of what is stored: subresource rules, generation, validation, no-op.
  /// `owners` null: whoever writes owns what changed.
  [[nodiscard]] Result replace(Call& call, const StoredObject& there, json::Value next, OwnersPtr owners);

  // PATCH.
  [[nodiscard]] Result patch(Call& call);
  [[nodiscard]] Answer<json::Value> patched(Call& call, const json::Value& there) const;
  [[nodiscard]] Result apply(Call& call);
  [[nodiscard]] Done checkConfig(const Call& call, const json::Value& config) const;
  [[nodiscard]] OwnersPtr owned(const Call& call, const OwnersPtr& before, const json::Value& old,
                                const json::Value& next) const;

  /// The scale subresource: how many replicas an object asks for, as a Scale of autoscaling/v1 (api_scale.cc).
  [[nodiscard]] Result scale(Call& call);

  // DELETE.
  [[nodiscard]] Answer<json::Value> deleteOptions(Call& call) const;
  [[nodiscard]] Result remove(Call& call);
  [[nodiscard]] Result removeAll(Call& call);
  [[nodiscard]] Result removeNow(Call& call, const StoredObject& there, const json::Value& options);
  [[nodiscard]] Result terminate(Call& call, const StoredObject& there, std::int64_t grace);
  [[nodiscard]] Result removeWithFinalizer(Call& call, const StoredObject& there, std::string_view finalizer);
  [[nodiscard]] Result removeCrd(Call& call, const StoredObject& there);
  [[nodiscard]] Result terminateNamespace(Call& call, const StoredObject& there);
  /// Deletes the objects of a CRD that is going, and the CRD once there are none.
  void emptyCrd(const std::string& name, Now now);
  void forgetCrd(const json::Value& crd);
  /// Deletes what is in a namespace that is going, and the namespace once it is empty.
  void emptyNamespace(const std::string& ns, Now now);
  /// As a controller does it: in the background, and once.
  void removeByItself(const StoreKey& key, Now now);
  /// Deletes what has none of its owners, and what that owned. As in a real server, an owner of a kind that is not served
  /// may be anywhere.
  void collectGarbage(Now now);
  [[nodiscard]] bool isGarbage(const StoreKey& orphan) const;
  void disown(std::string_view uid);
  ObjectPtr drop(const StoreKey& key, Now now);

  // Pods.
  [[nodiscard]] Result bind(Call& call);
  [[nodiscard]] Result evict(Call& call);
  void disrupt(const Call& call, const StoredObject& there);

  /// Stores it, unless it is a dry run; returns it as it is (would be) stored.
  ObjectPtr commit(const Call& call, json::Value object, OwnersPtr owners);
  /// Events go an hour after they were last written, as in a real server; looked at when the next one is written.
  void expireEvents(Now now);
  void tell(const StoreKey& event, Mono at);
  void giveServiceAccount(const std::string& ns, Now now);
  /// A CRD is served from now on, and its status says so; that of one which is going stays as it is.
  void establish(const json::Value& crd, Now now);
  /// A stored object in the form of the resource that it is read by.
  [[nodiscard]] static json::Value shown(const Resource& resource, const json::Value& object);
  [[nodiscard]] const StoredObject* stored(const Call& call) const { return store_.find(keyOf(call)); }
  [[nodiscard]] static StoreKey keyOf(const Call& call) {
    return {call.route.resource->storeId(), call.route.ns, call.route.name};
  }
  [[nodiscard]] std::optional<json::Value> eventOf(const Watch& w, const HistoryEntry& entry) const;
  /// The next that history has for it; an ERROR ends it.
  [[nodiscard]] std::optional<json::Value> read(Watch& w) const;
  /// Ends the watches of what is no longer served; what they did not read yet is kept for them.
  void endWatches(const Resource& gone);

  Rng rng_;
  Resources resources_;
  Store store_;
  std::map<WatchId, Watch> watches_;
  WatchId next_watch_ = 1;
  std::deque<std::pair<Mono, StoreKey>> told_;  // every write of an Event, in order
  std::map<StoreKey, Mono> last_told_;          // the last one of each Event
  bool emptying_ = false;                       // a namespace or a CRD, right now
  bool collecting_ = false;                     // garbage, right now
};

/// "converting (v1.Pod) to (core.ConfigMap): unknown conversion"
[[nodiscard]] std::string noConversion(const Resource& to, std::string_view kind);
/// What is wrong with DeleteOptions in themselves.
[[nodiscard]] Done checkDeleteOptions(const json::Value& options);
/// Error 409: the object with this metadata is not the one that the preconditions `wanted` are about.
[[nodiscard]] Done checkPreconditions(const Resource& resource, const std::string& name,
                                      const json::Value& meta, const json::Value& wanted);
/// The new object with what this kind of write may not change taken from the old one: the main resource keeps status,
/// `/status` keeps all but status (a pod's also takes metadata labels and annotations).
void keepOtherPart(const Resource& resource, const std::string& subresource, const json::Value& old,
                   json::Value& next);

}  // namespace gs::apiserver
