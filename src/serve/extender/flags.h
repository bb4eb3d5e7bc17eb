// Flags of programs that serve the extender, and what follows from them.
// What is read into must outlive the parsing.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "base/result.h"
#include "model/pod.h"
#include "net/http_server.h"
#include "process/flags.h"

namespace gs::serve {

struct ExtenderFlags {
  std::string address;  // "" : no extender
  std::string compat = "default";
  std::string volcano;
  std::string advertise_address;
  process::TlsFlags tls;
  std::string leader_ca_file;
  std::size_t workers = 32;
  [[nodiscard]] bool strict() const { return compat == "strict"; }
  /// What is wrong with them.
  [[nodiscard]] Status check() const;
};

/// Of a scheduler that also answers a kube-scheduler for its pods (scheduler/extender_pods.h).
struct OfferFlags {
  std::string extender_pods;  // schedulerNames, parted by commas
  bool schedules = true;
  [[nodiscard]] std::set<std::string> names() const;
  [[nodiscard]] Status check(const ExtenderFlags& extender, const std::string& own_name) const;
};
void addOffers(process::Command command, OfferFlags& flags);
/// Whether a pod's GPUs are offered; null where no schedulerName was given.
[[nodiscard]] std::function<bool(const model::Pod&)> offeredTo(const OfferFlags& flags);

/// `address`: that flag's name, which is another one in each program, and what is said of it.
void addExtender(process::Command command, ExtenderFlags& flags, const std::string& address,
                 const std::string& help);
/// Of flags that were checked. Takes as many descriptors as it may:
/// ten thousand schedulers may leave connections open.
[[nodiscard]] net::HttpServer::Options httpOptionsOf(const ExtenderFlags& flags);
/// What the other replica is shown, and must show, when this one sends requests on to it.
[[nodiscard]] net::ClientTls leaderTls(const ExtenderFlags& flags);
/// Where the other replica finds this one: "https://10.0.0.7:3456".
[[nodiscard]] std::string advertised(const ExtenderFlags& flags);

}  // namespace gs::serve
