// The flags of gpu-scheduler-webhook, and what follows from them.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "net/http_server.h"
#include "process/command.h"
#include "process/flags.h"
#include "serve/admission/server.h"
#include "serve/admission/shown_pair.h"
#include "webhook/handler.h"
#include "webhook/webhook.h"

namespace gs::serve {

struct WebhookFlags {
  std::string address = "0.0.0.0:8443";
  std::string schedulers = "gpu-scheduler";  // parted by commas
  std::string device_order = "PCI_BUS_ID";
  std::string inject_limits = "auto";
  bool gate = false;
  process::TlsFlags tls{};  // no files: it makes its certificate itself
  std::string secret = "gpu-scheduler-webhook-cert";
  std::string service = "gpu-scheduler-webhook";
  std::string mutating = "gpu-scheduler-webhook";    // "": there is none
  std::string validating = "gpu-scheduler-webhook";  // "": there is none

  /// Error Invalid: which flags contradict each other, or leave nothing to do.
  [[nodiscard]] Status check() const;
  [[nodiscard]] bool makesCertificate() const { return tls.cert_file.empty(); }
  [[nodiscard]] webhook::PodRules rules() const;
  [[nodiscard]] webhook::InjectLimits injectLimits() const;
  /// `ns`: our own. nullopt: the certificate comes from files.
  [[nodiscard]] std::optional<admission::Certificates::Config> certificates(const std::string& ns) const;
};
void addWebhook(process::Command command, WebhookFlags& flags);
/// What the server of `handler`, which must outlive it, answers.
[[nodiscard]] ReviewServer::Config reviewsOf(const webhook::Handler& handler, net::Handler health);
/// `flags` were checked; `pair` must outlive the server.
[[nodiscard]] net::HttpServer::Options httpOptionsOf(const WebhookFlags& flags, const ShownPair& pair);

}  // namespace gs::serve
