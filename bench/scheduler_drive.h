// A scheduler component with a cluster of values around it: answers its calls at once and well,
// and times each handle().
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "json/value.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "scheduler/scheduler.h"

namespace gs::bench {

/// Of this thread: what others do on the machine is not ours.
inline double cpuMs() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// Pages that the kernel gave this thread so far: memory that is touched for the first time.
inline long pageFaults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

/// What one handle() took, and what it did.
struct EventCost {
  double ms = 0;
  const char* event = "";
  std::uint64_t looks = 0;    // at nodes (Decider::looks)
  std::uint64_t reviews = 0;  // of pods
  std::uint64_t told = 0;     // pods, why they wait
  std::size_t effects = 0;
  long faults = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format("{}: {} looks, {} reviews, {} told, {} effects, {} page faults", event, looks, reviews,
                       told, effects, faults);
  }
};

class SchedulerDrive {
 public:
  using Listed = std::map<kapi::Kind, std::vector<model::Object>>;

  SchedulerDrive(scheduler::Config config, Listed listed)
      : listed_{std::move(listed)}, scheduler_{std::move(config), Rng{1}} {
    take(scheduler_.start(now_));
    settle();
    events_.emplace_back(kapi::Leadership{true, 1, now_.mono + std::chrono::hours{1}, false});
    settle();
    run(std::chrono::seconds{5});
    if (!scheduler_.leading()) {
      std::fprintf(stderr, "the scheduler does not decide\n");
      std::exit(1);
    }
  }

  [[nodiscard]] scheduler::Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] model::Revision nextRevision() { return ++revision_; }

  /// A line of the watch of that kind; milliseconds that it took to decode. In a thread of its own, as a
  /// watch does: what that leaves behind of memory is not for handle() to sort.
  double tellLine(kapi::Kind kind, const std::string& line) {
    std::variant<kapi::WatchEvent, kapi::WatchEnded> decoded;
    double ms = 0;
    std::thread{[&, stream = streams_[kind]] {
      const double start = cpuMs();
      decoded = kapi::decodeWatchLine(stream, kind, line);
      ms = cpuMs() - start;
    }}.join();
    if (std::holds_alternative<kapi::WatchEnded>(decoded)) {
      std::fprintf(stderr, "no event: %s\n", line.substr(0, 200).c_str());
      std::exit(1);
    }
    events_.emplace_back(std::get<kapi::WatchEvent>(std::move(decoded)));
    return ms;
  }

  /// Handles what was told and all that follows at once, and in this time.
  void run(Duration time) {
    const Mono end = now_.mono + time;
    for (;;) {
      settle();
      if (!due_ || *due_ > end) { break; }
      const Duration step = std::max(*due_ - now_.mono, Duration{0});
      now_.mono += step;
      now_.wall += std::chrono::duration_cast<Wall::duration>(step);
      due_.reset();
      events_.emplace_back(kapi::TimerDue{});
    }
    now_.wall += std::chrono::duration_cast<Wall::duration>(end - now_.mono);
    now_.mono = end;
  }

  /// The longest handle() since the last call, in milliseconds; how many there were.
  std::pair<double, int> takeWorst() {
    taken_ = std::exchange(worst_, {});
    return {taken_.ms, std::exchange(handled_, 0)};
  }
  /// Of that one.
  [[nodiscard]] const EventCost& worst() const { return taken_; }

  /// The time of all of them since the last call.
  double takeTotal() { return std::exchange(total_, 0); }

  /// How many such calls there were.
  [[nodiscard]] int calls(kapi::Kind kind, kapi::Verb verb) const {
    const auto it = calls_.find({kind, verb});
    return it == calls_.end() ? 0 : it->second;
  }

  /// The most pods that one of them reviewed since the last call; told why they wait.
  std::uint64_t takeMostReviews() { return std::exchange(most_reviews_, 0); }
  std::uint64_t takeMostTold() { return std::exchange(most_told_, 0); }
  /// The most looks at nodes of one of them.
  std::uint64_t takeMostLooks() { return std::exchange(most_looks_, 0); }

 private:
  void settle() {
    while (!events_.empty()) {
      const kapi::MachineEvent event = std::move(events_.front());
      events_.pop_front();
      const auto before = scheduler_.workForTest();
      const std::uint64_t looks = scheduler_.engine().decider().looks();
      const long faults = pageFaults();
      const double start = cpuMs();
      kapi::Effects effects = scheduler_.handle(event, now_);
      EventCost cost{cpuMs() - start, nameOf(event)};
      cost.faults = pageFaults() - faults;
      cost.looks = scheduler_.engine().decider().looks() - looks;
      cost.reviews = scheduler_.workForTest().reconciles - before.reconciles;
      cost.told = scheduler_.workForTest().told - before.told;
      cost.effects = effects.size();
      note(cost);
      take(std::move(effects));
    }
  }

  void note(const EventCost& cost) {
    most_reviews_ = std::max(most_reviews_, cost.reviews);
    most_told_ = std::max(most_told_, cost.told);
    most_looks_ = std::max(most_looks_, cost.looks);
    if (cost.ms > worst_.ms) { worst_ = cost; }
    total_ += cost.ms;
    ++handled_;
  }

  static const char* nameOf(const kapi::MachineEvent& event) {
    constexpr std::array<const char*, 5> kNames{"answer to a call", "watch event", "end of a watch",
                                                "wake-up", "leadership"};
    static_assert(std::variant_size_v<kapi::MachineEvent> == kNames.size());
    return kNames.at(event.index());
  }

  void take(kapi::Effects effects) {
    for (auto& effect : effects) {
      if (const auto* call = std::get_if<kapi::Call>(&effect)) { answer(*call); }
      if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
        kapi::Token& stream = streams_[watch->kind];
        if (stream == 0) { stream = watch->stream; }  // the second one of a kind only waits for a bookmark
      }
      if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
        due_ = due_ ? std::min(*due_, wake->at) : wake->at;
      }
    }
  }

  void answer(const kapi::Call& call) {
    ++calls_[{call.kind, call.verb}];
    kapi::Outcome out;
    out.token = call.token;
    out.result = kapi::CallResult::Applied;
    out.http = 200;
    if (call.verb == kapi::Verb::List) {
      out.items = listed_[call.kind];
      out.list_revision = revision_;
    } else if (call.kind == kapi::kCrd) {
      const json::View annotations = json::View{call.body}["metadata"]["annotations"];
      if (call.verb != kapi::Verb::Get) {
        crd_.lease_namespace = annotations[model::kLeaseNamespaceKey].str();
        crd_.lease_term = annotations[model::kLeaseTermKey].str();
        crd_.lease_scheduler = annotations[model::kLeaseSchedulerKey].str();
      }
      out.object = std::make_shared<const model::Crd>(crd_);
    } else if (call.verb == kapi::Verb::Get) {
      out.result = kapi::CallResult::Refused;
      out.http = 404;
      out.reason = "NotFound";
    } else if (call.verb == kapi::Verb::Create && call.kind == kapi::kLease) {
      json::Value body = call.body;
      body.child("metadata").set("uid", fmt::format("made-{}", revision_));
      body.child("metadata").set("resourceVersion", std::to_string(nextRevision()));
      out = kapi::decodeAnswer(call, 201, json::print(body), {});
      out.token = call.token;
    }
    events_.emplace_back(std::move(out));
  }

  Listed listed_;
  scheduler::Scheduler scheduler_;
  std::deque<kapi::MachineEvent> events_;
  std::map<std::pair<kapi::Kind, kapi::Verb>, int> calls_;
  std::map<kapi::Kind, kapi::Token> streams_;
  model::Crd crd_{"gpuclaims.gpu.scheduling", model::Uid{"crd"}, 1, "", ""};
  std::optional<Mono> due_;
  Now now_{Mono{std::chrono::hours{1}}, Wall{std::chrono::hours{500'000}}};
  model::Revision revision_ = 1'000;
  EventCost worst_;
  EventCost taken_;
  double total_ = 0;
  std::uint64_t most_reviews_ = 0;
  std::uint64_t most_told_ = 0;
  std::uint64_t most_looks_ = 0;
  int handled_ = 0;
};

}  // namespace gs::bench
