// The Kubernetes API server in memory: requests in, answers and watch events out, as the real server words
// them (kubectl-wire facts). Requests are method, target, content type and a JSON body, so the World calls it
// directly and an HTTP server needs only text around it.
//
// This class routes and puts the parts together: reads.h, writes.h, deletes.h and pods.h answer, the store
// and the watch cache keep, the plugins of admission/ change and refuse, the controllers of lifecycle/ see to
// what goes by itself.
// Pure and deterministic: time is an argument, uids and name suffixes come from the Rng. One thread.
// Watch events are pulled (poll), so a driver can delay, drop or double them.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <variant>

#include "apiserver/admission/admission.h"
#include "apiserver/handlers/call.h"
#include "apiserver/handlers/deletes.h"
#include "apiserver/handlers/pods.h"
#include "apiserver/handlers/request.h"
#include "apiserver/handlers/writes.h"
#include "apiserver/lifecycle/crd_controller.h"
#include "apiserver/lifecycle/event_expiry.h"
#include "apiserver/lifecycle/garbage_collector.h"
#include "apiserver/lifecycle/namespace_controller.h"
#include "apiserver/meta/answer.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "apiserver/storage/watch_cache.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "json/value.h"

namespace gs::apiserver {

class Api {
 public:
  Api(Rng rng, Now now);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Everything that is stored and the revision, as plain JSON.
  [[nodiscard]] json::Value save() const;
  /// Takes over what save() gave, in place of all that is there; watches from before are "too old". Error:
  /// what is wrong in it; then nothing changed.
  [[nodiscard]] gs::Status restore(const json::Value& saved) { return take(saved, false); }
  /// The same, and revisions go on from the saved one: those that were given since are given again, as by an
  /// etcd that was restored from a backup. Watches end without a word.
  [[nodiscard]] gs::Status goBack(const json::Value& saved) { return take(saved, true); }

  /// Answers at once. Nobody waits for an admission plugin: one that cannot say yet has to say what it says
  /// when it fails.
  [[nodiscard]] Response handle(const Request& request, Now now);
  /// As handle(), for who can wait: the answer, or the ticket of a request that an admission plugin answers
  /// later. Nothing was written then.
  [[nodiscard]] std::variant<Response, RequestId> begin(Request request, Now now);
  /// What the plugin says that this request waits for: the request begins again. Nothing: it waits for
  /// another plugin now, or was given up.
  [[nodiscard]] std::optional<Response> answered(RequestId request_id, AdmissionResponse said, Now now);
  /// Nobody waits for it any more.
  void giveUp(RequestId request_id) { waiting_.erase(request_id); }
  /// For plugins of whoever runs this server: they come after the built-in ones.
  [[nodiscard]] Admission& admission() { return admission_; }

  /// What every write to `target` is answered where nothing is served; nullopt: something is.
  [[nodiscard]] std::optional<ApiError> nowhere(std::string_view target) const;

  /// Opens a watch of "path?watch=true&resourceVersion=..."; absent or 0: ADDED for all that is there,
  /// then live.
  [[nodiscard]] Answer<WatchId> watch(std::string_view target);
  // Of open watches, as watch_cache.h says.
  [[nodiscard]] std::optional<json::Value> poll(WatchId id) { return watches_.poll(id); }
  void bookmark(WatchId id) { watches_.bookmark(id); }
  void close(WatchId id) { watches_.close(id); }
  [[nodiscard]] bool isOpen(WatchId id) const { return watches_.isOpen(id); }
  /// The last so many changes are remembered for watches, and so many bytes of objects (0: any).
  void keepHistory(std::size_t entries, std::size_t bytes) { store_.keepHistory(entries, bytes); }
  /// Forgets history: watches and lists from before now are "too old".
  void compact() { store_.compact(); }

  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] const Resources& resources() const { return resources_; }

 private:
  struct Waiting {
    Request request;
    Kept kept;
  };
  /// Nothing: it waits (kept.notes).
  [[nodiscard]] std::optional<Response> answer(const Request& request, Kept& kept, Now now);
  [[nodiscard]] gs::Status take(const json::Value& saved, bool goes_back);
  [[nodiscard]] Handled dispatch(Call& call);
  [[nodiscard]] Handled dispatchSubresource(Call& call);
  [[nodiscard]] Handled post(Call& call);
  [[nodiscard]] std::optional<ApiError> noSubresource(const Route& route) const;

  Store store_;
  Resources resources_;
  WatchCache watches_{store_};
  EventExpiry events_;
  Admission admission_;
  GarbageCollector garbage_{store_, resources_};
  NamespaceController namespaces_{store_, resources_};
  CrdController definitions_{store_, resources_, watches_};
  Deletes deletes_{store_, resources_, admission_, garbage_, namespaces_, definitions_};
  PodSubresources pods_{store_, resources_, admission_, deletes_};
  Writes writes_;
  std::map<RequestId, Waiting> waiting_;
  RequestId next_request_id_ = 1;
};

}  // namespace gs::apiserver
