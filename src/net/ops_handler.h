// The three pages that every process serves: /healthz (also /livez), /readyz (with ?verbose one line per check) and
// /metrics. A Handler for HttpServer; the questions behind it are asked on the server's threads.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/http_types.h"

namespace gs::net {

struct OpsPages {
  /// "" or why the process is to be restarted.
  std::function<std::string()> dead{};
  /// Each check by name: "" fulfilled, or why not. Ready when all are.
  std::function<std::vector<std::pair<std::string, std::string>>()> checks{};
  /// Prometheus text format.
  std::function<std::string()> metrics{};
};

/// What the pages refer to must outlive the handler. An empty page is always fine, or empty.
[[nodiscard]] Handler opsHandler(OpsPages pages);

}  // namespace gs::net
