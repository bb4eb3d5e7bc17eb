// Effects and events: what a machine asks of the Kubernetes API and what comes back, as values.
//
// A machine (scheduler, election, reflector) is `handle(Event, Now) -> Effects`. Whoever runs it (k8s/ with
// threads and sockets, sandbox/ with virtual time) carries the effects out and posts what came back as
// events. A call that was sent always comes back exactly once as an Outcome with its token; `Unknown` means
// that it may have been applied, may be applied later, or never. The runner never repeats a write by itself.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "kapi/kind.h"
#include "model/object.h"

namespace gs::kapi {

/// Names a call or a stream of one machine. The high byte says whose it is (see tokenOwner), the rest counts.
using Token = std::uint64_t;
constexpr Token makeToken(std::uint8_t owner, std::uint64_t n) { return (Token{owner} << 56) | n; }
constexpr std::uint8_t tokenOwner(Token t) { return static_cast<std::uint8_t>(t >> 56); }

enum class Verb : std::uint8_t { Get, List, Create, Update, MergePatch, StrategicPatch, Apply, Delete };
[[nodiscard]] inline bool isRead(Verb verb) { return verb == Verb::Get || verb == Verb::List; }

/// One request. Preconditions are in `body` already (kapi/write.h builds it).
struct Call {
  Token token = 0;
  Verb verb = Verb::Get;
  Kind kind{};
  model::ObjectKey key;     // name "" for List and Create
  std::string subresource;  // "", "status", "binding"
  std::string query;        // without '?', already encoded: "limit=500&continue=..."
  json::Value body;
  Duration timeout = std::chrono::seconds{10};
  /// Calls of one ordering key are carried out one after the other in the order given; "" : no order.
  /// Different ordering keys run side by side.
  std::string ordering_key;
  /// Sent only while we lead (the runner asks its LeaderGate just before sending); else CallResult::NotSent.
  bool leader_only = false;
};

enum class CallResult : std::uint8_t {
  Applied,  // 2xx
  Refused,  // answered, and the answer says that nothing was done (400 401 403 404 405 409 413 415 422 429)
  Unknown,  // 5xx, timeout, lost connection after sending
  NotSent,  // never left this process (no connection, not leading, stopping)
};

struct Outcome {
  Token token = 0;
  CallResult result = CallResult::Unknown;
  int http = 0;         // 0 when there was no answer
  std::string reason;   // Status.reason: "Conflict", "AlreadyExists", "Expired" ...
  std::string message;  // Status.message, or what happened to the connection
  bool is_status =
      false;  // a Status says so: it is about that object, where a server that is too busy speaks plain text
  Duration retry_after{};  // 429/503 with Retry-After
  model::Object object;    // the decoded answer of Get and of writes, when it is of a kind that we decode
  // Lists
  std::vector<model::Object> items;
  model::Revision list_revision = 0;
  std::string continue_token;
  bool too_large = false;  // the answer was over our limit; a smaller page may not be

  /// The API server says that there is no such object. (A 404 of a proxy on the way, or of a kind that is not
  /// served, says nothing about an object.)
  [[nodiscard]] bool notFound() const { return http == 404 && reason == "NotFound"; }
};

/// What of a kind is listed or watched; not yet encoded. "" all.
struct Selectors {
  std::string labels;
  std::string fields;
};

/// Streams. Events of one stream come in the server's order; after WatchEnded nothing more comes of it.
struct OpenWatch {
  Token stream = 0;
  Kind kind{};
  std::string ns;  // "" all namespaces
  std::string
      query;  // resourceVersion, allowWatchBookmarks, timeoutSeconds, selectors; target() adds watch=true
};
struct CloseWatch {
  Token stream = 0;
};

enum class WatchType : std::uint8_t { Added, Modified, Deleted, Bookmark };
struct WatchEvent {
  Token stream = 0;
  WatchType type{};
  model::Object object;          // Deleted: the last state; Bookmark: nothing
  model::ObjectKey key;          // also where the object could not be decoded
  model::Revision revision = 0;  // of this event
};
struct WatchEnded {
  Token stream = 0;
  int http = 0;         // 200: the server closed it in time; 410: relist (also an ERROR event with code 410)
  std::string message;  // empty when it ended normally
};

/// Post a TimerDue at `at`. A machine may ask as often as it likes; being woken early or twice does no harm.
struct Wake {
  Mono at{};
};
struct TimerDue {};

enum class Level : std::uint8_t { Debug, Info, Warn, Error };
struct Log {
  Level level{};
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;
};

enum class MetricOp : std::uint8_t { Add, Set, Observe, Remove };
/// `name` is one of the component's metrics.h, and stands in the table of its program, metric_specs.h in its
/// folder below serve/: without a kind and a help text there it is ignored. Remove drops a labelled gauge.
struct Metric {
  MetricOp op{};
  const char* name = "";
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

using Effect = std::variant<Call, OpenWatch, CloseWatch, Wake, Log, Metric>;
using Effects = std::vector<Effect>;

/// Leadership as the election tells it to the component and the runner's gate. `until`:
/// writes stop then unless renewed.
struct Leadership {
  bool leading = false;
  std::uint64_t term = 0;  // counts our own terms; 0 before the first
  Mono until{};
  bool soon = false;  // not leading, but whoever holds the lease is silent: we shall try to lead in a moment
  bool went_back =
      false;  // the leader lease is older than it was: the server was restored; never leads again
};

/// What happens to a machine: answers to its calls, what its watches bring, time, leadership.
using MachineEvent = std::variant<Outcome, WatchEvent, WatchEnded, TimerDue, Leadership>;

}  // namespace gs::kapi
