// The extender's HTTP: paths and bodies in, replies out. No state, no socket;
// the machine is asked through Backend.
//
//   POST /scheduler/predicates, filter, priorities, preempt, bind        kube-scheduler
//   POST /scheduler/vpredicates, prioritize, allocateFunc, deallocateFunc, onSessionOpen ...      Volcano
//   POST /scheduler/volcano-1.6/..., -1.8, -1.10, -1.13                   the same in what that Volcano reads
//   GET  /version, /hello
// Other paths are 404, other methods 405. A body that cannot be read is answered as the ancestor did where a
// scheduler reads it (200 with Error, or 400). From Volcano 1.13 on a predicate only looks and allocateFunc
// gives; before, predicates give.
// For the other callbacks of Volcano the extender has no opinion.
// answer() may be called by many threads, each with a scanner of its own.
#pragma once

#include <functional>
#include <string>

#include "extender/protocol/answers.h"
#include "extender/protocol/request.h"
#include "json/scanner.h"
#include "net/http_types.h"

namespace gs::extender {

/// Asks the machine, and waits.
class Backend {
 public:
  virtual ~Backend() = default;
  /// The table of the last answer that had one.
  [[nodiscard]] virtual NodeTablePtr table() = 0;
  /// Kind Unavailable when nothing came in time.
  [[nodiscard]] virtual Answer ask(Request request) = 0;
};

/// How plain paths speak to Volcano.
struct VolcanoRules {
  Dialect dialect = Dialect::Superset;
  bool allocates = false;  // it calls allocateFunc: predicates only look
};
/// "", "1.6" .. "1.9", "1.10" and later; nullopt: no such Volcano.
[[nodiscard]] std::optional<VolcanoRules> volcanoRules(std::string_view version);

class RequestHandler {
 public:
  struct Config {
    std::string version;
    VolcanoRules volcano{};
    /// Its GPUs are offered by the scheduler in the same process; null: no pod's are.
    std::function<bool(const model::Pod&)> offered{};
  };
  explicit RequestHandler(Config config) : config_{std::move(config)} {}

  /// `verb` is "" for what is none of ours; `result` is one of: placed, misfit, untouched (no GPU is asked
  /// for), done, failed, unavailable, invalid.
  struct Served {
    net::Response response;
    std::string verb{};
    std::string_view result = "invalid";
  };
  [[nodiscard]] Served answer(net::Request request, json::Scanner& scanner, Backend& backend) const;

 private:
  Config config_;
};

}  // namespace gs::extender
