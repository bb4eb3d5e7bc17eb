// kubeconfig files as values, and from them the Access. Pure but for loadAccess(), which reads files.
//
// As kubectl reads them: KUBECONFIG lists are merged and the first file that names a cluster, user, context
// or the current context wins; relative paths are relative to the file they stand in; data wins over files.
// What we cannot do (exec plugins, auth providers, passwords, impersonation) is an error for the user that is
// chosen, never silently left out. Errors name the file, the field and the fix.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "k8s/access.h"

namespace gs::k8s {

struct Kubeconfig {
  struct Cluster {
    std::string name;
    std::string server;
    std::string ca_pem;
    std::string ca_file;
    std::string tls_server_name;
    std::string proxy_url;
    bool insecure = false;
    std::string file;  // where it stands
  };
  struct User {
    std::string name;
    std::string cert_pem;
    std::string cert_file;
    std::string key_pem;
    std::string key_file;
    std::string token;
    std::string token_file;
    std::string unsupported;  // "" or the field that we cannot honour, such as "exec"
    std::string file;
  };
  struct Context {
    std::string name;
    std::string cluster;
    std::string user;
    std::string ns;
    std::string file;
  };
  std::vector<Cluster> clusters;
  std::vector<User> users;
  std::vector<Context> contexts;
  std::string current_context;
  std::string files;  // "a, b": for messages
};

/// `file` is the path that the text was read from. Error Invalid.
[[nodiscard]] Result<Kubeconfig> parseKubeconfig(std::string_view text, const std::string& file);
/// What `into` has already, it keeps.
void mergeKubeconfig(Kubeconfig& into, Kubeconfig next);
/// `context` "": the current one. Error Invalid or NotFound.
[[nodiscard]] Result<Access> resolveAccess(const Kubeconfig& config, const std::string& context);

/// As calls use it: no slash at its end; "": it is no URL of an API server. One with a user or a password in
/// it is none: it would be logged.
[[nodiscard]] std::string serverUrl(std::string url);

/// The process's surroundings as an argument.
struct Surroundings {
  std::function<std::optional<std::string>(const char* name)> env;
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";

  /// The real ones.
  static Surroundings ofProcess();
};

/// --kubeconfig if given; else KUBECONFIG if set; else the pod's service account; else ~/.kube/config.
[[nodiscard]] Result<Access> loadAccess(const std::string& kubeconfig_flag, const std::string& context,
                                        const Surroundings& surroundings);
/// The same, of the API server `server` (a URL, or host:port) as client-go's --master says it: without
/// credentials where no kubeconfig is named, so that no pod's token goes anywhere else. "": as loadAccess().
[[nodiscard]] Result<Access> loadAccessTo(const std::string& server, const std::string& kubeconfig_flag,
                                          const std::string& context, const Surroundings& surroundings);
/// The pod's service account. Error NotFound: not in a pod.
[[nodiscard]] Result<Access> inClusterAccess(const Surroundings& surroundings);

}  // namespace gs::k8s
