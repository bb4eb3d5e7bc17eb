#include "net/ops_handler.h"

namespace gs::net {
namespace {

Response health(const OpsPages& pages) {
  const std::string why = pages.dead ? pages.dead() : "";
  return why.empty() ? textResponse(200, "ok\n") : textResponse(500, why + "\n");
}

Response readiness(const OpsPages& pages, bool verbose) {
  bool ready = true;
  std::string lines;
  if (pages.checks) {
    for (const auto& [name, why_not] : pages.checks()) {
      ready = ready && why_not.empty();
      lines += (why_not.empty() ? "[+]" + name + " ok\n" : "[-]" + name + " failed: " + why_not + "\n");
    }
  }
  lines += ready ? "readyz check passed\n" : "readyz check failed\n";
  return textResponse(ready ? 200 : 503, ready && !verbose ? "ok\n" : lines);
}

}  // namespace

Handler opsHandler(OpsPages pages) {
  return [pages = std::move(pages)](const Request& request) {
    const std::string_view path = request.path();
    const bool known = path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/metrics";
    if (!known) { return textResponse(404, "404 page not found: there are /healthz, /readyz and /metrics\n"); }
    if (request.method != "GET" && request.method != "HEAD") { return textResponse(405, "only GET\n"); }
    if (path == "/readyz") { return readiness(pages, request.target.find("verbose") != std::string::npos); }
    if (path == "/metrics") {
      return Response{200,
                      {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                      pages.metrics ? pages.metrics() : ""};
    }
    return health(pages);
  };
}

}  // namespace gs::net
