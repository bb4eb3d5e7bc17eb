// MutatingAdmissionWebhook and ValidatingAdmissionWebhook: the plugin that asks the webhooks which are
// registered with this API server (hooks.h), without any I/O: it hands out calls, and is told what came of
// them.
//
// Mutating webhooks are asked one after the other, each about what the one before made of the object,
// decoded. One with reinvocationPolicy IfNeeded is asked once more when a later one changed something.
// Validating ones are asked at the same time, and the first in order that refuses is the answer. A webhook
// that is away, hangs or answers nonsense (review.h) is passed over or refuses everything, as its
// failurePolicy says. Who asks and cannot wait (ticket 0) is answered by failurePolicy, without a call.
//
// Between two questions of one request all that is remembered goes along in AdmissionRequest::next, so that a
// request which begins again asks nobody twice, and configurations may come and go meanwhile.
// `store` must outlive it. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/storage/store.h"
#include "apiserver/webhooks/hooks.h"
#include "apiserver/webhooks/review.h"
#include "base/clock.h"
#include "base/random.h"

namespace gs::apiserver {

using CallId = std::uint64_t;

/// A review to be sent: POST as JSON, by HTTPS, to be over by `timeout`.
struct HookCall {
  CallId id = 0;
  std::string hook;  // "configuration/name"
  HookAddress address{};
  std::string body{};
  Duration timeout{};
};

class Webhooks final : public AdmissionPlugin {
 public:
  /// False: too many calls are under way; the request is answered 429.
  using Send = std::function<bool(HookCall)>;

  Webhooks(const Store& store, Rng rng, Send send) : store_{store}, rng_{rng}, send_{std::move(send)} {}

  [[nodiscard]] std::optional<AdmissionResponse> mutate(const AdmissionRequest& request,
                                                        json::Value& object) override;
  [[nodiscard]] std::optional<AdmissionResponse> validate(const AdmissionRequest& request,
                                                          const json::Value& object) override;

  struct Answered {
    RequestId request_id = 0;
    AdmissionResponse response{};
  };
  /// What came of a call. Nothing: its request waits for others too, or was given up.
  [[nodiscard]] std::optional<Answered> answered(CallId id, const HookAnswer& answer);
  /// Nobody waits for this request any more.
  void giveUp(RequestId request_id);
  /// Requests that wait.
  [[nodiscard]] std::size_t waiting() const { return questions_.size(); }

 private:
  /// How far the mutating webhooks of a request are.
  struct Progress {
    int round = 0;
    std::optional<HookId> last{};  // that was asked in this round
    std::set<HookId> earlier{};    // asked before, and may be asked again
    std::set<HookId> again{};      // to be asked in the second round
    [[nodiscard]] static Progress from(const json::Value& next);
    [[nodiscard]] json::Value text() const;
    void asked(const Hook& hook, bool changed);
  };
  struct Part {
    Hook hook;
    Asked asked;
    std::optional<std::variant<HookVerdict, HookFailure>> said{};
  };
  /// What one request waits for.
  struct Question {
    std::vector<Part> parts;
    json::Value object;
    Progress progress{};  // of mutating ones
  };

  /// The next one to be asked; moves `progress` to it.
  [[nodiscard]] Answer<std::optional<Hook>> nextHook(Progress& progress, const AdmissionRequest& request,
                                                     const json::Value& object) const;
  /// Why it cannot be asked: what its failurePolicy makes of that; nothing: it was sent.
  [[nodiscard]] std::optional<AdmissionResponse> send(HookPass pass, const Hook& hook,
                                                      const AdmissionRequest& request,
                                                      const json::Value& object);
  [[nodiscard]] static AdmissionResponse mutated(Question& question);
  [[nodiscard]] static AdmissionResponse validated(Question& question);

  const Store& store_;
  Rng rng_;
  Send send_;
  std::map<RequestId, Question> questions_;
  std::map<CallId, std::pair<RequestId, std::size_t>> calls_;  // and which part
  CallId next_call_ = 1;
};

}  // namespace gs::apiserver
