// Flags that several programs have, each group with what follows from it.
// What is read into must outlive the parsing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "controller/election.h"
#include "k8s/access.h"
#include "k8s/kubeconfig.h"
#include "net/tls.h"
#include "process/command.h"

namespace gs::process {

/// Which API server, and as whom.
struct ClusterFlags {
  std::string kubeconfig{};
  std::string context{};
  std::string master{};
  bool in_cluster = false;
  std::size_t connections = 32;
  /// As the flags and the process's surroundings say. Errors as loadAccessTo().
  [[nodiscard]] Result<k8s::Access> access() const;
};
void addCluster(Command command, ClusterFlags& flags);
/// --kubeconfig and --context alone: for who asks now and then.
void addKubeconfig(Command command, ClusterFlags& flags);
/// --master and --incluster-mode, of those that client-go's examples have.
void addClientGo(Command command, ClusterFlags& flags);

struct ElectionFlags {
  bool elect = true;
  std::string lease_namespace{};          // "": our own
  std::string lease{};                    // its name
  controller::Election::Config config{};  // the rest
};
/// `lease_namespace`: what is said of that flag.
void addElection(Command command, ElectionFlags& flags, const std::string& lease_namespace);
/// The election as the flags want it, its lease in `own_namespace` where they do not say; nullopt: none.
/// Error Invalid: they contradict each other.
[[nodiscard]] Result<std::optional<controller::Election::Config>> electionOf(
    const ElectionFlags& flags, const std::string& own_namespace);

struct LogFlags {
  std::string level = "info";
  std::string format = "text";
};
void addLog(Command command, LogFlags& flags);
/// --log-format alone.
void addLogFormat(Command command, LogFlags& flags);
/// For GKM's programs, whose manifests set GO_LOG: --log-level, which is "" before it is parsed, and
/// --log-format.
void addGoLog(Command command, LogFlags& flags);
/// --log-level, else GO_LOG (info, debug, trace), else info.
[[nodiscard]] LogFlags goLogOf(const LogFlags& flags, const k8s::Surroundings& surroundings);
/// From now on lines are written so. Before other threads log.
void useLog(const LogFlags& flags);

/// What an HTTPS server shows, and whom it takes.
struct TlsFlags {
  std::string cert_file{};
  std::string key_file{};
  std::string client_ca_file{};
};
/// The certificate and its key; `shown_to` ends what is said of them.
void addServerTls(Command command, TlsFlags& flags, const std::string& shown_to = "");
void addClientCa(Command command, TlsFlags& flags);
/// nullopt: plain HTTP. Error Invalid: one of them without another.
[[nodiscard]] Result<std::optional<net::ServerTls>> serverTlsOf(const TlsFlags& flags);

}  // namespace gs::process
