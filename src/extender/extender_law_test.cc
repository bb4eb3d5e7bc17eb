// The law of every write: none is tried again at once, whatever the answer; none holds what others need.
// Whole clusters whose API server answers anything, once or for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "base/random.h"
#include "extender/extender.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

constexpr Duration kStep = 50ms;
constexpr std::size_t kConnections = 32;
constexpr Duration kPatience = 5s;

/// How a namespace's calls of one kind are answered.
struct Mood {
  enum class Of : std::uint8_t { Fine, Code, Busy, Hangs, HangsAndLands, NotSent, Wild };
  Of of = Of::Fine;
  int code = 200;
};

class LawPlay {
 public:
  explicit LawPlay(std::uint64_t seed) : rng_{seed} {
    for (int i = 0; i < 4; ++i) {
      nodes_.push_back(fmt::format("n{}", i));
      engine_.apply({kapi::kNode,
                     {"", nodes_.back()},
                     {},
                     std::make_shared<const model::Node>(gpuNode(nodes_.back(), 8, 40)),
                     1},
                    now_.mono);
    }
    for (auto& mood : moods_) { mood = anyMood(); }
    for (int i = 0; i < 30; ++i) { add(fmt::format("bad-{}", i), "bad", rng_.chance(20)); }
    for (int i = 0; i < 10; ++i) { add(fmt::format("good-{}", i), "good", false); }
    if (rng_.chance(50)) {
      for (int i = 0; i < 100; ++i) { add(fmt::format("forged-{}", i), "bad", true); }
    }
    extender_.lead(now_);
  }

  std::string run(Duration time) {
    for (Duration t{}; t < time && problem_.empty(); t += kStep) { step(); }
    return problem_;
  }
  [[nodiscard]] int answered() const { return answered_; }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  struct Flight {
    kapi::Call call;
    Mono back{};
    CallResult result{};
    int code = 0;
    bool carried_out = false;
  };
  struct Record {
    Mono failed_at{};
    int in_a_row = 0;
    std::deque<Mono> calls;  // of the last minute
  };
  struct Scheduler {
    std::string ns;
    RequestId request_id = 0;
    Mono asked{};
    Mono next{};
  };

  Mood anyMood() {
    static constexpr std::array kCodes{400, 401, 403, 404, 405, 409, 413, 415, 422};
    const auto luck = rng_.below(8);
    if (luck < 4) { return {Mood::Of::Code, kCodes[rng_.below(kCodes.size())]}; }
    static constexpr std::array kOf{Mood::Of::Busy,    Mood::Of::Hangs, Mood::Of::HangsAndLands,
                                    Mood::Of::NotSent, Mood::Of::Wild,  Mood::Of::Fine};
    return {kOf[rng_.below(kOf.size())], 429};
  }
  void add(const std::string& name, const std::string& ns, bool forged) {
    model::Pod pod = vcudaPod(name, {{30, 2}});
    pod.key.ns = ns;
    if (forged) {
      pod.annotations = {{"tencent.com/predicate-node", "n0"}, {"tencent.com/predicate-gpu-idx-0", "0"}};
    }
    bring(server_.add(pod));
  }
  void bring(const model::Pod& pod) {
    engine_.apply({kapi::kPod, pod.key, {}, std::make_shared<const model::Pod>(pod), pod.revision},
                  now_.mono);
  }

  void step() {
    now_.mono += kStep;
    now_.wall += std::chrono::duration_cast<Wall::duration>(kStep);
    for (auto& s : schedulers_) { schedule(s); }
    while (!waiting_.empty() && flying_.size() < kConnections) {
      flying_.push_back(send(std::move(waiting_.front())));
      waiting_.pop_front();
    }
    for (std::size_t i = 0; i < flying_.size();) {
      if (flying_[i].back > now_.mono) {
        ++i;
        continue;
      }
      const Flight flight = flying_[i];
      flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
      comeBack(flight);
    }
    settle();
    if (extender_.grants().timers > server_.pods.size()) { problem_ = "more timers than pods"; }
  }

  /// One request at a time, as schedulers do.
  void schedule(Scheduler& s) {
    if (s.request_id != 0 && now_.mono < s.asked + kPatience) { return; }
    if (s.request_id != 0 && s.ns == "good") { problem_ = "a question of another namespace had no answer"; }
    s.request_id = 0;
    if (now_.mono < s.next) { return; }
    s.next = now_.mono + 1s;
    std::vector<const model::Pod*> mine;
    for (const auto& [name, pod] : server_.pods) {
      if (pod.key.ns == s.ns && !pod.bound()) { mine.push_back(&pod); }
    }
    if (mine.empty()) { return; }
    const model::Pod& pod = *mine[rng_.below(mine.size())];
    Request q;
    const auto luck = rng_.below(10);
    q.verb = luck < 6 ? Verb::Filter : luck < 8 ? Verb::Deallocate : Verb::Bind;
    if (s.ns == "good") { q.verb = Verb::Filter; }
    q.pod = std::make_shared<const model::Pod>(pod);
    q.candidates.table = extender_.table();
    const std::size_t first = rng_.below(nodes_.size());
    q.node = model::NodeName{nodes_[first]};
    q.candidates.nodes = {q.candidates.table->find(nodes_[first])};
    s.request_id = ++request_ids_;
    s.asked = now_.mono;
    desk_.ask(extender_, s.request_id, std::move(q), now_);
    settle();
  }

  static bool isBinding(const kapi::Call& call) { return call.subresource == "binding"; }
  static int kindOf(const kapi::Call& call) { return kapi::isRead(call.verb) ? 0 : isBinding(call) ? 1 : 2; }
  Flight send(kapi::Call call) {
    Flight f{call, now_.mono + 5ms, CallResult::Applied, 200, true};
    if (call.key.ns == "good") { return f; }
    Mood mood = moods_[static_cast<std::size_t>(kindOf(call))];
    if (mood.of == Mood::Of::Wild) { mood = rng_.chance(30) ? Mood{} : anyMood(); }
    switch (mood.of) {
      case Mood::Of::Fine:
      case Mood::Of::Wild: break;
      case Mood::Of::Code:
      case Mood::Of::Busy: f = {call, now_.mono + 5ms, CallResult::Refused, mood.code, false}; break;
      case Mood::Of::NotSent: f = {call, now_.mono + 5ms, CallResult::NotSent, 0, false}; break;
      case Mood::Of::Hangs: f = {call, now_.mono + call.timeout, CallResult::Unknown, 0, false}; break;
      case Mood::Of::HangsAndLands:
        f = {call, now_.mono + call.timeout, CallResult::Unknown, 500, true};
        break;
    }
    return f;
  }
  void comeBack(const Flight& f) {
    kapi::Outcome o;
    o.token = f.call.token;
    if (f.carried_out) { o = server_.carryOut(f.call); }
    if (!f.carried_out || f.result != CallResult::Applied) {
      o.result = f.result;
      o.http = f.code;
      o.reason = f.code == 404 ? "NotFound" : "";
      o.object = {};
    }
    Record& r = records_[{f.call.key.name, kindOf(f.call)}];
    if (o.result == CallResult::Applied || f.carried_out) {  // which a read will tell
      r.in_a_row = 0;
    } else {
      ++failures_;
      ++r.in_a_row;
      r.failed_at = now_.mono;
    }
    extender_.handle(o, now_);
    const auto it = server_.pods.find(f.call.key.name);
    if (it != server_.pods.end()) { bring(it->second); }
    settle();
  }

  void settle() {
    extender_.settle(now_);
    for (auto& effect : extender_.takeEffects()) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { watchOver(std::move(*call)); }
    }
    for (const auto& [request_id, answer] : extender_.takeAnswers()) {
      ++answered_;
      for (auto& s : schedulers_) {
        if (s.request_id != request_id) { continue; }
        if (s.ns == "good" && now_.mono > s.asked + 1s) {
          problem_ = "another namespace waited for its answer";
        }
        s.request_id = 0;
      }
    }
  }
  void watchOver(kapi::Call call) {
    const std::string pod = call.key.name;
    Record& r = records_[{pod, kindOf(call)}];
    // A Binding, and the read for it, is what its caller asks for each time.
    const bool asked_for = isBinding(call) || kindOf(call) == 0;
    const bool at_once = r.in_a_row > 0 && now_.mono < r.failed_at + 200ms;
    if (at_once && !asked_for) { problem_ = fmt::format("{} is written again at once", pod); }
    const bool soon = r.in_a_row > 7 && now_.mono < r.failed_at + 9s;
    if (soon && !asked_for) {
      problem_ = fmt::format("{} failed {} times and is written again ({} {})", pod, r.in_a_row,
                             static_cast<int>(moods_[2].of), moods_[2].code);
    }
    r.calls.push_back(now_.mono);
    while (r.calls.front() < now_.mono - 1min) { r.calls.pop_front(); }
    if (r.calls.size() > 30) { problem_ = fmt::format("{} calls about {} in a minute", r.calls.size(), pod); }
    waiting_.push_back(std::move(call));
  }

  Rng rng_;
  std::vector<std::string> nodes_;
  std::array<Mood, 3> moods_{};  // of reads, Bindings and PATCHes in namespace bad
  engine::Engine engine_;
  Extender extender_{engine_, Config{}, Rng{7}};
  FrontDesk desk_{Config{}.answer_within};
  PodServer server_;
  Now now_{Mono{1h}, Wall{1min}};
  std::array<Scheduler, 2> schedulers_{Scheduler{"bad"}, Scheduler{"good"}};
  RequestId request_ids_ = 0;
  std::deque<kapi::Call> waiting_;
  std::vector<Flight> flying_;
  std::map<std::pair<std::string, int>, Record> records_;
  std::string problem_;
  int answered_ = 0;
  int failures_ = 0;
};

TEST(ExtenderProperty, NoWriteIsTriedAgainAtOnceAndNoneDelaysOthers) {
  int answered = 0;
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    LawPlay play{seed};
    ASSERT_EQ(play.run(150s), "") << "seed " << seed;
    answered += play.answered();
    failures += play.failures();
  }
  EXPECT_GT(answered, 10'000);
  EXPECT_GT(failures, 2'000);
}

}  // namespace
}  // namespace gs::extender
