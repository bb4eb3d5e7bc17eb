#include "serve/operator/flags.h"

#include <string_view>

namespace gs::serve {
namespace {

/// "" for every host.
std::string_view hostOf(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "0.0.0.0" || host == "[::]" ? "" : host;
}

/// Who listens at `one` listens at `other` too.
bool covers(std::string_view one, std::string_view other) {
  const auto port = [](std::string_view address) { return address.substr(address.rfind(':') + 1); };
  return !one.empty() && port(one) == port(other) && (hostOf(one).empty() || hostOf(one) == hostOf(other));
}

}  // namespace

std::string OperatorFlags::addressOf(const std::string& text) { return text == "0" ? "" : text; }

std::string OperatorFlags::metricsAddress() const {
  const std::string address = addressOf(metrics);
  return covers(pages(), address) ? "" : address;
}

void addOperator(process::Command command, OperatorFlags& f) {
  command.topic("Health")
      .text("--health-probe-bind-address", "HOST:PORT", f.health,
            "Address of /healthz, /readyz and /metrics by HTTP; 0: none")
      .text("--metrics-bind-address", "HOST:PORT", f.metrics, "Address of /metrics by HTTP besides; 0: none");
  process::addGoLog(command, f.log);
  command.topic("Of controller-runtime, taken without meaning");
  const auto ignore = [&](const char* name, const char* why) {
    command.ignored(
        name, [&f, name] { f.without_meaning.emplace_back(name); }, why);
  };
  ignore("--metrics-secure", "Metrics hold no secret, and go by HTTP");
  ignore("--enable-http2", "HTTP/1.1 is served");
  for (const char* name :
       {"--zap-devel", "--zap-encoder", "--zap-log-level", "--zap-stacktrace-level", "--zap-time-encoding"}) {
    ignore(name, "See --log-level and --log-format");
  }
}

}  // namespace gs::serve
