// The law of every writer (R59), over random answers: whatever is answered to which calls, for how long,
// about which object or namespace, no object is called about more than so often, pods of other namespaces are
// placed at once, and when the fault is over everything comes right. Pods of our own, and pods that a
// kube-scheduler places.
#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "test/world/kube.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using How = sandbox::CallFault::How;
using kapi::Call;
using kapi::Kind;
using kapi::Verb;

/// Of one pod whose Bindings are always in conflict: 9 tries a minute (after 1, 2, 4, 8, then 10 s each), and
/// each is three Bindings, a read after each, and the fence (R30). And it is told why it waits.
constexpr int kPodCallsPerMinute = 9 * 7 + 2;
constexpr int kLeaseCallsPerMinute = 90;   // of one lease, whoever wants it
constexpr int kOtherCallsPerMinute = 30;   // of one claim's status, or one event
constexpr int kRecordCallsPerMinute = 75;  // a read each second, and writes with backoff
constexpr Duration kOthersWait = 2s;
constexpr Duration kOtherNodeWait = 15s;  // that node is tried first, and a lease has 10 s
constexpr Duration kOverIn = 40s;         // after the fault: the longest backoff, and the way to the Binding
/// The same of kube-scheduler's: it waits for a bind for 4 s, then asks again up to 10 s later; and who was
/// woken in vain is woken again a minute later.
constexpr Duration kKubesOthersWait = 5s;
constexpr Duration kKubesOtherNodeWait = 25s;
constexpr Duration kKubesOverIn = 100s;

/// Which calls go wrong, and how.
struct Fault {
  enum class Where : std::uint8_t { Everywhere, OneNamespace, OneObject, OneNode };
  Kind kind{};
  int verb = -1;  // -1: all
  bool bindings = false;
  Where where{};
  How how{};
  int http = 0;
  unsigned percent = 100;

  static Fault draw(Rng& rng) {
    Fault f;
    static const std::array kKinds{kapi::kPod,   kapi::kPod,      kapi::kLease, kapi::kLease,
                                   kapi::kEvent, kapi::kGpuClaim, kapi::kCrd};
    static constexpr std::array kHttp{400, 401, 403, 404, 405, 406, 409, 410, 413,
                                      415, 422, 429, 500, 501, 502, 503, 504};
    static constexpr std::array kHow{How::Refused,    How::Refused,   How::Refused, How::Refused,
                                     How::LostBefore, How::LostAfter, How::Late};
    f.kind = kKinds.at(rng.below(kKinds.size()));
    const auto& verbs = verbsOf(f.kind);
    f.verb = rng.chance(50) ? -1 : static_cast<int>(verbs.at(rng.below(verbs.size())));
    f.bindings = rng.chance(30);
    f.where = static_cast<Where>(rng.below(4));
    f.how = kHow.at(rng.below(kHow.size()));
    f.http = kHttp.at(rng.below(kHttp.size()));
    f.percent = rng.chance(60) ? 100 : 50;
    return f;
  }
  /// How they are called.
  static const std::vector<Verb>& verbsOf(Kind kind) {
    static const std::vector<Verb> kOfPods{Verb::Create, Verb::StrategicPatch, Verb::MergePatch};
    static const std::vector<Verb> kOfLeases{Verb::Create, Verb::Update, Verb::Delete, Verb::Get};
    static const std::vector<Verb> kOfEvents{Verb::Create};
    static const std::vector<Verb> kOfClaims{Verb::Apply};
    static const std::vector<Verb> kOfRecord{Verb::Get, Verb::MergePatch};
    return kind == kapi::kCrd     ? kOfRecord
           : kind == kapi::kPod   ? kOfPods
           : kind == kapi::kLease ? kOfLeases
           : kind == kapi::kEvent ? kOfEvents
                                  : kOfClaims;
  }
  [[nodiscard]] bool means(const Call& call) const {
    if (call.kind != kind || (kind == kapi::kLease && call.key.name == scheduler::kLeaderLease)) {
      return false;
    }
    if (bindings && kind == kapi::kPod && call.subresource != "binding") { return false; }
    if (!bindings && verb >= 0 && call.verb != static_cast<Verb>(verb)) { return false; }
    const std::string text = json::print(call.body);
    const auto says = [&](const char* what) { return text.find(what) != std::string::npos; };
    const std::string name =
        call.key.name.empty() ? std::string{call.body["metadata"]["name"].str()} : call.key.name;
    switch (kind == kapi::kCrd ? Where::Everywhere : where) {
      case Where::Everywhere: return true;
      case Where::OneNamespace: return call.key.ns == "bad" || says(R"(pod-namespace":"bad")");
      case Where::OneObject:
        return name == "b1" || name == "gpu-node-a-0" || (kind == kapi::kGpuClaim && name == "many") ||
               (kind == kapi::kEvent && says(R"("name":"b1")"));
      case Where::OneNode:  // reads pass: no webhook is asked about them
        return !kapi::isRead(call.verb) && (says("node-a") || name.find("node-a") != std::string::npos);
    }
    return false;
  }
  [[nodiscard]] std::string text() const {
    static constexpr std::array kPlaces{"everywhere", "in one namespace", "of one object", "on one node"};
    return fmt::format("{} {} {}, how {}, {}, {} %", kind->plural,
                       bindings ? "Bindings" : std::to_string(verb),
                       kPlaces.at(static_cast<std::size_t>(where)), static_cast<int>(how), http, percent);
  }
  /// Others are placed within so long; nullopt: everybody is concerned.
  [[nodiscard]] std::optional<Duration> othersWait(bool kubes) const {
    const Duration soon = kubes ? kKubesOthersWait : kOthersWait;
    if (kind == kapi::kEvent || kind == kapi::kGpuClaim) { return soon; }
    if (kind == kapi::kCrd) { return std::nullopt; }  // nobody decides before the record is read
    switch (where) {
      case Where::Everywhere: return std::nullopt;
      case Where::OneNamespace:
      case Where::OneObject: return soon;
      case Where::OneNode: return kubes ? kKubesOtherNodeWait : kOtherNodeWait;
    }
    return std::nullopt;
  }
};

class StormLaw : public WithKube<Cluster> {
 protected:
  StormLaw(std::uint64_t seed, bool kubes)
      : WithKube{sandbox::World::Options{.seed = seed}},
        kubes_{kubes},
        rng_{seed},
        fault_{Fault::draw(rng_)} {
    world.setJudge([this](sandbox::ReplicaId, const Call& call) {
      if (call.verb != Verb::List && call.key.name != scheduler::kLeaderLease) {
        const std::string created{call.body["metadata"]["name"].str()};
        ++calls_[{call.kind, call.key.name.empty() ? model::ObjectKey{call.key.ns, created} : call.key}];
      }
      if (!on_ || !fault_.means(call) || !rng_.chance(fault_.percent)) { return sandbox::CallFault{}; }
      ++hits_;
      return sandbox::CallFault{.how = fault_.how, .http = fault_.http, .delay = 3s};
    });
    kubes ? startWithKube() : startOne();
    world.create(json::Object{
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", "bad"}}}});
    for (const char* ns : {"bad", "default"}) {
      world.create(claim("one", 1, {}, ns));
      world.create(claim("many", 1, json::Object{{"exclusivity", "Shared"}}, ns));
    }
  }

  void comes(const std::string& name, const std::string& of_claim, const std::string& ns = "default") {
    kubes_ ? createKubes(name, of_claim, ns) : world.create(pod(name, of_claim, 0, ns));
  }
  void expectFewCalls() {
    for (const auto& [object, n] : std::exchange(calls_, {})) {
      const int most = object.first == kapi::kPod     ? kPodCallsPerMinute
                       : object.first == kapi::kLease ? kLeaseCallsPerMinute
                       : object.first == kapi::kCrd   ? kRecordCallsPerMinute
                                                      : kOtherCallsPerMinute;
      EXPECT_LE(n, most) << object.first->plural << " " << object.second.text();
    }
  }
  /// What users do meanwhile.
  void disturb() {
    const auto lease = kLeases + "gpu-node-a-" + std::to_string(rng_.below(4));
    if (world.get(lease)["kind"].str() != "Lease") { return; }
    if (rng_.chance(50)) {
      (void)world.request("DELETE", lease);
      return;
    }
    const json::Object labels{{"gpu.scheduling/managed", json::Value{}}};
    (void)world.request("PATCH", lease, json::Object{{"metadata", json::Object{{"labels", labels}}}},
                        "application/merge-patch+json");
  }
  void minuteOfFault(bool others_come) {
    for (int i = 0; i < 3; ++i) {
      disturb();
      const auto wait = others_come && i > 0 ? fault_.othersWait(kubes_) : std::nullopt;
      if (wait) { othersAreServed("other" + std::to_string(i), *wait); }
      world.run(std::max<Duration>(0s, 20s - wait.value_or(0s)));
    }
    expectFewCalls();
  }
  void othersAreServed(const std::string& name, Duration wait) {
    const Mono end = world.now().mono + wait;
    comes(name, "one");
    EXPECT_TRUE(eventually([&] { return !nodeOf(name).empty(); }, wait)) << name;
    world.run(end - world.now().mono);
  }

 public:
  void TestBody() override {
    comes("early", "one");
    ASSERT_TRUE(eventually([&] { return !nodeOf("early").empty(); }));
    on_ = true;
    for (int i = 0; i < 3; ++i) {
      comes("b" + std::to_string(i), i == 2 ? "many" : "one", "bad");
      comes("d" + std::to_string(i), i == 2 ? "many" : "one");
    }
    if (kind() == kapi::kCrd) {  // the record is written by who begins to lead
      world.crash(0);
      world.restart(0);
    }
    calls_.clear();
    minuteOfFault(false);
    minuteOfFault(true);
    on_ = false;
    const auto allPlaced = [&] { return readTruth(world).waiting.empty(); };
    EXPECT_TRUE(eventually(allPlaced, kubes_ ? kKubesOverIn : kOverIn));
    expectSettled();
  }
  [[nodiscard]] int hits() const { return hits_; }
  [[nodiscard]] std::string text() const { return fault_.text(); }
  [[nodiscard]] Kind kind() const { return fault_.kind; }

 private:
  bool kubes_;
  Rng rng_;
  Fault fault_;
  bool on_ = false;
  int hits_ = 0;
  std::map<std::pair<Kind, model::ObjectKey>, int> calls_;
};

/// One seed of it.
class OneSeed final : public StormLaw {
 public:
  OneSeed(std::uint64_t seed, bool kubes) : StormLaw{seed, kubes} {}
};

/// The seeds whose fault met a call.
std::map<Kind, int> play(std::uint64_t seeds, bool kubes) {
  std::map<Kind, int> hit;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    OneSeed one{seed, kubes};
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, one.text()));
    one.TestBody();
    hit[one.kind()] += one.hits() > 0 ? 1 : 0;
    if (::testing::Test::HasFailure()) { break; }
  }
  return hit;
}

TEST(StormLaw, HoldsWhateverIsAnswered) {
  auto hit = play(160, false);
  for (const Kind kind : {kapi::kPod, kapi::kLease, kapi::kEvent, kapi::kGpuClaim, kapi::kCrd}) {
    EXPECT_GE(hit[kind], 12) << kind->plural;
  }
}

TEST(StormLaw, HoldsForPodsThatKubeSchedulerPlaces) {
  auto hit = play(100, true);
  for (const Kind kind : {kapi::kPod, kapi::kLease, kapi::kGpuClaim, kapi::kCrd}) {
    EXPECT_GE(hit[kind], 5) << kind->plural;
  }
}

}  // namespace
}  // namespace gs::test
