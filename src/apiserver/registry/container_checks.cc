// The containers of a pod, and its init containers. (Ephemeral ones cannot be given with a pod.)
#include <fmt/format.h>

#include <array>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;
using Names = std::set<std::string, std::less<>>;

constexpr std::array kProbes{"livenessProbe", "readinessProbe", "startupProbe"};
constexpr const char* kOnlySidecars = "may not be set for init containers without restartPolicy=Always";

void checkPorts(const Value& ports, const std::string& field, FieldErrors& errors) {
  Names names;
  for (std::size_t i = 0; i < ports.items().size(); ++i) {
    const Value& port = ports.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    if (const auto name = port["name"].str(); !name.empty()) {
      const Texts wrong = portNameErrors(name);
      refuseFor(errors, at + ".name", port["name"], wrong);
      if (wrong.empty() && !names.emplace(name).second) {
        errors.push_back(fieldDuplicate(at + ".name", goQuote(name)));
      }
    }
    if (port["containerPort"].intOr(0) == 0) {
      errors.push_back(fieldRequired(at + ".containerPort"));
    } else {
      refuseFor(errors, at + ".containerPort", port["containerPort"],
                portNumberErrors(port["containerPort"].intOr(0)));
    }
    if (port["hostPort"].intOr(0) != 0) {
      refuseFor(errors, at + ".hostPort", port["hostPort"], portNumberErrors(port["hostPort"].intOr(0)));
    }
    checkKnownOrMissing(errors, at + ".protocol", port["protocol"], {"SCTP", "TCP", "UDP"});
  }
}

/// A port of the host that another container has too.
void checkHostPorts(const Value& container, const std::string& field, Names& taken, FieldErrors& errors) {
  const auto& ports = container["ports"].items();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto host_port = ports[i]["hostPort"].intOr(0);
    if (host_port == 0) { continue; }
    const std::string one =
        fmt::format("{}/{}/{}", ports[i]["protocol"].str(), ports[i]["hostIP"].str(), host_port);
    if (!taken.insert(one).second) {
      errors.push_back(fieldDuplicate(fmt::format("{}.ports[{}].hostPort", field, i), goQuote(one)));
    }
  }
}

/// On the node's network a container has the ports of the node.
void checkPortsOfHost(const PodAround& pod, const Value& container, const std::string& field,
                      FieldErrors& errors) {
  if (!pod.spec["hostNetwork"].boolOr(false)) { return; }
  const auto& ports = container["ports"].items();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto host_port = ports[i]["hostPort"].intOr(0);
    if (host_port == ports[i]["containerPort"].intOr(0) || (host_port == 0 && !pod.is_pod)) { continue; }
    errors.push_back(fieldInvalid(fmt::format("{}.ports[{}].hostPort", field, i), Value{host_port},
                                  "must match `containerPort` when `hostNetwork` is true"));
  }
}

void checkResizePolicy(const PodAround& pod, const Value& policies, const std::string& field,
                       FieldErrors& errors) {
  Names resources;
  for (std::size_t i = 0; i < policies.items().size(); ++i) {
    const Value& policy = policies.items()[i];
    const auto resource = policy["resourceName"].str();
    const std::string shown{resource};  // without quotes
    if (!resources.insert(shown).second) {
      errors.push_back(fieldDuplicate(fmt::format("{}[{}]", field, i), shown));
    }
    if (resource.empty()) {
      errors.push_back(fieldRequired(field));
    } else if (resource != "cpu" && resource != "memory") {
      errors.push_back(fieldNotSupported(field, shown, {"cpu", "memory"}));
    }
    checkKnownOrMissing(errors, field, policy["restartPolicy"], {"NotRequired", "RestartContainer"});
    if (pod.spec["restartPolicy"].str() == "Never" && policy["restartPolicy"].str() != "NotRequired") {
      errors.push_back(fieldInvalid(field, policy["restartPolicy"],
                                    "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    }
  }
}

/// What all kinds of containers have.
void checkCommon(const PodAround& pod, const Value& c, const std::string& field, FieldErrors& errors) {
  const auto name = c["name"].str();
  if (name.empty()) {
    errors.push_back(fieldRequired(field + ".name"));
  } else {
    refuseFor(errors, field + ".name", c["name"], dnsLabelErrors(name));
  }
  const auto image = c["image"].str();
  if (image.empty()) { errors.push_back(fieldRequired(field + ".image")); }
  if (pod.is_pod && withoutSpace(image).size() != image.size()) {
    errors.push_back(
        fieldInvalid(field + ".image", c["image"], "must not have leading or trailing whitespace"));
  }
  checkKnownOrMissing(errors, field + ".terminationMessagePolicy", c["terminationMessagePolicy"],
                      {"File", "FallbackToLogsOnError"});
  checkPorts(c["ports"], field + ".ports", errors);
  checkEnv(c["env"], field + ".env", errors);
  checkEnvFrom(c["envFrom"], field + ".envFrom", errors);
  checkMounts(pod, c, field, errors);
  checkKnownOrMissing(errors, field + ".imagePullPolicy", c["imagePullPolicy"],
                      {"Always", "IfNotPresent", "Never"});
  checkContainerResources(c["resources"], field + ".resources", errors);
  checkContainerClaims(pod, c["resources"]["claims"], field + ".resources.claims", errors);
  checkResizePolicy(pod, c["resizePolicy"], field + ".resizePolicy", errors);
  const Value& context = c["securityContext"];
  if (context.isObject()) {
    checkContainerSecurity(context, pod.spec["hostUsers"].boolOr(true), field + ".securityContext", errors);
  }
}

/// What containers that go on have.
void checkHandlers(const PodAround& pod, const Value& c, const std::string& field, FieldErrors& errors) {
  if (c["lifecycle"].isObject()) {
    checkLifecycle(c["lifecycle"], pod.spec["terminationGracePeriodSeconds"], field + ".lifecycle", errors);
  }
  for (const char* probe : kProbes) {
    if (c[probe].isObject()) { checkProbe(c[probe], probe, fmt::format("{}.{}", field, probe), errors); }
  }
}

}  // namespace

void checkContainers(const PodAround& pod, const std::string& field, FieldErrors& errors) {
  const auto& containers = pod.spec["containers"].items();
  if (containers.empty()) { errors.push_back(fieldRequired(field)); }
  Names names;
  Names host_ports;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& c = containers[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    checkCommon(pod, c, at, errors);
    if (!names.emplace(c["name"].str()).second) {
      errors.push_back(fieldDuplicate(at + ".name", goQuote(c["name"].str())));
    }
    checkHandlers(pod, c, at, errors);
    if (!c["restartPolicy"].isNull()) {
      errors.push_back(fieldForbidden(at + ".restartPolicy", "may not be set for non-init containers"));
    }
    checkHostPorts(c, at, host_ports, errors);
    checkPortsOfHost(pod, c, at, errors);
  }
}

void checkInitContainers(const PodAround& pod, const std::string& field, FieldErrors& errors) {
  Names names;
  for (const Value& c : pod.spec["containers"].items()) { names.emplace(c["name"].str()); }
  const auto& containers = pod.spec["initContainers"].items();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& c = containers[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    checkCommon(pod, c, at, errors);
    checkKnownIfThere(errors, at + ".restartPolicy", c["restartPolicy"], {"Always"});
    const auto name = c["name"].str();
    if (names.contains(name)) {
      errors.push_back(fieldDuplicate(at + ".name", goQuote(name)));
    } else if (!name.empty()) {
      names.emplace(name);
    }
    Names host_ports;  // they run one after the other
    checkHostPorts(c, field + "[0]", host_ports, errors);
    if (c["restartPolicy"].str() == "Always") {
      checkHandlers(pod, c, at, errors);
      continue;
    }
    for (const char* part : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
      if (c[part].isObject()) {
        errors.push_back(fieldForbidden(fmt::format("{}.{}", at, part), kOnlySidecars));
      }
    }
  }
}

}  // namespace gs::apiserver
