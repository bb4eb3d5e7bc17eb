// The kinds that webhooks alone read and write: the Secret with its certificate, and the configurations
// that tell the API server which CA to trust. Decoded as far as certificates need it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kapi/kind.h"
#include "model/ids.h"

namespace gs::admission {

struct Secret {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::string managed_by;                   // label app.kubernetes.io/managed-by
  std::map<std::string, std::string> data;  // decoded; what is no base64 is left out
  friend bool operator==(const Secret&, const Secret&) = default;
};

/// A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration.
struct WebhookConfiguration {
  struct Webhook {
    std::string name;
    model::ObjectKey service;  // that it asks; empty: a URL
    std::string ca_bundle;     // decoded
    friend bool operator==(const Webhook&, const Webhook&) = default;
  };
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::vector<Webhook> webhooks;
  friend bool operator==(const WebhookConfiguration&, const WebhookConfiguration&) = default;
};

extern const kapi::Kind kSecret;
extern const kapi::Kind kMutatingConfiguration;
extern const kapi::Kind kValidatingConfiguration;

}  // namespace gs::admission
