#include "admission/kinds.h"

#include "base/base64.h"
#include "kapi/decode.h"
#include "kapi/fields.h"

namespace gs::admission {
namespace {

using json::View;

constexpr std::size_t kMostWebhooks = 64;

Secret decodeSecret(const View& v) {
  Secret out;
  out.key = kapi::objectKey(v);
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  out.managed_by = kapi::text(v["metadata"]["labels"]["app.kubernetes.io/managed-by"]);
  for (const auto [key, value] : v["data"].members()) {
    auto bytes = decodeBase64(value.str());
    if (bytes) { out.data.emplace(key, *std::move(bytes)); }
  }
  return out;
}

WebhookConfiguration decodeConfiguration(const View& v) {
  WebhookConfiguration out;
  out.key = kapi::objectKey(v);
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  for (const View webhook : v["webhooks"].items()) {
    if (out.webhooks.size() == kMostWebhooks) { break; }
    const View client = webhook["clientConfig"];
    out.webhooks.push_back(
        {kapi::text(webhook["name"]),
         {kapi::text(client["service"]["namespace"]), kapi::text(client["service"]["name"])},
         decodeBase64(client["caBundle"].str()).value_or("")});
  }
  return out;
}

constexpr const char* kAdmissionGroup = "admissionregistration.k8s.io";
constexpr kapi::KindInfo kSecretInfo{"", "v1", "secrets", "Secret", true, kapi::decodedBy<decodeSecret>};
constexpr kapi::KindInfo kMutatingInfo{kAdmissionGroup,
                                       "v1",
                                       "mutatingwebhookconfigurations",
                                       "MutatingWebhookConfiguration",
                                       false,
                                       kapi::decodedBy<decodeConfiguration>};
constexpr kapi::KindInfo kValidatingInfo{kAdmissionGroup,
                                         "v1",
                                         "validatingwebhookconfigurations",
                                         "ValidatingWebhookConfiguration",
                                         false,
                                         kapi::decodedBy<decodeConfiguration>};

}  // namespace

constinit const kapi::Kind kSecret{kSecretInfo};
constinit const kapi::Kind kMutatingConfiguration{kMutatingInfo};
constinit const kapi::Kind kValidatingConfiguration{kValidatingInfo};

}  // namespace gs::admission
