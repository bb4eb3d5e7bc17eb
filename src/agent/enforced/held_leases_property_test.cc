// Pods come, change and go, leases are written and taken over, answers come late, in any order, wrong or not
// at all: nobody is ever said to hold what, at the time of the answers, was not its own. And once all is
// quiet, everybody holds exactly what its leases say.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "agent/enforced/held_leases.h"
#include "agent/enforced/leases_test.h"

namespace gs::agent {
namespace {

using enforce::Hold;
using namespace std::chrono_literals;

constexpr int kGpus = 4;
constexpr int kPods = 5;

class Storm {
 public:
  explicit Storm(std::uint64_t seed) : draws_{seed} { held_.read(true); }

  void run() {
    for (int step = 0; step < 300 && !::testing::Test::HasFailure(); ++step) {
      act();
      tick();
      judge();
    }
    settle();
    judgeAtTheEnd();
  }

 private:
  struct OnItsWay {
    kapi::Call call;
    std::uint64_t asked_in = 0;  // epoch of its pod
  };
  struct Answer {
    kapi::Outcome outcome;
    model::Uid pod;
    int gpu = 0;
    std::uint64_t asked_in = 0;
    bool is_own = false;  // as the API had it when it answered
  };

  // ---- what happens

  void act() {
    switch (draws_.below(10)) {
      case 0:
      case 1: return change();
      case 2: return go();
      case 3:
      case 4: return writeLeases();
      case 5: return serve();
      case 6: return clock_.advance(std::chrono::milliseconds{draws_.below(2'000)});
      default: return draws_.chance(50) ? serve() : deliver();
    }
  }
  void change() {
    const std::string name = "p" + std::to_string(draws_.below(kPods));
    std::string devices;
    for (int id = 0; id < kGpus; ++id) {
      if (draws_.chance(40)) { devices += (devices.empty() ? "n:" : ",") + std::to_string(id); }
    }
    if (draws_.chance(5)) { devices = "n:nonsense"; }
    const std::string reservation = draws_.chance(10) ? "" : "r" + std::to_string(draws_.below(3));
    const model::Pod pod = podWith(name, devices, reservation);
    const auto known = pods_.find(pod.uid);
    const bool is_new = known == pods_.end() || known->second.annotations != pod.annotations;
    if (is_new) {
      ++epoch_[pod.uid];
      own_.erase(pod.uid);
    }
    pods_[pod.uid] = pod;
    held_.changed(pod);
  }
  void go() {
    if (pods_.empty()) { return; }
    const model::Uid uid = onePod().uid;
    pods_.erase(uid);
    own_.erase(uid);
    ++epoch_[uid];
    held_.gone(uid);
    held_.sweep([](const model::Uid&) { return false; });
  }
  /// For a pod as it is, some of them of another decision.
  void writeLeases() {
    if (pods_.empty()) { return; }
    const model::Pod& pod = onePod();
    std::string reservation = draws_.chance(80) ? textOf(pod, model::kReservationKey) : "";
    if (reservation.empty()) { reservation = "r9"; }
    const std::string devices = textOf(pod, model::kAllocatedKey);
    for (int id = 0; id < kGpus; ++id) {
      if (draws_.chance(10)) { leases_.all.erase(model::leaseName(model::NodeName{"n"}, id)); }
      if (devices.find(std::to_string(id)) == std::string::npos || draws_.chance(20)) { continue; }
      if (draws_.chance(80)) {
        leases_.give(id, pod, reservation, devices);
      } else {
        leases_.share(id, {{pod.uid, pod.key, 0, 0, model::ReservationId{reservation}, devices}});
      }
    }
  }
  /// The API answers one of the calls: that answer is on its way now.
  void serve() {
    if (calls_.empty()) { return; }
    const std::size_t at = draws_.below(calls_.size());
    OnItsWay one = std::move(calls_[at]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(at));
    Answer answer;
    answer.gpu = one.call.key.name.back() - '0';
    answer.pod = asker_.at(one.call.token);
    answer.asked_in = one.asked_in;
    answer.outcome = outcomeOf(one.call, answer);
    answers_.push_back(std::move(answer));
  }
  kapi::Outcome outcomeOf(const kapi::Call& call, Answer& answer) {
    switch (draws_.below(8)) {
      case 0: return FakeLeases::refused(call, 500, "InternalError");
      case 1: {  // of another lease
        kapi::Call other = call;
        other.key.name = "gpu-n-" + std::to_string((answer.gpu + 1) % kGpus);
        return leases_.answer(other);
      }
      case 2: return FakeLeases::refused(call, 404, "NotFound");
      default: break;
    }
    answer.is_own = isOwn(answer.pod, answer.gpu);
    return leases_.answer(call);
  }
  void deliver() {
    if (answers_.empty()) { return; }
    const std::size_t at = draws_.below(answers_.size());
    const Answer answer = std::move(answers_[at]);
    answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(at));
    const bool counts = answer.is_own && answer.asked_in == epoch_[answer.pod];
    if (counts) { own_[answer.pod].insert(answer.gpu); }
    kapi::Effects out;
    held_.handle(answer.outcome, clock_.now(), out);
    take(std::move(out));
  }
  void tick() {
    kapi::Effects out;
    held_.tick(clock_.now(), out);
    take(std::move(out));
    EXPECT_LE(calls_.size() + answers_.size(), HeldLeases::kUnderWay);
  }
  void take(kapi::Effects out) {
    for (auto& effect : out) {
      auto* call = std::get_if<kapi::Call>(&effect);
      if (call == nullptr) { continue; }
      const model::Uid pod = *held_.askedFor(call->token);
      asker_[call->token] = pod;
      calls_.push_back({std::move(*call), epoch_[pod]});
    }
  }

  // ---- what is so, by a reading of its own

  static std::string textOf(const model::Pod& pod, const char* key) {
    const std::string* text = pod.annotation(key);
    return text == nullptr ? "" : *text;
  }
  [[nodiscard]] bool isOwn(const model::Uid& uid, int gpu) const {
    const auto pod = pods_.find(uid);
    const auto lease = leases_.all.find("gpu-n-" + std::to_string(gpu));
    if (pod == pods_.end() || lease == leases_.all.end()) { return false; }
    std::string reservation = lease->second.reservation.text;
    std::string devices = lease->second.devices;
    std::string holder = lease->second.holder;
    if (holder == "shared") {
      const auto& first = lease->second.holders.front();
      reservation = first.reservation.text;
      devices = first.devices;
      holder = first.uid.text;
    }
    const std::string said = textOf(pod->second, model::kReservationKey);
    return holder == uid.text && (said.empty() || said == reservation) &&
           devices == textOf(pod->second, model::kAllocatedKey);
  }
  [[nodiscard]] enforce::NodeRecord record() const {
    enforce::NodeRecord out;
    held_.fill(out);
    return out;
  }
  void judge() {
    for (const auto& [uid, holding] : record().holdings) {
      EXPECT_TRUE(pods_.contains(uid)) << uid.text;
      if (holding.hold != Hold::Verified) { EXPECT_NE(holding.why, ""); }
      if (holding.hold != Hold::Verified) { continue; }
      for (const model::DeviceId id : holding.devices) {
        EXPECT_TRUE(own_[uid].contains(id.gpu))
            << uid.text << " is said to hold GPU " << id.gpu << ", which no answer gave it";
      }
    }
  }
  /// Nobody changes anything any more, and the API answers as it is.
  void settle() {
    for (int i = 0; i < 4'000; ++i) {
      clock_.advance(100ms);
      while (!answers_.empty()) { deliver(); }
      tick();
      while (!calls_.empty()) {
        OnItsWay one = std::move(calls_.front());
        calls_.pop_front();
        Answer answer;
        answer.gpu = one.call.key.name.back() - '0';
        answer.pod = asker_.at(one.call.token);
        answer.asked_in = one.asked_in;
        answer.is_own = isOwn(answer.pod, answer.gpu);
        answer.outcome = leases_.answer(one.call);
        answers_.push_back(std::move(answer));
        deliver();
        judge();
      }
    }
  }
  void judgeAtTheEnd() {
    const enforce::NodeRecord now = record();
    for (const auto& [uid, pod] : pods_) {
      const auto it = now.holdings.find(uid);
      const auto said = saidBy(pod, model::NodeName{"n"});
      if (it == now.holdings.end()) {
        EXPECT_FALSE(said) << uid.text;
        continue;
      }
      bool is_fine = said && said->mistake.empty();
      if (said) {
        for (const model::DeviceId id : said->devices) { is_fine = is_fine && isOwn(uid, id.gpu); }
      }
      // Who was verified is not read again, whatever becomes of its leases.
      if (is_fine) { EXPECT_EQ(it->second.hold, Hold::Verified) << uid.text << ": " << it->second.why; }
    }
    while (!pods_.empty()) { go(); }
    EXPECT_EQ(held_.size(), 0U);
    EXPECT_TRUE(record().held.empty());
  }
  const model::Pod& onePod() {
    auto it = pods_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(draws_.below(pods_.size())));
    return it->second;
  }

  Rng draws_;
  Rng rng_{1};
  ManualClock clock_;
  controller::Parts parts_;
  HeldLeases held_{{model::NodeName{"n"}, FakeLeases::kNamespace}, parts_, rng_};
  FakeLeases leases_;
  std::map<model::Uid, model::Pod> pods_;
  std::map<model::Uid, std::uint64_t> epoch_;  // counts what each says
  std::map<model::Uid, std::set<int>> own_;    // by answers since then
  std::map<kapi::Token, model::Uid> asker_;
  std::deque<OnItsWay> calls_;
  std::deque<Answer> answers_;
};

TEST(HeldLeasesProperty, NobodyIsSaidToHoldWhatWasAnothers) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Storm{seed}.run();
    if (::testing::Test::HasFailure()) { break; }
  }
}

}  // namespace
}  // namespace gs::agent
