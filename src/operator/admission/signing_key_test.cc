#include "operator/admission/signing_key.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "base/base64.h"

namespace gs::gkm {
namespace {

using namespace std::chrono_literals;

/// The field of a Secret; nullopt: the Secret is not there.
class KeyCluster {
 public:
  std::optional<std::map<std::string, std::string>> secret;
  int refuses = 0;
  int writes = 0;

  kapi::Outcome answer(const kapi::Call& call) {
    kapi::Outcome out;
    out.token = call.token;
    out.result = kapi::CallResult::Refused;
    if (refuses > 0) {
      --refuses;
      out.http = 403;
      out.message = "forbidden";
    } else if (call.verb == kapi::Verb::Create && secret) {
      out.http = 409;
      out.reason = "AlreadyExists";
    } else if (call.verb == kapi::Verb::Get && !secret) {
      out.http = 404;
      out.reason = "NotFound";
    } else {
      if (call.verb == kapi::Verb::Create) { create(call.body); }
      out.result = kapi::CallResult::Applied;
      out.http = 200;
      admission::Secret is;
      is.data = *secret;
      out.object = std::make_shared<const admission::Secret>(std::move(is));
    }
    return out;
  }

 private:
  void create(const json::Value& body) {
    ++writes;
    secret.emplace();
    for (const auto& [key, value] : body["data"].members()) { (*secret)[key] = *decodeBase64(value.str()); }
  }
};

class KeyReplica {
 public:
  KeyReplica(KeyCluster& cluster, std::string makes)
      : cluster_{cluster},
        machine_{{.secret = {"gkm-system", "gkm-webhook-key"},
                  .managed_by = "gkm-operator",
                  .make = [makes = std::move(makes)] { return makes; },
                  .owner = 84}} {
    take(machine_.start({}));
  }
  void take(const kapi::Effects& effects) {
    for (const auto& effect : effects) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { calls_.push_back(*call); }
      if (const auto* wake = std::get_if<kapi::Wake>(&effect)) { due = wake->at; }
    }
  }
  /// One call is answered.
  void step() {
    const kapi::Call call = calls_.front();
    calls_.erase(calls_.begin());
    take(machine_.handle(cluster_.answer(call), now));
  }
  void settle() {
    while (!calls_.empty()) { step(); }
  }
  void wait() {
    now.mono = due;
    take(machine_.tick(now));
    settle();
  }
  [[nodiscard]] const SigningKey& machine() const { return machine_; }
  Now now{};
  Mono due{};

 private:
  KeyCluster& cluster_;
  SigningKey machine_;
  std::vector<kapi::Call> calls_;
};

constexpr const char* kFirstKey = "one key of 32 bytes, more or less";
constexpr const char* kSecondKey = "another key of as many bytes, about";

TEST(SigningKeyTest, IsMadeWhereThereIsNone) {
  KeyCluster cluster;
  KeyReplica replica{cluster, kFirstKey};
  EXPECT_EQ(replica.machine().key(), "");
  replica.settle();
  EXPECT_EQ(replica.machine().key(), kFirstKey);
  EXPECT_EQ(cluster.secret->at(SigningKey::kField), kFirstKey);
}

TEST(SigningKeyTest, OfTwoKeyReplicasTheFirstMakesItForBoth) {
  KeyCluster cluster;
  KeyReplica first{cluster, kFirstKey};
  KeyReplica second{cluster, kSecondKey};
  first.step();  // both see none
  second.step();
  first.settle();
  second.settle();
  second.wait();
  EXPECT_EQ(first.machine().key(), kFirstKey);
  EXPECT_EQ(second.machine().key(), kFirstKey);
  EXPECT_EQ(second.machine().trouble(), "");
  EXPECT_EQ(cluster.writes, 1);
}

TEST(SigningKeyTest, AnotherOneIsTakenAndOneThatWasDeletedIsMadeAnew) {
  KeyCluster cluster;
  cluster.secret.emplace()[SigningKey::kField] = kSecondKey;
  KeyReplica replica{cluster, kFirstKey};
  replica.settle();
  EXPECT_EQ(replica.machine().key(), kSecondKey);
  EXPECT_EQ(replica.due, replica.now.mono + SigningKey::kLook);
  cluster.secret.emplace()[SigningKey::kField] = "the third of the keys that are here";
  replica.wait();
  EXPECT_EQ(replica.machine().key(), "the third of the keys that are here");
  cluster.secret.reset();
  replica.wait();
  EXPECT_EQ(replica.machine().key(), kFirstKey);
}

TEST(SigningKeyTest, OneThatIsNoneIsSaidAndNotReplaced) {
  using Data = std::map<std::string, std::string>;
  for (const Data& data : {Data{}, Data{{"key", kFirstKey}}, Data{{SigningKey::kField, "short"}}}) {
    KeyCluster cluster;
    cluster.secret = data;
    KeyReplica replica{cluster, kFirstKey};
    replica.settle();
    EXPECT_EQ(replica.machine().key(), "");
    EXPECT_EQ(
        replica.machine().trouble(),
        "secret gkm-system/gkm-webhook-key has no MUTATION_SIGNING_KEY of 16 bytes or more: write one, or "
        "delete the secret to have one made");
    EXPECT_EQ(cluster.writes, 0);
  }
}

TEST(SigningKeyTest, WhatIsRefusedIsTriedAgainLater) {
  KeyCluster cluster;
  cluster.refuses = 3;
  KeyReplica replica{cluster, kFirstKey};
  replica.settle();
  EXPECT_NE(replica.machine().trouble().find("403 forbidden"), std::string::npos);
  for (int i = 0; i < 4; ++i) {
    const Mono before = replica.now.mono;
    replica.wait();
    EXPECT_GT(replica.now.mono, before);
  }
  EXPECT_EQ(replica.machine().key(), kFirstKey);
  EXPECT_EQ(replica.machine().trouble(), "");
  cluster.refuses = 1;  // what is known stays in use
  replica.wait();
  EXPECT_EQ(replica.machine().key(), kFirstKey);
}

}  // namespace
}  // namespace gs::gkm
