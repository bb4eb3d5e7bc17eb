// The AdmissionReview that a webhook is sent, and what its answer means, as kube-apiserver writes and reads
// them.
//
// An answer is one of three: the webhook let it pass (with a change, perhaps), it refused, or it failed.
// Only a failure is up to failurePolicy. A patch that is none, or that does not fit the object, is no
// failure but an error of its own (500), whatever the policy is: as in a real server, so that nothing half
// changed goes on. What comes from a webhook is believed in nothing: no content of it is more than an
// answer. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/meta/answer.h"
#include "apiserver/webhooks/hooks.h"
#include "json/value.h"

namespace gs::apiserver {

/// "v1" or "v1beta1": the first that the webhook takes and this server speaks; "": there is none.
[[nodiscard]] std::string reviewVersion(const Hook& hook);

/// The question. `object` null: Delete.
[[nodiscard]] json::Value reviewOf(const AdmissionRequest& request, const json::Value& object,
                                   const std::string& version, const std::string& uid);

/// What came back: an HTTP answer, or why there is none.
struct HookAnswer {
  int status = 0;  // 0: no answer
  std::string body{};
  std::string trouble{};
};

/// It said nothing that counts; in the words that follow `failed calling webhook "name": `.
struct HookFailure {
  std::string why;
};
struct HookVerdict {
  std::optional<ApiError> refused{};
  std::optional<json::Value> object{};  // as its patch makes it; nothing: it has none
  std::vector<std::string> warnings{};
};

/// What the review was about, to read its answer by.
struct Asked {
  std::string uid;
  std::string version;
  std::string url;
  HookPass pass{};
};
[[nodiscard]] std::variant<HookVerdict, HookFailure> readAnswer(const Hook& hook, const Asked& asked,
                                                                const HookAnswer& answer,
                                                                const json::Value& object);

}  // namespace gs::apiserver
