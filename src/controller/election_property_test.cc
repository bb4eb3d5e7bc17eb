// Several candidates on a bad network: two never lead at once, and one leads in the end.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>

#include "controller/election.h"
#include "controller/election_server_test.h"

namespace gs::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Parliament {
 public:
  explicit Parliament(std::uint64_t seed) : rng_{seed}, may_remove_{rng_.chance(50)} {
    for (std::size_t i = 0; i < 3; ++i) { join(i); }
  }

  void step(bool calm) {
    clock_ += milliseconds{25};
    report();
    arrive();
    answer();
    if (!calm) { disturb(); }
    for (std::size_t i = 0; i < seats_.size(); ++i) {
      Seat& s = seats_[i];
      if (calm) { s.owner_hangs = false; }
      if (s.machine) { take(i, s.machine->tick(nowOf(s))); }
    }
    check();
  }
  void setCalm() {
    calm_ = true;
    for (const std::size_t i : stopped_) { join(i); }
  }
  int leaders() const {
    return static_cast<int>(
        std::count_if(seats_.begin(), seats_.end(), [this](const Seat& s) { return leads(s); }));
  }
  int terms() const { return terms_; }

 private:
  struct Seat {
    std::unique_ptr<Election> machine;
    Duration offset{};  // its monotonic clock against the others'
    std::uint64_t life = 0;
    Wall began{};
    bool owner_hangs = false;
    kapi::Leadership leadership;
  };
  struct Flight {
    std::size_t seat;
    std::uint64_t life;
    kapi::Call call;
    std::optional<Mono> arrives;  // nullopt: it was lost or has arrived
    std::optional<Mono> answered;
    kapi::Outcome outcome;
    Mono deadline;
    bool reported = false;
  };

  struct Report {
    Mono at;
    std::string name;
    HolderPod pod;
  };

  Now nowOf(const Seat& s) const {
    return {Mono{clock_} + s.offset,
            Wall{std::chrono::microseconds{1}} +
                std::chrono::duration_cast<std::chrono::microseconds>(clock_ + s.offset)};
  }
  bool leads(const Seat& s) const {
    return s.machine && s.leadership.leading && nowOf(s).mono < s.leadership.until;
  }

  void join(std::size_t i) {
    Seat s;
    s.life = ++lives_;
    s.offset = i < seats_.size() ? seats_[i].offset : milliseconds{rng_.below(100'000)};
    s.began = nowOf(s).wall;
    Election::Config config = configOf("m" + std::to_string(s.life));
    config.container = printHolderContainer({{"gs", nameOf(i)}, model::Uid{"u"}, "scheduler"});
    s.machine = std::make_unique<Election>(std::move(config), rng_.split());
    if (i < seats_.size()) {
      ended(i);
      seats_[i] = std::move(s);
    } else {
      seats_.push_back(std::move(s));
    }
    take(i, seats_[i].machine->start(nowOf(seats_[i])));
  }

  static std::string nameOf(std::size_t seat) { return "seat-" + std::to_string(seat); }

  /// The life before has ended; its kubelet says so some time later, in whole seconds.
  void ended(std::size_t i) {
    const Seat& s = seats_[i];
    const auto cut = [](Wall t) { return Wall{std::chrono::floor<seconds>(t.time_since_epoch())}; };
    HolderPod pod;
    pod.uid = model::Uid{"u"};
    pod.runs = {{"scheduler", cut(s.began), cut(nowOf(s).wall)}};
    reports_.push_back({Mono{clock_} + milliseconds{rng_.below(3000)}, nameOf(i), std::move(pod)});
  }
  void report() {
    std::erase_if(reports_, [this](const Report& r) {
      if (r.at > Mono{clock_}) { return false; }
      server_.pods[r.name] = std::make_shared<const HolderPod>(r.pod);
      return true;
    });
  }

  Duration delay() {
    if (calm_ || rng_.chance(80)) { return milliseconds{rng_.below(60)}; }
    return milliseconds{rng_.below(9000)};
  }

  void take(std::size_t i, Election::Output out) {
    Seat& s = seats_[i];
    if (out.leadership) {
      if (out.leadership->leading && !s.leadership.leading) { ++terms_; }
      RC_ASSERT(out.leadership->term >= s.leadership.term);
      s.leadership = *out.leadership;
    }
    if (out.ping && !s.owner_hangs) { s.machine->pong(nowOf(s)); }
    for (const kapi::Effect& e : out.effects) {
      const auto* call = std::get_if<kapi::Call>(&e);
      if (call == nullptr) { continue; }
      Flight f{i, s.life, *call, {}, {}, {}, Mono{clock_} + call->timeout};
      if (calm_ || !rng_.chance(5)) { f.arrives = Mono{clock_} + delay(); }
      flights_.push_back(std::move(f));
    }
  }

  /// Requests reach the server whenever they like, also long after their sender gave them up.
  void arrive() {
    for (Flight& f : flights_) {
      if (!f.arrives || *f.arrives > Mono{clock_}) { continue; }
      f.arrives.reset();
      f.outcome = server_.serve(f.call);
      if (calm_ || !rng_.chance(5)) { f.answered = Mono{clock_} + delay(); }
    }
  }
  void answer() {
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      Flight& f = flights_[i];
      const bool here = f.answered && *f.answered <= Mono{clock_};
      if (f.reported || (!here && f.deadline > Mono{clock_})) { continue; }
      f.reported = true;
      kapi::Outcome o = f.outcome;
      if (!here) {
        o = kapi::Outcome{};
        o.token = f.call.token;
      }
      const std::size_t seat = f.seat;
      if (seats_[seat].machine && seats_[seat].life == f.life) {
        take(seat, seats_[seat].machine->handle(o, nowOf(seats_[seat])));
      }
    }
    std::erase_if(flights_, [](const Flight& f) { return f.reported && !f.arrives; });
  }

  void disturb() {
    Seat& s = seats_[rng_.below(seats_.size())];
    const auto dice = rng_.below(2000);
    if (dice < 20) { s.owner_hangs = !s.owner_hangs; }
    if (dice < 4 && may_remove_ && clock_ > seconds{20} && !std::exchange(removed_, true)) {
      server_.remove();
    }
    if (dice >= 20 && dice < 26 && !may_remove_) {
      join(static_cast<std::size_t>(&s - seats_.data()));
    }  // a crash
    if (dice >= 30 && dice < 36 && !may_remove_ && s.machine) {
      take(static_cast<std::size_t>(&s - seats_.data()), s.machine->stop(nowOf(s)));
      stopped_.push_back(static_cast<std::size_t>(&s - seats_.data()));
    }
    if (dice >= 40 && dice < 60 && !stopped_.empty()) {
      join(stopped_.back());
      stopped_.pop_back();
    }
  }

  void check() const { RC_ASSERT(leaders() <= 1); }

  Rng rng_;
  // By hand, once, when all know of the lease; then nobody starts afresh, who could not know of the holder.
  bool may_remove_;
  bool removed_ = false;
  bool calm_ = false;
  Duration clock_{};
  LeaseServer server_;
  std::vector<Seat> seats_;
  std::vector<Flight> flights_;
  std::vector<Report> reports_;  // under way
  std::vector<std::size_t> stopped_;
  std::uint64_t lives_ = 0;
  int terms_ = 0;
};

TEST(ElectionProperty, TwoNeverLeadAndOneLeadsInTheEnd) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Parliament p{seed};
    for (int i = 0; i < 2400; ++i) { p.step(false); }  // a minute
    RC_ASSERT(p.terms() > 0);
    p.setCalm();
    for (int i = 0; i < 1000; ++i) { p.step(true); }
    RC_ASSERT(p.leaders() == 1);
  }));
}

}  // namespace
}  // namespace gs::controller
