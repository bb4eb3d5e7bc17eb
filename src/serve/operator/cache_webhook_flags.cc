#include "serve/operator/cache_webhook_flags.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/secret.h"

namespace gs::serve {
namespace {

constexpr const char* kUs = "gkm-operator";
constexpr std::size_t kKeyBytes = 32;

}  // namespace

void addCacheWebhook(process::Command command, CacheWebhookFlags& f) {
  command.topic("Webhook")
      .text("--webhook-bind-address", "HOST:PORT", f.address,
            "Where the API server asks about caches, by HTTPS; 0: nowhere")
      .text(
          "--webhook-cert-dir", "FOLDER", f.cert_dir,
          "Show tls.crt and tls.key of this folder instead of the certificate in Secret webhook-server-cert")
      .text("--authfile", "FILE", f.authfile,
            "Who to be at registries, as docker's config.json says it; without it REGISTRY_AUTH_FILE counts")
      .text("--ca-file", "FILE", f.ca_file, "Certificates of registries to trust besides the system's (PEM)")
      .text("--registry-mirror", "REGISTRY=URL", f.registry_mirrors,
            "Asked before that registry; several with ',' between them, in this order")
      .flag("--kyverno", f.kyverno,
            "Take Kyverno's word for the image of a GKMCache (annotation kyverno.io/verify-images)");
}

Status CacheWebhookFlags::read(const k8s::Surroundings& surroundings) {
  const std::string said = surroundings.env("KYVERNO_VERIFICATION_ENABLED").value_or("");
  kyverno = kyverno || said == "true" || said == "1" || said == "yes";
  auto read = cacherim::parseMirrors("--registry-mirror", registry_mirrors);
  if (!read) { return tl::unexpected(std::move(read).error()); }
  mirrors = *std::move(read);
  signing_key = surroundings.env(gkm::SigningKey::kField).value_or("");
  if (signing_key.empty() || signing_key.size() >= gkm::SigningKey::kLeast) { return {}; }
  return fail(
      Code::Invalid,
      fmt::format("{} has {} bytes and could be guessed: write {} or more, or leave it out to have a key "
                  "made in Secret gkm-webhook-key",
                  gkm::SigningKey::kField, signing_key.size(), gkm::SigningKey::kLeast));
}

std::optional<admission::Certificates::Config> CacheWebhookFlags::certificates(const std::string& ns) const {
  if (!cert_dir.empty()) { return std::nullopt; }
  return admission::Certificates::Config{.secret = {ns, "webhook-server-cert"},
                                         .service = "gkm-webhook-service",
                                         .managed_by = kUs,
                                         .mutating = "gkm-mutating-webhook-configuration",
                                         .validating = "gkm-validating-webhook-configuration"};
}

std::optional<gkm::SigningKey::Config> CacheWebhookFlags::key(const std::string& ns) const {
  if (!signing_key.empty()) { return std::nullopt; }
  return gkm::SigningKey::Config{.secret = {ns, "gkm-webhook-key"}, .managed_by = kUs, .make = [] {
                                   return encodeBase64(secretBytes(kKeyBytes));
                                 }};
}

net::ServerTls CacheWebhookFlags::tls(const ShownPair& pair) const {
  if (cert_dir.empty()) {
    return {.pair = [&pair] { return pair.get(); }};
  }
  return {.cert_file = cert_dir + "/tls.crt", .key_file = cert_dir + "/tls.key"};
}

}  // namespace gs::serve
