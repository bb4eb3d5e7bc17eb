#include "engine/informers.h"

#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "kapi/write.h"

namespace gs::engine {
namespace {

using namespace std::chrono_literals;
using model::Quotas;

const Quotas kOfTheFile{{"ns", model::Quota{{{"V100", 4}}, {}}}};

/// A feed of quotas, whose lists are answered by hand.
class QuotaInformers : public ::testing::Test {
 protected:
  QuotaInformers() {
    const model::QuotaConfig config{{"kube-system", "gpuquota"}, {}, kOfTheFile};
    engine.configureQuota(config);
    informers.emplace(engine, std::vector{Informers::quotaSource(config)}, rng);
  }
  /// Answers the list call under way with this status; the list's revision is 10.
  void answer(int http) {
    ASSERT_TRUE(call) << "no list is under way";
    kapi::Outcome o;
    o.token = std::exchange(call, std::nullopt)->token;
    o.http = http;
    o.result = http == 200   ? kapi::CallResult::Applied
               : http == 403 ? kapi::CallResult::Refused
                             : kapi::CallResult::Unknown;
    o.list_revision = 10;
    kapi::Effects out;
    EXPECT_TRUE(informers->handle(o, now, out));
    look(out);
  }
  void start() {
    kapi::Effects out;
    informers->start(now, out);
    look(out);
  }
  /// Until the next list is asked for.
  void untilAsked() {
    ASSERT_FALSE(call);
    ASSERT_TRUE(wake) << "it would wait for ever";
    now.mono = *wake;
    tick();
  }
  void tick() {
    kapi::Effects out;
    informers->tick(now, out);
    look(out);
  }
  void look(const kapi::Effects& effects) {
    for (const auto& effect : effects) {
      if (const auto* c = std::get_if<kapi::Call>(&effect)) { call = *c; }
      if (const auto* w = std::get_if<kapi::Wake>(&effect)) { wake = w->at; }
    }
  }
  /// Whether it is ready, and what it says of itself.
  std::pair<bool, std::string> check() const {
    const Readiness is = informers->readiness();
    return {is.ready, is.checks.at(0).state};
  }

  Rng rng{1};
  Engine engine;
  std::optional<Informers> informers;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
  std::optional<kapi::Call> call;
  std::optional<Mono> wake;
};

TEST_F(QuotaInformers, AServerThatHasJustStartedForbidsForAMoment) {
  start();
  answer(403);
  EXPECT_TRUE(engine.quota().awaited());
  EXPECT_FALSE(check().first) << "nobody should ask it yet";
  now.mono += 6s;
  tick();
  EXPECT_TRUE(engine.quota().awaited()) << "that was only one answer";
  ASSERT_TRUE(call);
  answer(200);
  EXPECT_FALSE(engine.quota().awaited());
  EXPECT_TRUE(engine.quota().quotas()->empty());
  EXPECT_FALSE(engine.quota().mayNotBeRead());
  EXPECT_TRUE(check().first);
}

TEST_F(QuotaInformers, WhatStaysForbiddenForSomeSecondsIs) {
  start();
  const Mono began = now.mono;
  for (answer(403); engine.quota().awaited() && now.mono < began + 1min; answer(403)) { untilAsked(); }
  ASSERT_FALSE(engine.quota().awaited());
  EXPECT_EQ(*engine.quota().quotas(), kOfTheFile);
  EXPECT_TRUE(engine.quota().mayNotBeRead());
  EXPECT_GE(now.mono - began, 5s);
  EXPECT_LE(now.mono - began, 10s);
  EXPECT_TRUE(check().first);
  EXPECT_EQ(check().second.substr(0, 15), "ok, without it:");
  for (int i = 0; i < 10; ++i) {
    const Mono before = now.mono;
    untilAsked();
    EXPECT_LE(now.mono - before, 10s) << "the right to it may be given";
    answer(403);
  }
}

TEST_F(QuotaInformers, OneThatWasAwayBetweenForbidsAnew) {
  start();
  answer(403);
  untilAsked();
  answer(0);
  now.mono += 1min;
  tick();
  answer(403);
  EXPECT_TRUE(engine.quota().awaited());
}

/// Before anything is listed the server is asked which Kubernetes it is.
class ServerInformers : public QuotaInformers {
 protected:
  ServerInformers() { informers->asksServer(); }
  void version(kapi::CallResult result, int http, int minor = 0) {
    ASSERT_TRUE(call);
    ASSERT_EQ(call->kind, kapi::kServerVersion);
    EXPECT_EQ(kapi::target(*call), "/version");
    kapi::Outcome o;
    o.token = std::exchange(call, std::nullopt)->token;
    o.result = result;
    o.http = http;
    model::ServerVersion said;
    said.minor = minor;
    if (http == 200) { o.object = std::make_shared<const model::ServerVersion>(said); }
    kapi::Effects out;
    EXPECT_TRUE(informers->handle(o, now, out));
    look(out);
  }
};

TEST_F(ServerInformers, ListsOnceTheServerAnswered) {
  start();
  EXPECT_FALSE(informers->readiness().ready);
  EXPECT_EQ(informers->readiness().checks.at(0).state, "its version was not answered yet");
  version(kapi::CallResult::Applied, 200, 33);
  EXPECT_TRUE(engine.volumes().rules().old_words);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->verb, kapi::Verb::List);
  answer(200);
  EXPECT_TRUE(informers->readiness().ready);
}

TEST_F(ServerInformers, AsksAgainWithPausesThatGrow) {
  start();
  const Mono began = now.mono;
  Duration last{};
  for (int i = 0; i < 4; ++i) {
    const Mono before = now.mono;
    version(kapi::CallResult::NotSent, 0);
    untilAsked();
    EXPECT_GT(now.mono - before, last);
    last = now.mono - before;
  }
  version(kapi::CallResult::Unknown, 503);
  EXPECT_EQ(informers->readiness().checks.at(0).state.substr(0, 17), "GET /version: 503");
  untilAsked();
  EXPECT_GT(now.mono, began + 3s);
  version(kapi::CallResult::Applied, 200, 37);
  EXPECT_FALSE(engine.volumes().rules().old_words);
  EXPECT_EQ(call->verb, kapi::Verb::List);
}

TEST_F(ServerInformers, OneThatWillNotSayIsTakenForTheNewest) {
  for (const auto& [result, http] :
       {std::pair{kapi::CallResult::Refused, 403}, std::pair{kapi::CallResult::Applied, 200}}) {
    informers.emplace(
        engine, std::vector{Informers::quotaSource({{"kube-system", "gpuquota"}, {}, kOfTheFile})}, rng);
    informers->asksServer();
    start();
    version(result, http);
    EXPECT_FALSE(engine.volumes().rules().old_words);
    ASSERT_TRUE(call);
    EXPECT_EQ(call->verb, kapi::Verb::List);
    call.reset();
  }
}

/// Leading may begin before the server answered.
TEST_F(ServerInformers, WhatIsToCatchUpThenDoesOnceItIsListed) {
  start();
  kapi::Effects out;
  informers->catchUp(kapi::kQuotaMap, 9, now, out);
  EXPECT_TRUE(out.empty()) << "nothing is listed yet";
  version(kapi::CallResult::Applied, 200, 33);
  answer(200);
  EXPECT_EQ(informers->takeCaughtUp(), std::vector{kapi::kQuotaMap});
}

/// A feed of leases that is listed at revision 10.
class LeaseInformers : public ::testing::Test {
 protected:
  LeaseInformers() : informers{engine, {{.kind = kapi::kLease}}, rng} {
    kapi::Effects out;
    informers.start(now, out);
    informers.sent(out);
    answer(std::get<kapi::Call>(out.at(0)), 10);
  }
  void answer(const kapi::Call& call, model::Revision list_revision, model::Object object = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.http = 200;
    o.result = kapi::CallResult::Applied;
    o.list_revision = list_revision;
    o.object = std::move(object);
    kapi::Effects out;
    (void)informers.handle(o, now, out);
  }
  /// A call of somebody else's leaves.
  kapi::Call send(kapi::Call call) {
    call.token = kapi::makeToken(99, ++next);
    informers.sent({call});
    return call;
  }
  static model::Object lease(model::Revision revision) {
    model::Lease l;
    l.key = {"ns", "x"};
    l.revision = revision;
    return std::make_shared<const model::Lease>(l);
  }

  Rng rng{1};
  Engine engine;
  Informers informers;
  Now now{Mono{1h}, Wall{1'750'000'000s}};
  std::uint64_t next = 0;
};

TEST_F(LeaseInformers, AListOfSomebodyElseThatIsOlderSaysThatHistoryWentBack) {
  answer(send(kapi::listObjects(kapi::kLease, "", 1)), 10);
  EXPECT_EQ(informers.failure(), "");
  answer(send(kapi::listObjects(kapi::kLease, "", 1)), 9);
  EXPECT_EQ(
      informers.failure(),
      "the API server's history of leases went back in time (restored from a backup?); restart this process");
}

TEST_F(LeaseInformers, SoDoesACreationThatIsOlder) {
  const auto call = [] {
    kapi::Call c;
    c.verb = kapi::Verb::Create;
    c.kind = kapi::kLease;
    return c;
  };
  answer(send(call()), 0, lease(11));
  EXPECT_EQ(informers.failure(), "");
  answer(send(call()), 0, lease(7));
  EXPECT_NE(informers.failure(), "");
}

TEST_F(LeaseInformers, LaterPagesOfAListAndListsOfOtherKindsSayNothing) {
  answer(send(kapi::listObjects(kapi::kLease, "", 1, "more")), 9);
  answer(send(kapi::listObjects(kapi::kPod, "", 1)), 9);
  EXPECT_EQ(informers.failure(), "");
}

/// What somebody else than the quotas reads of a ConfigMap.
constexpr kapi::KindInfo kOtherMapInfo{"",          "v1", "configmaps",
                                       "ConfigMap", true, kapi::decodedBy<kapi::decodeLease>};
constexpr kapi::Kind kOtherMap{kOtherMapInfo};

TEST(Informers, KeepsTheReadersOfOneKindApart) {
  Rng rng{1};
  Engine engine;
  const model::QuotaConfig config{{"kube-system", "gpuquota"}, {}, {}};
  engine.configureQuota(config);
  Informers informers{engine, {Informers::quotaSource(config), {.kind = kOtherMap, .ns = "other"}}, rng};
  const Now now{Mono{1h}, Wall{1'750'000'000s}};
  kapi::Effects asked;
  informers.start(now, asked);
  ASSERT_EQ(asked.size(), 2U);
  const auto& others = std::get<kapi::Call>(asked[1]);
  EXPECT_EQ(others.key.ns, "other");
  kapi::Effects out;
  const kapi::Outcome listed =
      kapi::decodeAnswer(others, 200, R"({"metadata":{"resourceVersion":"9"},"items":[
        {"metadata":{"namespace":"other","name":"a","uid":"u","resourceVersion":"3"}}]})",
                         {});
  ASSERT_TRUE(listed.items.at(0).is<model::Lease>());
  EXPECT_TRUE(informers.handle(listed, now, out));
  EXPECT_FALSE(informers.readiness().ready);
  EXPECT_EQ(informers.readiness().text(), "cache/configmaps: not listed yet\ncache/configmaps: ok\n");
  EXPECT_EQ(engine.quota().state(), "not read yet") << "it was no quota";
  EXPECT_TRUE(engine.cache().leases().empty()) << "nor is it a lease, though it is read as one";
}

TEST(FeedDeathTest, HasOneSourceOfAKind) {
  Rng rng{1};
  Engine engine;
  EXPECT_DEATH((Informers{engine, {{.kind = kapi::kPod}, {.kind = kapi::kPod}}, rng}), "two watches of pods");
}

class VolumeInformers : public QuotaInformers {
 protected:
  VolumeInformers() {
    const Informers::Source claims{.kind = kapi::kPersistentVolumeClaim, .optional = true};
    informers.emplace(engine, std::vector{claims}, rng);
    pod.key = {"default", "p"};
    pod.volume_claims = {{"data", false}};
  }
  std::string told() { return engine.askedOfVolumes(pod).blocked.kind; }

  model::Pod pod;
};

TEST_F(VolumeInformers, APodIsToldOfAKindThatMayNotBeListed) {
  start();
  answer(403);
  EXPECT_EQ(told(), "MayNotList:persistentvolumeclaims");
  untilAsked();
  answer(200);
  EXPECT_EQ(told(), "VolumeClaimMissing");
}

}  // namespace
}  // namespace gs::engine
