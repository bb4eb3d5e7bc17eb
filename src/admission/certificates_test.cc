#include "admission/certificates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "kapi/decode.h"

namespace gs::admission {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

constexpr const char* kOurs = "gpu-scheduler-webhook";

/// "pair N until T", with the CA "ca N".
class CountingMaker final : public Maker {
 public:
  Result<Pair> make(const std::vector<std::string>& names, Life life) override {
    if (broken) { return fail(Code::Internal, "no entropy"); }
    names_ = names;
    ++made;
    lives_[fmt::format("cert {}", made)] = life;
    return Pair{fmt::format("CA {} -----END CERTIFICATE-----\n", made), fmt::format("cert {}", made),
                fmt::format("key {}", made)};
  }
  Result<Life> check(const Pair& pair, const std::string&) override {
    const auto it = lives_.find(pair.certificate);
    if (it == lives_.end()) { return fail(Code::Invalid, "tls.crt is no PEM certificate"); }
    const auto signer = signers_.find(pair.certificate);
    if (!pair.ca.empty() && signer != signers_.end() && pair.ca != signer->second &&
        pair.ca.find(pair.certificate) == std::string::npos) {
      return fail(Code::Invalid, "tls.crt does not lead to a certificate of ca.crt");
    }
    return it->second;
  }
  void know(const std::string& certificate, Life life) { lives_[certificate] = life; }
  void know(const std::string& certificate, Life life, const std::string& signer) {
    know(certificate, life);
    signers_[certificate] = signer;
  }

  int made = 0;
  bool broken = false;
  std::vector<std::string> names_;

 private:
  std::map<std::string, Life> lives_;
  std::map<std::string, std::string> signers_;  // of those of somebody else
};

/// An API server with one Secret and two configurations.
class Server {
 public:
  std::optional<Value> secret;
  std::map<std::string, Value> configurations;  // by plural
  int refuses = 0;                              // the next so many calls are answered 500
  int writes = 0;
  bool refuses_patches = false;  // of configurations
  bool forgets_patches = false;
  int calls = 0;
  bool hides_secret = false;  // it cannot be read, and is there

  kapi::Outcome carryOut(const kapi::Call& call) {
    ++calls;
    if (refuses > 0) {
      --refuses;
      return answer(call, 500, Object{{"message", "broken"}});
    }
    const bool is_secret = call.kind == kSecret;
    Value* stored = nullptr;
    if (is_secret) {
      stored = secret ? &*secret : nullptr;
    } else if (const auto it = configurations.find(std::string{call.kind->plural});
               it != configurations.end()) {
      stored = &it->second;
    }
    if (is_secret && hides_secret) {
      return call.verb == kapi::Verb::Get ? answer(call, 404, status("NotFound"))
                                          : answer(call, 409, status("AlreadyExists"));
    }
    if (call.verb == kapi::Verb::Create) {
      if (stored != nullptr) { return answer(call, 409, status("AlreadyExists")); }
      secret = call.body;
      return answer(call, 201, bump(*secret));
    }
    if (stored == nullptr) { return answer(call, 404, status("NotFound")); }
    if (call.verb == kapi::Verb::Get) { return answer(call, 200, *stored); }
    if (call.body["metadata"]["resourceVersion"].str() != (*stored)["metadata"]["resourceVersion"].str()) {
      return answer(call, 409, status("Conflict"));
    }
    if (is_secret) {
      EXPECT_EQ(call.verb, kapi::Verb::MergePatch);
      stored->set("data", call.body["data"]);
    } else {
      EXPECT_EQ(call.verb, kapi::Verb::StrategicPatch);
      if (refuses_patches) { return answer(call, 403, status("Forbidden")); }
      if (forgets_patches) { return answer(call, 200, bump(*stored)); }
      for (const json::Value& webhook : call.body["webhooks"].items()) {  // merged by name
        for (json::Value& there : stored->child("webhooks").array()) {
          if (there["name"].str() == webhook["name"].str()) {
            there.child("clientConfig").set("caBundle", webhook["clientConfig"]["caBundle"]);
          }
        }
      }
    }
    return answer(call, 200, bump(*stored));
  }
  /// Two webhooks of ours, and another one's between them.
  void configure(const char* plural) {
    const auto webhook = [](const char* name, const char* service) -> json::Value {
      return Object{{"name", name},
                    {"clientConfig", Object{{"service", Object{{"namespace", "ns"}, {"name", service}}}}}};
    };
    Value& c = configurations[plural] = Object{
        {"metadata", Object{{"name", "gpu-scheduler-webhook"}, {"uid", "c"}}},
        {"webhooks", json::Array{webhook("pods", "gpu-scheduler-webhook"), webhook("theirs", "another"),
                                 webhook("more", "gpu-scheduler-webhook")}}};
    (void)bump(c);
  }
  void set(const char* plural, const std::string& ca) {
    for (json::Value& webhook : configurations[plural].child("webhooks").array()) {
      webhook.child("clientConfig").set("caBundle", encodeBase64(ca));
    }
  }
  [[nodiscard]] std::string trusted(const char* plural, std::size_t webhook = 2) {
    return decodeBase64(configurations[plural]["webhooks"].at(webhook)["clientConfig"]["caBundle"].str())
        .value_or("?");
  }
  [[nodiscard]] std::string has(const char* key) const {
    return secret ? decodeBase64((*secret)["data"][key].str()).value_or("?") : "no secret";
  }

 private:
  static Value status(const char* reason) {
    return Object{{"kind", "Status"}, {"reason", reason}, {"message", reason}};
  }
  const Value& bump(Value& object) {
    object.child("metadata").set("resourceVersion", std::to_string(++revision_));
    if (object["metadata"].find("uid") == nullptr) { object.child("metadata").set("uid", "s"); }
    ++writes;
    return object;
  }
  static kapi::Outcome answer(const kapi::Call& call, int http, const Value& body) {
    return kapi::decodeAnswerValue(call, http, body);
  }
  int revision_ = 0;
};

constexpr const char* kMutating = "mutatingwebhookconfigurations";
constexpr const char* kValidating = "validatingwebhookconfigurations";

class Replica {
 public:
  Replica(Server& server, CountingMaker& maker)
      : server_{server},
        machine_{{.secret = {"ns", "cert"},
                  .service = "gpu-scheduler-webhook",
                  .managed_by = kOurs,
                  .mutating = "gpu-scheduler-webhook",
                  .validating = "gpu-scheduler-webhook",
                  .owner = 60},
                 maker} {}
  void start(Now now) { take(machine_.start(now)); }
  /// All calls that are under way are answered, and those that follow.
  void settle(Now now) {
    while (!calls_.empty()) {
      const kapi::Call call = calls_.front();
      calls_.erase(calls_.begin());
      take(machine_.handle(server_.carryOut(call), now));
    }
  }
  void tick(Now now) {
    take(machine_.tick(now));
    settle(now);
  }
  [[nodiscard]] std::string shown() const {
    return machine_.shown() ? machine_.shown()->certificate : "nothing";
  }
  [[nodiscard]] const Certificates& machine() const { return machine_; }
  [[nodiscard]] Mono wake() const { return wake_; }
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  int warnings = 0;

 private:
  void take(kapi::Effects effects) {
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls_.push_back(std::move(*call)); }
      if (auto* wake = std::get_if<kapi::Wake>(&effect)) { wake_ = wake->at; }
      if (auto* log = std::get_if<kapi::Log>(&effect)) {
        warnings += log->level == kapi::Level::Warn ? 1 : 0;
      }
    }
  }
  Server& server_;
  Certificates machine_;
  std::vector<kapi::Call> calls_;
  Mono wake_{};
};

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    server.configure(kMutating);
    server.configure(kValidating);
  }
  void pass(Duration by) { clock.advance(by); }
  /// Time passes as the replica asks for it.
  void run(Replica& replica, Duration by) {
    const Mono end = clock.now().mono + by;
    while (replica.wake() <= end) {
      clock.advance(std::max(replica.wake() - clock.now().mono, Duration{1ms}));
      replica.tick(clock.now());
    }
    clock.advance(std::max(end - clock.now().mono, Duration{}));
  }
  ManualClock clock;
  Server server;
  CountingMaker maker;
};

TEST_F(CertificatesTest, OneIsMadeKeptAndTrusted) {
  Replica replica{server, maker};
  replica.start(clock.now());
  EXPECT_EQ(replica.shown(), "nothing");
  replica.settle(clock.now());
  EXPECT_EQ(replica.shown(), "cert 1") << "there is nothing better to show";
  EXPECT_EQ(server.has("tls.key"), "key 1");
  EXPECT_EQ(server.trusted(kMutating), "CA 1 -----END CERTIFICATE-----\n");
  EXPECT_EQ(server.trusted(kValidating), "CA 1 -----END CERTIFICATE-----\n");
  EXPECT_EQ(maker.names_, (std::vector<std::string>{"gpu-scheduler-webhook.ns.svc", "gpu-scheduler-webhook",
                                                    "gpu-scheduler-webhook.ns",
                                                    "gpu-scheduler-webhook.ns.svc.cluster.local"}));
  EXPECT_EQ(server.trusted(kMutating, 1), "") << "whom others trust is not ours to write";
  EXPECT_EQ(replica.machine().trouble(), "");
  EXPECT_TRUE(replica.machine().ready());
  const int writes = server.writes;
  run(replica, 1h);
  EXPECT_EQ(server.writes, writes) << "nothing is written without need";
  EXPECT_EQ(maker.made, 1);
}

TEST_F(CertificatesTest, TwoReplicasShowTheSame) {
  Replica first{server, maker};
  Replica second{server, maker};
  first.start(clock.now());
  second.start(clock.now());
  first.settle(clock.now());
  second.settle(clock.now());  // its read said 404 only if it was asked before; it makes one too, and loses
  run(second, 2min);
  first.tick(clock.now());
  EXPECT_EQ(first.shown(), second.shown());
  EXPECT_EQ(server.has("tls.crt"), first.shown());
}

TEST_F(CertificatesTest, WhoLosesTheRaceReadsWhatTheOtherWrote) {
  Replica loser{server, maker};
  loser.start(clock.now());
  // Between its 404 and its creation.
  struct Late final : Maker {
    CountingMaker& of;
    Server& server;
    Late(CountingMaker& o, Server& s) : of{o}, server{s} {}
    Result<Pair> make(const std::vector<std::string>& names, Life life) override {
      auto mine = of.make(names, life);
      if (!server.secret) {
        auto theirs = of.make(names, life);
        server.secret =
            Object{{"metadata", Object{{"uid", "s"},
                                       {"name", "cert"},
                                       {"namespace", "ns"},
                                       {"resourceVersion", "99"},
                                       {"labels", Object{{"app.kubernetes.io/managed-by", kOurs}}}}},
                   {"data", Object{{"ca.crt", encodeBase64(theirs->ca)},
                                   {"tls.crt", encodeBase64(theirs->certificate)},
                                   {"tls.key", encodeBase64(theirs->key)}}}};
      }
      return mine;
    }
    Result<Life> check(const Pair& pair, const std::string& name) override { return of.check(pair, name); }
  } late{maker, server};
  Certificates machine{
      {.secret = {"ns", "cert"}, .service = "gpu-scheduler-webhook", .managed_by = kOurs, .owner = 60}, late};
  kapi::Effects effects = machine.start(clock.now());
  for (int i = 0; i < 10 && machine.shown() == nullptr; ++i) {
    kapi::Effects next;
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) {
        auto more = machine.handle(server.carryOut(*call), clock.now());
        next.insert(next.end(), more.begin(), more.end());
      }
    }
    effects = std::move(next);
  }
  ASSERT_NE(machine.shown(), nullptr);
  EXPECT_EQ(machine.shown()->certificate, "cert 2");
}

TEST_F(CertificatesTest, ItIsRenewedAtTwoThirdsOfItsLifeAndShownWhenItIsTrusted) {
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  pass(24h * 365 * 2 / 3 - 10min);
  run(replica, 1min);
  EXPECT_EQ(maker.made, 1);
  while (maker.made == 1) { run(replica, 1s); }
  EXPECT_EQ(server.trusted(kMutating), "CA 2 -----END CERTIFICATE-----\nCA 1 -----END CERTIFICATE-----\n")
      << "both, while both are shown";
  EXPECT_EQ(replica.shown(), "cert 1") << "an API server may not have heard of the new CA";
  run(replica, Certificates::kSpread + 1s);
  EXPECT_EQ(replica.shown(), "cert 2");
  pass(24h * 365 * 2 / 3);
  run(replica, 1min);
  EXPECT_EQ(maker.made, 3);
  EXPECT_EQ(server.trusted(kMutating), "CA 3 -----END CERTIFICATE-----\nCA 2 -----END CERTIFICATE-----\n")
      << "not all that ever were";
}

TEST_F(CertificatesTest, WhatIsTrustedNoMoreIsNotShownYet) {
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  pass(24h * 365 * 2 / 3);
  while (maker.made == 1) { run(replica, 1s); }
  run(replica, Certificates::kSpread - 2s);
  EXPECT_EQ(replica.shown(), "cert 1");
  server.configure(kMutating);  // applied anew, without a caBundle
  server.secret->child("data").set("tls.crt", encodeBase64("nonsense"));
  while (maker.made == 2) { run(replica, 1s); }
  EXPECT_NE(replica.shown(), "cert 3") << "an API server may not have heard of its CA";
  run(replica, Certificates::kSpread + 1s);
  EXPECT_EQ(replica.shown(), "cert 3");
}

TEST_F(CertificatesTest, WhoseCreationConflictsWithNothingWaits) {
  server.hides_secret = true;
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  EXPECT_EQ(maker.made, 1) << "it is not there, and cannot be created: no key is tried again at once";
  run(replica, 1min);
  EXPECT_LT(maker.made, 20);
}

TEST_F(CertificatesTest, WhatAnUpgradeTookAwayComesBack) {
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  server.configure(kMutating);  // applied anew, without a caBundle
  run(replica, 61s);
  EXPECT_EQ(server.trusted(kMutating), "CA 1 -----END CERTIFICATE-----\n");
  server.secret.reset();
  run(replica, 61s);
  EXPECT_EQ(maker.made, 2);
  EXPECT_EQ(server.trusted(kMutating), "CA 2 -----END CERTIFICATE-----\nCA 1 -----END CERTIFICATE-----\n")
      << "what is shown stays trusted";
  run(replica, Certificates::kSpread + 1s);
  EXPECT_EQ(replica.shown(), "cert 2");
}

TEST_F(CertificatesTest, OneThatWeMadeAndThatIsBrokenIsMadeAnew) {
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  server.secret->child("data").set("tls.crt", encodeBase64("nonsense"));
  run(replica, 61s);
  EXPECT_EQ(maker.made, 2);
  EXPECT_EQ(server.has("tls.crt"), "cert 2");
}

TEST_F(CertificatesTest, SomebodyElsesIsShownAndNeverWritten) {
  const Wall now = clock.now().wall;
  maker.know("theirs", {now, now + 1h});
  server.secret = Object{
      {"metadata", Object{{"name", "cert"}, {"namespace", "ns"}, {"uid", "s"}, {"resourceVersion", "5"}}},
      {"data", Object{{"ca.crt", encodeBase64("their CA")},
                      {"tls.crt", encodeBase64("theirs")},
                      {"tls.key", encodeBase64("k")}}}};
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  EXPECT_EQ(replica.shown(), "theirs");
  EXPECT_EQ(server.trusted(kValidating), "their CA");
  run(replica, 2h);
  EXPECT_EQ(maker.made, 0);
  EXPECT_NE(replica.machine().trouble().find("is good from"), std::string::npos)
      << replica.machine().trouble();
  EXPECT_EQ(replica.warnings, 1) << "said once";
}

/// As an ancestor's script makes it: type kubernetes.io/tls, which has no ca.crt.
class AncestorsSecret : public CertificatesTest {
 protected:
  AncestorsSecret() {
    store("theirs", 5);
    replica.emplace(server, maker);
  }
  void store(const std::string& certificate, int revision) {
    const Wall now = clock.now().wall;
    maker.know(certificate, {now, now + 24h}, "their CA");
    server.secret =
        Object{{"metadata", Object{{"name", "cert"},
                                   {"namespace", "ns"},
                                   {"uid", "s"},
                                   {"resourceVersion", std::to_string(revision)}}},
               {"type", "kubernetes.io/tls"},
               {"data", Object{{"tls.crt", encodeBase64(certificate)}, {"tls.key", encodeBase64("k")}}}};
  }
  void start() {
    replica->start(clock.now());
    replica->settle(clock.now());
  }
  std::optional<Replica> replica;
};

TEST_F(AncestorsSecret, WhoseCaIsTrustedLeavesTheConfigurationsAlone) {
  server.set(kMutating, "their CA");
  server.set(kValidating, "their CA");
  const int writes = server.writes;
  start();
  EXPECT_EQ(replica->shown(), "theirs");
  EXPECT_TRUE(replica->machine().ready());
  run(*replica, 61s);
  EXPECT_EQ(server.writes, writes);
  EXPECT_EQ(server.trusted(kMutating), "their CA");
  EXPECT_EQ(replica->machine().trouble(), "");
}

TEST_F(AncestorsSecret, WhomNobodyTrustsYetIsTrustedItself) {
  start();
  EXPECT_EQ(replica->shown(), "theirs");
  EXPECT_EQ(server.trusted(kMutating), "theirs");
  EXPECT_EQ(server.trusted(kValidating), "theirs");
  EXPECT_TRUE(replica->machine().ready());
  EXPECT_EQ(replica->machine().trouble(), "");
  store("theirs anew", 6);  // the script was run again
  for (int i = 0; i < 120 && server.trusted(kMutating) == "theirs"; ++i) { run(*replica, 1s); }
  EXPECT_EQ(server.trusted(kMutating), "theirs anew\ntheirs") << "both, while both are shown";
  EXPECT_EQ(replica->shown(), "theirs");
  run(*replica, Certificates::kSpread + 1s);
  EXPECT_EQ(replica->shown(), "theirs anew");
}

TEST_F(AncestorsSecret, WhomAnotherCaDidNotSignIsUnreadyAndSaysWhatHelps) {
  server.set(kMutating, "somebody's CA");
  start();
  EXPECT_EQ(server.trusted(kMutating), "somebody's CA");
  EXPECT_FALSE(replica->machine().ready());
  EXPECT_NE(replica->machine().trouble().find("has no ca.crt: write its CA there"), std::string::npos)
      << replica->machine().trouble();
  server.set(kMutating, "their CA");
  run(*replica, 61s);
  EXPECT_TRUE(replica->machine().ready());
  EXPECT_EQ(replica->machine().trouble(), "");
}

TEST_F(CertificatesTest, OneThatCannotBeUsedSaysWhatHelps) {
  server.secret = Object{
      {"metadata", Object{{"name", "cert"}, {"namespace", "ns"}, {"uid", "s"}, {"resourceVersion", "5"}}},
      {"data", Object{{"tls.crt", "!"}}}};
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  EXPECT_EQ(replica.shown(), "nothing");
  EXPECT_NE(replica.machine().trouble().find("secret ns/cert is not ours"), std::string::npos);
  run(replica, 10min);
  EXPECT_EQ(replica.warnings, 1);
}

TEST_F(CertificatesTest, AConfigurationThatIsNotThereYetIsNotWaitedFor) {
  server.configurations.clear();
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  EXPECT_EQ(replica.shown(), "cert 1");
  EXPECT_EQ(replica.machine().trouble(), "");
  server.configure(kMutating);
  run(replica, 61s);
  EXPECT_EQ(server.trusted(kMutating), "CA 1 -----END CERTIFICATE-----\n");
}

TEST_F(CertificatesTest, AnApiServerThatRefusesIsAskedLessAndLess) {
  server.refuses = 1'000'000;
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  run(replica, 10min);
  const int asked = 1'000'000 - server.refuses;
  EXPECT_GT(asked, 30);
  EXPECT_LT(asked, 3 * (60 + 20)) << "three objects, every 10 s at last";
  EXPECT_NE(replica.machine().trouble(), "");
  server.refuses = 0;
  run(replica, 11s);
  EXPECT_EQ(replica.shown(), "cert 1");
  EXPECT_EQ(replica.machine().trouble(), "");
}

TEST_F(CertificatesTest, AConfigurationThatCannotBeWrittenIsTriedLessAndLess) {
  for (bool Server::*how : {&Server::refuses_patches, &Server::forgets_patches}) {
    server.*how = true;
    server.secret.reset();
    Replica replica{server, maker};
    replica.start(clock.now());
    replica.settle(clock.now());
    EXPECT_EQ(replica.shown().substr(0, 4), "cert");
    EXPECT_FALSE(replica.machine().ready()) << "nobody trusts it yet";
    const int before = server.calls;
    run(replica, 10min);
    EXPECT_LT(server.calls - before, 2 * 3 * 80)
        << "two objects: a read, a write, a read, every 10 s at last";
    server.*how = false;
    run(replica, 11s);
    EXPECT_TRUE(replica.machine().ready());
    EXPECT_EQ(replica.machine().trouble(), "");
  }
}

TEST_F(CertificatesTest, AConfigurationThatAsksAnotherServiceIsSaid) {
  server.configurations[kMutating].set(
      "webhooks", json::Array{Object{{"name", "pods"}, {"clientConfig", Object{{"url", "https://x"}}}}});
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  EXPECT_NE(replica.machine().trouble().find("has no webhook that asks service ns/gpu-scheduler-webhook"),
            std::string::npos);
  EXPECT_FALSE(replica.machine().ready());
}

TEST_F(CertificatesTest, OneThatANodeWithAWrongClockMadeIsMadeAnew) {
  clock.setWall(clock.now().wall + 24h * 60);
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  clock.setWall(clock.now().wall - 24h * 60);  // the clock is right now
  run(replica, 31s);
  EXPECT_EQ(maker.made, 2);
  run(replica, 10min);
  EXPECT_EQ(maker.made, 2);
}

TEST_F(CertificatesTest, WhatIsOverGivesWayThoughNothingIsTrustedYet) {
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  server.refuses_patches = true;
  server.secret->child("data").set("tls.crt", encodeBase64("nonsense"));
  run(replica, 1min);
  EXPECT_EQ(maker.made, 2);
  EXPECT_EQ(replica.shown(), "cert 1") << "an API server trusts that one";
  pass(24h * 366);
  run(replica, 1min);
  EXPECT_NE(replica.shown(), "cert 1");
}

TEST_F(CertificatesTest, OursWithoutItsCaIsMadeAnew) {
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  server.secret->child("data").erase("ca.crt");
  run(replica, 31s);
  EXPECT_EQ(maker.made, 2);
  EXPECT_NE(server.has("ca.crt"), "");
}

TEST_F(CertificatesTest, WithoutEntropyItSaysSoAndTriesAgain) {
  maker.broken = true;
  Replica replica{server, maker};
  replica.start(clock.now());
  replica.settle(clock.now());
  EXPECT_NE(replica.machine().trouble().find("no entropy"), std::string::npos);
  maker.broken = false;
  run(replica, 11s);
  EXPECT_EQ(replica.shown(), "cert 1");
}

}  // namespace
}  // namespace gs::admission
