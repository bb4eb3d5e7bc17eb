// Probes and hooks of containers, and what they do.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

/// A number or a name.
void checkPortRef(const Value& port, const std::string& field, FieldErrors& errors) {
  const Value shown = port.isNull() ? Value{0} : port;
  refuseFor(errors, field, shown,
            port.isString() ? portNameErrors(port.str()) : portNumberErrors(port.intOr(0)));
}

void checkExec(const Value& exec, const std::string& field, FieldErrors& errors) {
  if (exec["command"].items().empty()) { errors.push_back(fieldRequired(field + ".command")); }
}

void checkHttpGet(const Value& get, const std::string& field, FieldErrors& errors) {
  if (get["path"].str().empty()) { errors.push_back(fieldRequired(field + ".path")); }
  checkPortRef(get["port"], field + ".port", errors);
  checkKnown(errors, field + ".scheme", get["scheme"], {"HTTP", "HTTPS"});
  for (const Value& header : get["httpHeaders"].items()) {
    refuseFor(errors, field + ".httpHeaders", header["name"], headerNameErrors(header["name"].str()));
  }
}

void checkSleep(const Value& sleep, const Value& grace, const std::string& field, FieldErrors& errors) {
  const auto seconds = sleep["seconds"].intOr(0);
  if (grace.isNull() || (seconds >= 0 && seconds <= grace.intOr(0))) { return; }
  errors.push_back(fieldInvalid(
      field, Value{seconds},
      fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})", grace.intOr(0))));
}

void checkAction(std::string_view kind, const Value& action, const Value& grace, const std::string& field,
                 FieldErrors& errors) {
  if (kind == "exec") { return checkExec(action, field, errors); }
  if (kind == "httpGet") { return checkHttpGet(action, field, errors); }
  if (kind == "sleep") { return checkSleep(action, grace, field, errors); }
  checkPortRef(action["port"], field + ".port", errors);
}

/// One action, no more.
void checkHandler(const Value& handler, const Value& grace, const std::string& field, FieldErrors& errors) {
  static constexpr std::array kKinds{"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
  bool any = false;
  for (const char* kind : kKinds) {
    if (!handler[kind].isObject()) { continue; }
    const std::string here = fmt::format("{}.{}", field, kind);
    if (any) {
      errors.push_back(fieldForbidden(here, "may not specify more than 1 handler type"));
    } else {
      checkAction(kind, handler[kind], grace, here, errors);
    }
    any = true;
  }
  if (!any) { errors.push_back(fieldRequired(field, "must specify a handler type")); }
}

}  // namespace

void checkProbe(const json::Value& probe, std::string_view kind, const std::string& field,
                FieldErrors& errors) {
  if (!probe.isObject()) { return; }
  checkHandler(probe, {}, field, errors);
  for (const char* name :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
    checkNotNegative(errors, fmt::format("{}.{}", field, name), probe[name]);
  }
  const Value& grace = probe["terminationGracePeriodSeconds"];
  const std::string of_grace = field + ".terminationGracePeriodSeconds";
  if (!grace.isNull() && grace.intOr(0) <= 0) {
    errors.push_back(fieldInvalid(of_grace, grace, "must be greater than 0"));
  }
  const bool readiness = kind == "readinessProbe";
  if (readiness && !grace.isNull()) {
    errors.push_back(fieldInvalid(of_grace, grace, "must not be set for readinessProbes"));
  }
  if (!readiness && probe["successThreshold"].intOr(0) != 1) {
    errors.push_back(
        fieldInvalid(field + ".successThreshold", Value{probe["successThreshold"].intOr(0)}, "must be 1"));
  }
}

void checkLifecycle(const json::Value& lifecycle, const json::Value& grace, const std::string& field,
                    FieldErrors& errors) {
  for (const char* when : {"postStart", "preStop"}) {
    if (!lifecycle[when].isObject()) { continue; }
    checkHandler(lifecycle[when], grace, fmt::format("{}.{}", field, when), errors);
  }
}

}  // namespace gs::apiserver
