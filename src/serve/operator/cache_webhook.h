// CacheWebhook: all of the operator's webhook put together: its machine (operator/admission/webhook.h), what
// resolves images, what decides, and the HTTPS server that asks them.
//
// machine() is the Host's; the server's workers share with it the certificate and the key only. The clock,
// the metrics and what `health` looks at must outlive it.
#pragma once

#include <string>

#include "base/mutex.h"
#include "operator/admission/handler.h"
#include "operator/admission/webhook.h"
#include "operator/trust/policy_watch.h"
#include "process/service.h"
#include "serve/admission/maker.h"
#include "serve/admission/server.h"
#include "serve/admission/shown_pair.h"
#include "serve/operator/cache_webhook_flags.h"
#include "serve/operator/image_resolver.h"
#include "serve/trust/gate.h"
#include "serve/trust/registry_images.h"

namespace gs::serve {

class CacheWebhook {
 public:
  struct Config {
    CacheWebhookFlags flags;
    std::string ns;  // our own
    net::Handler health;
    ImageResolver::Options resolver;
    ImageResolver::Verify verify{};  // empty: by the policy of signatures
  };
  /// `parts`: what runs beside the operator.
  CacheWebhook(controller::Parts& parts, Config config, const Clock& clock, Rng rng, Metrics& metrics);
  CacheWebhook(const CacheWebhook&) = delete;
  CacheWebhook& operator=(const CacheWebhook&) = delete;

  [[nodiscard]] gkm::Webhook& machine() { return machine_; }
  [[nodiscard]] gkm::PolicyWatch& policy() { return policy_; }
  /// Why the policy refuses everything; "" it does not.
  [[nodiscard]] std::string policyTrouble() const { return gate_.trouble(); }
  [[nodiscard]] Status start();
  /// What is asked of registries is broken off.
  void stop();
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  /// It must outlive that.
  [[nodiscard]] process::Endpoint endpoint();

 private:
  [[nodiscard]] Result<std::string> byPolicy(const model::ObjectKey& cache, const kcache::Reference& image,
                                             const std::vector<std::string>& secrets, Duration left);
  void keyIs(const std::string& key) GS_EXCLUDES(mutex_);
  [[nodiscard]] std::string key() const GS_EXCLUDES(mutex_);

  const CacheWebhookFlags flags_;
  OpensslMaker maker_;
  ShownPair pair_;
  mutable Mutex mutex_;
  std::string key_ GS_GUARDED_BY(mutex_);
  TrustGate gate_;
  RegistryImages images_;
  gkm::PolicyWatch policy_;
  ImageResolver resolver_;
  gkm::Webhook machine_;
  const gkm::WebhookHandler handler_;
  ReviewServer server_;
};

}  // namespace gs::serve
