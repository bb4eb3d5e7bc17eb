#include "webhook/webhook.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kapi/kinds.h"
#include "model/dra.h"

namespace gs::webhook {
namespace {

struct NoMaker : admission::Maker {
  [[nodiscard]] Result<admission::Pair> make(const std::vector<std::string>& /*names*/,
                                             Life /*life*/) override {
    return fail(Code::Internal, "it makes none");
  }
  [[nodiscard]] Result<Life> check(const admission::Pair& /*pair*/, const std::string& /*name*/) override {
    return fail(Code::Internal, "it made none");
  }
};

model::Object claim(const std::string& name, std::int64_t count, model::Revision revision = 1) {
  auto out = std::make_shared<model::GpuClaim>();
  out->key = {"ns", name};
  out->uid = model::Uid{name};
  out->revision = revision;
  out->count = count;
  return out;
}

model::Object deviceClass(const std::string& name, const std::string& resource,
                          model::Revision revision = 1) {
  auto out = std::make_shared<model::DeviceClass>();
  out->key = {"", name};
  out->uid = model::Uid{name};
  out->revision = revision;
  out->extended_resource = resource;
  return out;
}

/// A webhook whose lists and watches are answered by hand.
class WebhookMachine : public ::testing::Test {
 protected:
  void start(InjectLimits inject) {
    webhook_.emplace(Webhook::Config{.inject_limits = inject,
                                     .on_limit = [this](const model::ObjectKey& key,
                                                        auto gpus) { limits_[key.name] = gpus; },
                                     .on_injecting = [this](bool injecting) { told_.push_back(injecting); }},
                     maker_, Rng{1});
    take(webhook_->start(clock_.now()));
  }
  void take(const kapi::Effects& effects) {
    for (const auto& effect : effects) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { lists_[call->kind->plural] = call->token; }
      if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
        watches_[watch->kind->plural] = watch->stream;
      }
    }
  }
  void list(kapi::Kind kind, int http, std::vector<model::Object> items = {}) {
    kapi::Outcome outcome;
    outcome.token = lists_.at(kind->plural);
    outcome.result = http == 200 ? kapi::CallResult::Applied : kapi::CallResult::Refused;
    outcome.http = http;
    outcome.list_revision = 1;
    outcome.items = std::move(items);
    take(webhook_->handle(outcome, clock_.now()));
  }
  void comes(kapi::Kind kind, kapi::WatchType type, const model::Object& object) {
    take(webhook_->handle(
        kapi::WatchEvent{watches_.at(kind->plural), type, object, object.key(), object.revision()},
        clock_.now()));
  }
  using Told = std::vector<bool>;

  ManualClock clock_;
  NoMaker maker_;
  std::map<std::string, std::optional<std::int64_t>> limits_;
  std::vector<bool> told_;
  std::optional<Webhook> webhook_;
  std::map<std::string_view, kapi::Token> lists_;
  std::map<std::string_view, kapi::Token> watches_;
};

TEST_F(WebhookMachine, InjectsWhileAClassStandsForTheResource) {
  using kapi::WatchType;
  start(InjectLimits::Auto);
  list(kapi::kGpuClaim, 200, {claim("two", 2)});
  list(kapi::kDeviceClass, 200, {deviceClass("nic", ""), deviceClass("amd", "amd.com/gpu")});
  EXPECT_EQ(limits_.at("two"), 2);
  EXPECT_EQ(told_, Told{}) << "no limit of nvidia.com/gpu is served";
  comes(kapi::kDeviceClass, WatchType::Added, deviceClass("gpu", "nvidia.com/gpu", 2));
  EXPECT_EQ(told_, Told{true});
  comes(kapi::kDeviceClass, WatchType::Added, deviceClass("gpu-2", "nvidia.com/gpu", 3));
  comes(kapi::kDeviceClass, WatchType::Deleted, deviceClass("gpu", "nvidia.com/gpu", 4));
  EXPECT_EQ(told_, Told{true}) << "one is left";
  comes(kapi::kDeviceClass, WatchType::Modified, deviceClass("gpu-2", "", 5));
  EXPECT_EQ(told_, (Told{true, false}));
  EXPECT_TRUE(webhook_->readiness().ready);
}

TEST_F(WebhookMachine, WithoutClassesNothingIsInjectedAndItIsReadyAllTheSame) {
  for (const int http : {404, 403}) {
    told_.clear();
    start(InjectLimits::Auto);
    list(kapi::kGpuClaim, 200);
    list(kapi::kDeviceClass, http);
    EXPECT_EQ(told_, Told{}) << http;
    EXPECT_TRUE(webhook_->readiness().ready) << http;
    EXPECT_EQ(webhook_->readiness().text(),
              "gpuclaims: ok\n"
              "deviceclasses: ok (not served, or not to be listed: no limits are injected)\n")
        << http;
  }
}

TEST_F(WebhookMachine, AlwaysAndNeverAskNobodyAboutClasses) {
  start(InjectLimits::Always);
  EXPECT_EQ(told_, Told{true});
  EXPECT_EQ(lists_.size(), 1U);
  list(kapi::kGpuClaim, 200, {claim("two", 2)});
  EXPECT_EQ(limits_.at("two"), 2);
  comes(kapi::kGpuClaim, kapi::WatchType::Deleted, claim("two", 2, 2));
  EXPECT_EQ(limits_.at("two"), std::nullopt);
  lists_.clear();
  told_.clear();
  start(InjectLimits::Never);
  EXPECT_EQ(told_, Told{});
  EXPECT_TRUE(lists_.empty());
}

}  // namespace
}  // namespace gs::webhook
