// The flags of the operator's webhook, and the variables that its ancestor's manifests have.
// What is read into must outlive the parsing.
#pragma once

#include <optional>
#include <string>

#include "admission/certificates.h"
#include "base/result.h"
#include "cacherim/registry/mirrors.h"
#include "k8s/kubeconfig.h"
#include "net/tls.h"
#include "operator/admission/signing_key.h"
#include "process/command.h"
#include "serve/admission/shown_pair.h"

namespace gs::serve {

struct CacheWebhookFlags {
  std::string address = ":9443";  // "0": none
  std::string cert_dir{};         // "": it makes its certificate itself
  std::string authfile{};         // "": those of the environment
  std::string ca_file{};
  std::string registry_mirrors{};
  cacherim::Mirrors mirrors{};  // read() makes them of these
  bool kyverno = false;
  std::string signing_key{};  // MUTATION_SIGNING_KEY; "": that of the Secret

  /// Takes what the environment says. Error Invalid: a variable's value, and what would be right.
  [[nodiscard]] Status read(const k8s::Surroundings& surroundings);
  [[nodiscard]] bool isServed() const { return !address.empty() && address != "0"; }
  /// `ns`: our own. nullopt: it comes from files.
  [[nodiscard]] std::optional<admission::Certificates::Config> certificates(const std::string& ns) const;
  /// nullopt: it comes from the environment.
  [[nodiscard]] std::optional<gkm::SigningKey::Config> key(const std::string& ns) const;
  /// `pair` must outlive the server.
  [[nodiscard]] net::ServerTls tls(const ShownPair& pair) const;
};
void addCacheWebhook(process::Command command, CacheWebhookFlags& flags);

}  // namespace gs::serve
