#include "serve/webhook/flags.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "webhook/metrics.h"

namespace gs::serve {
namespace {

constexpr std::size_t kWorkers = 32;

}  // namespace

void addWebhook(process::Command command, WebhookFlags& f) {
  command.topic("Webhook")
      .text("--addr", "HOST:PORT", f.address, "Where the API server asks, by HTTPS")
      .text("--scheduler-names", "NAMES", f.schedulers,
            "schedulerNames, parted by commas, of pods whose containers are told their GPUs")
      .text("--device-order", "ORDER", f.device_order,
            "CUDA_DEVICE_ORDER of containers that are told their GPUs: ids are in PCI order; empty: as they "
            "set it")
      .choice("--inject-limits", {"auto", "true", "false"}, f.inject_limits,
              "Add nvidia.com/gpu to the limits of pods whose GpuClaim is Exclusive, and there when they are "
              "created; auto: where a DeviceClass stands for that resource",
              "true")
      .flag(
          "--gate", f.gate,
          "Add the gate to pods that ask for GPUs: a volume of CSI driver gate.gpu.scheduling, without which "
          "their containers would start while the agent of their node is away");
  process::addServerTls(command, f.tls, ", instead of one that is made here");
  process::addClientCa(command, f.tls);
  command.topic("Certificate that is made here")
      .name("--cert-secret", f.secret, "Secret of our namespace that it is kept in")
      .name("--service", f.service, "Service of our namespace by which the API server reaches us")
      .text("--mutating-config", "NAME", f.mutating,
            "MutatingWebhookConfiguration that is told whom to trust; empty: none")
      .text("--validating-config", "NAME", f.validating,
            "ValidatingWebhookConfiguration that is told whom to trust; empty: none");
}

Status WebhookFlags::check() const {
  if (commaList(schedulers).empty()) {
    return fail(Code::Invalid,
                fmt::format("--scheduler-names '{}' names nobody; write gpu-scheduler, say", schedulers));
  }
  if (tls.cert_file.empty() && tls.key_file.empty()) { return {}; }
  const auto fits = process::serverTlsOf(tls);
  return fits ? Status{} : tl::unexpected(fits.error());
}

webhook::PodRules WebhookFlags::rules() const {
  webhook::PodRules out;
  const auto names = commaList(schedulers);
  out.schedulers = {names.begin(), names.end()};
  out.device_order = device_order;
  out.gate = gate;
  return out;
}

webhook::InjectLimits WebhookFlags::injectLimits() const {
  using webhook::InjectLimits;
  if (inject_limits == "auto") { return InjectLimits::Auto; }
  return inject_limits == "true" ? InjectLimits::Always : InjectLimits::Never;
}

std::optional<admission::Certificates::Config> WebhookFlags::certificates(const std::string& ns) const {
  if (!makesCertificate()) { return std::nullopt; }
  return admission::Certificates::Config{.secret = {ns, secret},
                                         .service = service,
                                         .managed_by = "gpu-scheduler-webhook",
                                         .mutating = mutating,
                                         .validating = validating};
}

ReviewServer::Config reviewsOf(const webhook::Handler& handler, net::Handler health) {
  return {.reviews = [&handler](const net::Request& request) { return handler.answer(request); },
          .health = std::move(health),
          .requests = webhook::kRequests,
          .request_seconds = webhook::kRequestSeconds};
}

net::HttpServer::Options httpOptionsOf(const WebhookFlags& f, const ShownPair& pair) {
  auto tls = process::serverTlsOf(f.tls).value_or(std::nullopt);
  if (f.makesCertificate()) {
    tls = net::ServerTls{.client_ca_file = f.tls.client_ca_file, .pair = [&pair] { return pair.get(); }};
  }
  return reviewHttp(f.address, kWorkers, std::move(tls));
}

}  // namespace gs::serve
