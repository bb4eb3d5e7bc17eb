#include "sandbox/world/webhook_plugin.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "apiserver/patch/patch.h"
#include "base/base64.h"
#include "base/check.h"

namespace gs::sandbox {
namespace {

using apiserver::AdmissionRequest;
using apiserver::AdmissionResponse;
using apiserver::Operation;
using json::Object;
using json::Value;

constexpr std::array<const char*, 3> kOperations{"CREATE", "UPDATE", "DELETE"};  // by Operation

class WebhookPlugin final : public apiserver::AdmissionPlugin {
 public:
  explicit WebhookPlugin(webhook::Handler handler) : handler_{std::move(handler)} {}

  std::optional<AdmissionResponse> mutate(const AdmissionRequest& request, Value& object) override {
    const bool comes = request.operation == Operation::Create && request.resource.is("/pods");
    if (!comes || !request.subresource.empty() || !isForUs(object)) { return AdmissionResponse{}; }
    return ask(request, object, "/mutate", Object{{"group", ""}, {"version", "v1"}, {"kind", "Pod"}},
               "pods.gpu-scheduler.svc");
  }
  std::optional<AdmissionResponse> validate(const AdmissionRequest& request, const Value& object) override {
    const bool written =
        request.operation != Operation::Delete && request.resource.is("gpu.scheduling/gpuclaims");
    if (!written || !request.subresource.empty()) { return AdmissionResponse{}; }
    return ask(request, object, "/validate",
               Object{{"group", "gpu.scheduling"}, {"version", "v1"}, {"kind", "GpuClaim"}},
               "gpuclaims.gpu-scheduler.svc");
  }

 private:
  static bool isForUs(const Value& pod) {
    const Value& annotations = pod["metadata"]["annotations"];
    return annotations.find(webhook::kAskedBy[0]) != nullptr ||
           annotations.find(webhook::kAskedBy[1]) != nullptr;
  }

  AdmissionResponse ask(const AdmissionRequest& request, const Value& object, const char* path, Value kind,
                        const char* name) const {
    const Value review =
        Object{{"apiVersion", "admission.k8s.io/v1"},
               {"kind", "AdmissionReview"},
               {"request", Object{{"uid", "r-1"},
                                  {"kind", std::move(kind)},
                                  {"namespace", request.ns},
                                  {"operation", kOperations.at(static_cast<std::size_t>(request.operation))},
                                  {"object", object},
                                  {"oldObject", request.old}}}};
    const auto served =
        handler_.answer({.method = "POST", .target = path, .headers = {}, .body = json::print(review)});
    const auto body = json::parse(served.response.body);
    GS_CHECK(body.has_value() && served.response.status == 200, "the webhook answered {}",
             served.response.body);
    const Value& response = (*body)["response"];
    AdmissionResponse out;
    for (const Value& warning : response["warnings"].items()) { out.warnings.emplace_back(warning.str()); }
    if (!response["allowed"].boolOr(false)) {
      out.refused =
          apiserver::ApiError{.code = static_cast<int>(response["status"]["code"].intOr(400)),
                              .reason = std::string{response["status"]["reason"].str()},
                              .message = fmt::format("admission webhook \"{}\" denied the request: {}", name,
                                                     response["status"]["message"].str()),
                              .details = {},
                              .metadata = {}};
    }
    if (const auto patch = decodeBase64(response["patch"].str()); patch && !patch->empty()) {
      out.object = patched(object, *patch);
    }
    return out;
  }

  static Value patched(Value object, const std::string& patch) {
    const auto operations = json::parse(patch);
    GS_CHECK(operations.has_value(), "the webhook's patch is no JSON: {}", patch);
    const auto done = apiserver::applyJsonPatch(object, *operations);
    GS_CHECK(done.has_value(), "the webhook's patch {} cannot be applied: {}", patch,
             done ? "" : done.error().message);
    return object;
  }

  webhook::Handler handler_;
};

}  // namespace

std::unique_ptr<apiserver::AdmissionPlugin> webhookPlugin(webhook::Handler handler) {
  return std::make_unique<WebhookPlugin>(std::move(handler));
}

}  // namespace gs::sandbox
