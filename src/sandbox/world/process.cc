#include "sandbox/world/process.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "runner/send_rule.h"

namespace gs::sandbox {

Process::Process(EventQueue& queue, Transport& transport, ReplicaId id, std::size_t connections,
                 Program program)
    : queue_{queue}, transport_{transport}, connections_{connections}, program_{std::move(program)} {
  address_.id = id;
}

// ---- its life

void Process::begin() {
  ++address_.life;
  is_alive_ = true;
  is_frozen_ = false;
}

void Process::end() {
  if (!std::exchange(is_alive_, false)) { return; }
  transport_.cutOff(address_.id);
  while_frozen_.clear();
  election_.reset();
  gate_ = {};
  term_ = 0;
  calls_ = {};
  out_.clear();
  wakes_ = {};
  election_wakes_ = {};
  armed_ = Mono::max();
}

void Process::freeze(bool frozen) {
  is_frozen_ = frozen;
  if (frozen) { return; }
  const Address who = address_;
  for (auto& action : std::exchange(while_frozen_, {})) {
    if (isAlive(who)) { action(); }
  }
}

Now Process::now() {
  const Now world = queue_.now();
  Duration behind = lag_;
  if (stalled_from_ && world.mono >= stalled_until_) {
    lag_ += stalled_until_ - *std::exchange(stalled_from_, std::nullopt);
    behind = lag_;
  } else if (stalled_from_) {
    behind += world.mono - *stalled_from_;
  }
  return {world.mono - behind, world.wall - std::chrono::duration_cast<Wall::duration>(behind)};
}

void Process::stall(Duration by) {
  (void)now();
  if (stalled_from_) { return; }
  stalled_from_ = queue_.now().mono;
  stalled_until_ = queue_.now().mono + by;
}

void Process::in(Address who, std::function<void()> action) {
  if (!isAlive(who)) { return; }
  if (is_frozen_) {
    while_frozen_.push_back(std::move(action));
  } else {
    action();
  }
}

void Process::at(Mono when, std::function<void()> action) {
  queue_.at(when,
            [this, who = address_, action = std::move(action)]() mutable { in(who, std::move(action)); });
}

// ---- what it does

void Process::give(const kapi::MachineEvent& event) {
  const Address who = address_;
  carry(program_.handle(event, now()));
  if (isAlive(who) && program_.handled) { program_.handled(); }
}

void Process::carry(kapi::Effects effects) {
  const Address who = address_;
  for (kapi::Effect& effect : effects) {
    if (!isAlive(who)) { return; }
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      submit(std::move(*call));
    } else if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
      transport_.open(who, *watch);
    } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
      transport_.close(who.id, close->stream);
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      wakes_.add(wake->at);
    } else if (const auto* log = std::get_if<kapi::Log>(&effect)) {
      if (program_.log) { program_.log(*log); }
    } else if (const auto* metric = std::get_if<kapi::Metric>(&effect)) {
      if (program_.metric) { program_.metric(*metric); }
    }
  }
  if (isAlive(who)) { armTimer(); }
}

// ---- its calls

void Process::submit(kapi::Call call) {
  calls_.submit({.call = std::move(call), .term = term_});
  pump();
}

void Process::pump() {
  const Address who = address_;
  while (isAlive(who) && out_.size() < connections_) {
    auto queued = calls_.next(now().mono);
    if (!queued) { break; }
    send(*std::move(queued));
  }
  if (isAlive(who)) { armTimer(); }
}

void Process::send(runner::QueuedCall queued) {
  auto refused = runner::whyNotSent(queued, false, runner::maySend(gate_, queued.term, now().mono));
  kapi::Call call = std::move(queued.call);
  json::Value body = std::move(call.body);
  const bool is_new = out_.emplace(call.token, call).second;
  GS_CHECK(is_new, "two calls of one token are out at a time: {}", call.token);
  call.body = std::move(body);
  if (!refused) { return transport_.send(address_, std::move(call)); }
  queue_.after({}, [this, who = address_, outcome = *std::move(refused)] { answered(who, outcome); });
}

void Process::answered(Address who, kapi::Outcome outcome) {
  in(who, [this, got = std::move(outcome)] { this->outcome(got); });
}

/// A hold begins before the machine hears of it, and the next call of its ordering key is on its way by then
/// (as it may be in k8s/call_pool.h, where the machine's mailbox has the outcome).
void Process::outcome(const kapi::Outcome& outcome) {
  const Address who = address_;
  if (election_ && kapi::tokenOwner(outcome.token) == kElectionOwner) {
    return elected(election_->handle(outcome, now()));
  }
  const auto call = out_.extract(outcome.token);
  GS_CHECK(!call.empty(), "the answer to a call that is not out: {}", outcome.token);
  calls_.answered(call.mapped(), outcome, now().mono);
  calls_.finished(call.mapped());
  pump();
  if (isAlive(who)) { give(outcome); }
}

void Process::streamed(Address who, ApiPort::StreamEvent event) {
  in(who, [this, event = std::move(event)] { std::visit([this](const auto& each) { give(each); }, event); });
}

// ---- its election

void Process::elect(controller::Election::Config config, Rng rng) {
  config.owner = kElectionOwner;
  election_ = std::make_unique<controller::Election>(std::move(config), rng);
  elected(election_->start(now()));
}

void Process::resign() {
  if (election_) { elected(election_->stop(now())); }
}

/// As k8s/election_thread.h: the gate before the news, then what the election wants, on a connection of its
/// own.
void Process::elected(controller::Election::Output output) {
  const Address who = address_;
  if (output.ping) { election_->pong(now()); }
  if (output.leadership) {
    gate_ = *output.leadership;
    term_ = gate_.leading ? gate_.term : 0;
    give(*output.leadership);
  }
  for (kapi::Effect& effect : output.effects) {
    if (!isAlive(who)) { return; }
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      transport_.send(who, std::move(*call));
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      election_wakes_.add(wake->at);
    } else if (const auto* log = std::get_if<kapi::Log>(&effect)) {
      if (program_.log) { program_.log(*log); }
    }
  }
  if (!isAlive(who)) { return; }
  armTimer();
  if (output.released && program_.released) { program_.released(); }
}

// ---- its timers

void Process::armTimer() {
  // While all connections are taken the next answer goes on with the queue.
  const Mono call = out_.size() < connections_ ? calls_.nextChange() : Mono::max();
  const Mono next = std::min({wakes_.next(), election_wakes_.next(), call});
  if (next >= armed_) { return; }
  armed_ = next;
  const Mono shown = now().mono;
  const Mono goes_on = stalled_from_ ? stalled_until_ : queue_.now().mono;  // its clock
  at(goes_on + std::max(next - shown, Duration{}), [this, next] {
    if (armed_ != next) { return; }  // an earlier one came to be
    armed_ = Mono::max();
    timer();
  });
}

/// By its own clock, which may stand still.
void Process::timer() {
  const Address who = address_;
  const Mono time = now().mono;
  if (election_wakes_.due(time)) { elected(election_->tick(now())); }
  if (isAlive(who) && wakes_.due(time)) { give(kapi::TimerDue{}); }
  if (isAlive(who)) { pump(); }
}

}  // namespace gs::sandbox
