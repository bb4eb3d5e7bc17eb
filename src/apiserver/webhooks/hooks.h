// The webhooks that are registered with the API server: which of them a request is shown to, and where they
// are.
//
// What MutatingWebhookConfigurations and ValidatingWebhookConfigurations say, as kube-apiserver reads it
// (apiserver/pkg/admission/plugin/webhook): rules, scope, both selectors. matchPolicy changes nothing, since
// each resource is served in one version. matchConditions are CEL, which is not evaluated here: such a
// webhook is shown all that the rest of it matches, and who writes one is warned. Nobody is asked about the
// configurations themselves, so a wrong one can be mended.
//
// Pure: reads the store.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/meta/answer.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

enum class HookPass : bool { Mutating, Validating };

/// Of one webhook, in the order in which they are asked: configurations by name, and as they are listed
/// there.
struct HookId {
  std::string configuration;
  std::size_t index = 0;
  friend auto operator<=>(const HookId&, const HookId&) = default;
};

struct Hook {
  HookId id;
  json::Value spec;  // as it stands in its configuration

  [[nodiscard]] std::string_view name() const { return spec["name"].str(); }
  [[nodiscard]] bool failsOpen() const { return spec["failurePolicy"].str() == "Ignore"; }
  [[nodiscard]] bool isReinvoked() const { return spec["reinvocationPolicy"].str() == "IfNeeded"; }
  /// It may be asked about a dry run.
  [[nodiscard]] bool isWithoutEffects() const;
  [[nodiscard]] Duration timeout() const { return std::chrono::seconds{spec["timeoutSeconds"].intOr(10)}; }
};

/// All that are registered, in their order.
[[nodiscard]] std::vector<Hook> registeredHooks(const Store& store, HookPass pass);

/// Whether `hook` is asked about this request. `object`: as it is now; null: Delete.
/// Error 404: the namespace whose labels count is not there.
[[nodiscard]] Answer<bool> isAsked(const Hook& hook, const AdmissionRequest& request,
                                   const json::Value& object, const Store& store);

/// Where a webhook is: what an HTTPS client needs to know.
struct HookAddress {
  std::string url{};          // with its path and port
  std::string server_name{};  // whose certificate it shows; "": the URL's host
  std::string ca_pem{};       // who signed that; "": who the system trusts
};

/// Of a Service: where its type ExternalName says, else an address of its EndpointSlices that is ready. (A
/// real server sends to the cluster IP, which nobody forwards here.) Error: why there is none, in a real
/// server's words.
[[nodiscard]] tl::expected<HookAddress, std::string> addressOf(const Hook& hook, const Store& store);

}  // namespace gs::apiserver
