// loadAccess() and inClusterAccess() of kubeconfig.h: which files are read, in which order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/ascii.h"
#include "base/files.h"
#include "k8s/kubeconfig.h"

namespace gs::k8s {
namespace {

std::string envOr(const Surroundings& surroundings, const char* name) {
  return surroundings.env(name).value_or("");
}

std::vector<std::string> splitList(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) { parts.push_back(list.substr(at, end - at)); }
    at = end + 1;
  }
  return parts;
}

/// `must_exist`: else files that do not exist are left out, as kubectl does.
Result<Access> fromFiles(const std::vector<std::string>& paths, bool must_exist, const std::string& context) {
  Kubeconfig merged;
  for (const std::string& path : paths) {
    const auto text = readFile(path);
    if (!text && text.error().code == Code::NotFound && !must_exist) { continue; }
    if (!text) { return fail(text.error().code, "kubeconfig: " + text.error().message); }
    auto one = parseKubeconfig(*text, path);
    if (!one) { return tl::unexpected(one.error()); }
    mergeKubeconfig(merged, std::move(*one));
  }
  if (merged.files.empty()) {
    std::string all;
    for (const std::string& path : paths) { all += (all.empty() ? "" : ":") + path; }
    return fail(Code::NotFound,
                fmt::format("KUBECONFIG='{}' names no file that exists; set it to a kubeconfig file, or "
                            "pass --kubeconfig=FILE",
                            all));
  }
  auto access = resolveAccess(merged, context);
  if (!access) { return access; }
  // Named here, where it is known who names them; libcurl would only say that it could not connect.
  for (const std::string& named : {access->tls.ca_file, access->tls.cert_file, access->tls.key_file}) {
    if (named.empty()) { continue; }
    if (const auto text = readFile(named); !text) {
      return fail(text.error().code, fmt::format("{}: {}", access->origin, text.error().message));
    }
  }
  return access;
}

}  // namespace

Surroundings Surroundings::ofProcess() {
  Surroundings real;
  real.env = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
  return real;
}

Result<Access> inClusterAccess(const Surroundings& surroundings) {
  const std::string host = envOr(surroundings, "KUBERNETES_SERVICE_HOST");
  const std::string port = envOr(surroundings, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Code::NotFound,
                "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  const std::string& dir = surroundings.service_account_dir;
  for (const char* needed : {"/token", "/ca.crt"}) {
    const auto there = readFile(dir + needed);
    if (!there) {
      return fail(
          Code::Unavailable,
          fmt::format(
              "in a pod, but {}; give the pod a service account and leave automountServiceAccountToken "
              "on, or pass --kubeconfig=FILE",
              there.error().message));
    }
  }
  Access access;
  const bool ipv6 = host.find(':') != std::string::npos;
  access.server = fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
  access.tls.ca_file = dir + "/ca.crt";
  access.token_file = dir + "/token";
  const auto ns = readFile(dir + "/namespace");
  access.ns = ns && !trim(*ns).empty() ? std::string{trim(*ns)} : "default";
  access.origin = "the pod's service account";
  return access;
}

Result<Access> loadAccess(const std::string& kubeconfig_flag, const std::string& context,
                          const Surroundings& surroundings) {
  if (!kubeconfig_flag.empty()) { return fromFiles({kubeconfig_flag}, true, context); }
  const auto listed = splitList(envOr(surroundings, "KUBECONFIG"));
  if (!listed.empty()) { return fromFiles(listed, false, context); }
  auto in_cluster = inClusterAccess(surroundings);
  if (in_cluster || in_cluster.error().code != Code::NotFound) { return in_cluster; }
  const std::string home = envOr(surroundings, "HOME") + "/.kube/config";
  if (readFile(home)) { return fromFiles({home}, true, context); }
  return fail(Code::NotFound,
              fmt::format("no way to reach a cluster: no --kubeconfig, KUBECONFIG is not set, {}, and "
                          "{} cannot be read; pass --kubeconfig=FILE",
                          in_cluster.error().message, home));
}

Result<Access> loadAccessTo(const std::string& server, const std::string& kubeconfig_flag,
                            const std::string& context, const Surroundings& surroundings) {
  const bool is_named =
      !kubeconfig_flag.empty() || !context.empty() || !envOr(surroundings, "KUBECONFIG").empty();
  Access access;
  access.ns = "default";
  access.origin = "--master";
  if (server.empty() || is_named) {
    auto found = loadAccess(kubeconfig_flag, context, surroundings);
    if (server.empty() || !found) { return found; }
    access = *std::move(found);
  }
  access.server = serverUrl((server.find("://") == std::string::npos ? "http://" : "") + server);
  if (access.server.empty()) {  // not repeated: it may hold a password
    return fail(Code::Invalid,
                "--master is not the URL of an API server; write https://HOST:PORT, without user, query or "
                "fragment");
  }
  return access;
}

}  // namespace gs::k8s
