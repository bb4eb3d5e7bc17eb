#include "sandbox/world/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kapi/paths.h"
#include "kapi/retry_wait.h"

namespace gs::sandbox {
namespace {

constexpr Duration kFirstBookmark =
    std::chrono::seconds{1};  // a real server's, on a watch of timeoutSeconds=3
constexpr Duration kBookmarkEvery = std::chrono::seconds{60};
constexpr std::chrono::seconds kWatchTime{300};  // of one that does not say

bool isWrite(const kapi::Call& call) { return call.verb != kapi::Verb::Get && call.verb != kapi::Verb::List; }

}  // namespace

kapi::Outcome failed(const kapi::Call& call, kapi::CallResult result, std::string why) {
  kapi::Outcome o;
  o.token = call.token;
  o.result = result;
  o.message = std::move(why);
  return o;
}

Transport::Transport(EventQueue& queue, ApiPort& port, Options options)
    : queue_{queue}, port_{port}, options_{std::move(options)} {}

// ---------------------------------------------------------------- calls

void Transport::send(Address from, kapi::Call call) {
  if (tampering_.sent) { tampering_.sent(from.id, call); }
  if (api_away_) {
    auto o = failed(call, kapi::CallResult::NotSent, "connection refused");
    queue_.after({}, [this, from, o = std::move(o)]() mutable { clients_->answered(from, std::move(o)); });
    return;
  }
  const CallFault result = judge_ ? judge_(from.id, call) : CallFault{};
  if (result.crash_before) {
    clients_->die(from);
    return;
  }
  queue_.after(options_.latency,
               [this, from, call = std::move(call), result] { arrive(from, call, result); });
}

void Transport::arrive(Address from, const kapi::Call& call, CallFault result) {
  using How = CallFault::How;
  kapi::Outcome o = failed(call, kapi::CallResult::Unknown, "timed out");
  if (options_.records && isWrite(call) && kapi::tokenOwner(call.token) != kElectionOwner) {
    writes_.push_back(fmt::format("{} {}{}{} {}", kapi::httpMethod(call.verb), call.kind->plural,
                                  call.subresource.empty() ? "" : "/", call.subresource, call.key.text()));
  }
  if (result.how == How::Normal || result.how == How::LostAfter) {
    kapi::Outcome answer = port_.call(call, queue_.now());
    options_.changed();
    if (result.how == How::Normal) { o = std::move(answer); }
  } else if (result.how == How::Refused) {
    o.result = result.http >= 500 ? kapi::CallResult::Unknown : kapi::CallResult::Refused;
    o.http = result.http;
    o.message = "refused by the judge";
    o.is_status = result.is_status;
    o.retry_after = std::min(result.retry_after, kapi::kMostRetryAfter);  // as it is decoded
  } else if (result.how == How::Late) {
    carryOutLate(call, result.delay);
  }
  if (witness_) { witness_(from.id, call, o); }
  if (tampering_.answered) { tampering_.answered(from.id, call, o); }
  if (result.crash_after) {
    clients_->die(from);
    return;
  }
  queue_.after(options_.latency + result.hangs,
               [this, from, o = std::move(o)]() mutable { clients_->answered(from, std::move(o)); });
}

void Transport::carryOutLate(const kapi::Call& call, Duration delay) {
  queue_.after(delay, [this, call] {
    (void)port_.call(call, queue_.now());
    options_.changed();
  });
}

// ---------------------------------------------------------------- streams

void Transport::open(Address who, const kapi::OpenWatch& watch) {
  std::optional<kapi::WatchEnded> refused;
  if (api_away_) {
    refused = kapi::WatchEnded{watch.stream, 0, "connection refused"};
  } else {
    refused = port_.open(who.id, watch, queue_.now());
  }
  if (refused) {
    queue_.after(options_.latency, [this, who, ended = *refused] { clients_->streamed(who, ended); });
    return;
  }
  streams_[{who.id, watch.stream}] = who.life;
  const Duration time = kapi::timeoutOf(watch.query).value_or(kWatchTime);
  const bool probe = time <= std::chrono::seconds{10};
  streamLives(who, watch.stream, probe ? kFirstBookmark : kBookmarkEvery, queue_.now().mono + time);
  options_.changed();
}

/// Bookmarks while it lives, and its end in time.
void Transport::streamLives(Address who, kapi::Token stream, Duration bookmark_every, Mono end) {
  const Mono next = std::min(queue_.now().mono + bookmark_every, end);
  queue_.at(next, [=, this] {
    const auto there = streams_.find({who.id, stream});
    if (there == streams_.end() || there->second != who.life) { return; }
    if (next < end) {
      port_.bookmark(who.id, stream);
      options_.changed();
      streamLives(who, stream, bookmark_every, end);
      return;
    }
    drain();
    close(who.id, stream);
    clients_->streamed(who, kapi::WatchEnded{stream, 200, ""});
  });
}

void Transport::changed() {
  if (drain_due_) { return; }
  drain_due_ = true;
  queue_.after(options_.latency, [this] { drain(); });
}

std::vector<std::pair<kapi::Token, Transport::Address>> Transport::streamsOf(ReplicaId who) const {
  std::vector<std::pair<kapi::Token, Address>> out;
  for (auto it = streams_.lower_bound({who, 0}); it != streams_.end() && it->first.first == who; ++it) {
    out.emplace_back(it->first.second, Address{who, it->second});
  }
  return out;
}

template <class Each>
void Transport::forEachClient(Each each) {
  constexpr auto kLast = std::numeric_limits<kapi::Token>::max();
  for (auto it = streams_.begin(); it != streams_.end();) {
    const ReplicaId id = it->first.first;
    each(id);
    it = streams_.upper_bound({id, kLast});
  }
}

void Transport::drain() {
  drain_due_ = false;
  forEachClient([this](ReplicaId id) { drainOf(id); });
}

void Transport::drainOf(ReplicaId id) {
  for (const auto& [stream, who] : streamsOf(id)) {
    if (held({id, stream})) { continue; }
    while (auto event = port_.poll(id, stream)) {
      if (std::holds_alternative<kapi::WatchEnded>(*event)) { streams_.erase({id, stream}); }
      bring(who, *std::move(event));
      if (!clients_->isAlive(who)) { break; }
    }
  }
}

void Transport::bring(Address who, ApiPort::StreamEvent event) {
  auto* heard = std::get_if<kapi::WatchEvent>(&event);
  if (heard != nullptr && tampering_.heard && !tampering_.heard(who.id, *heard)) { return; }
  clients_->streamed(who, std::move(event));
}

/// What a stream has to give waits for as long as the stream judge says; then all of it comes.
bool Transport::held(StreamKey stream) {
  if (!stream_judge_) { return false; }
  const auto hold = holds_.find(stream);
  if (hold != holds_.end()) {
    if (queue_.now().mono < hold->second) { return true; }
    holds_.erase(hold);
    return false;
  }
  const Duration by = stream_judge_(stream.first, stream.second);
  if (by <= Duration::zero()) { return false; }
  holds_[stream] = queue_.now().mono + by;
  queue_.after(by, [this] { drain(); });
  return true;
}

void Transport::close(ReplicaId who, kapi::Token stream) {
  port_.close(who, stream);
  streams_.erase({who, stream});
}

void Transport::cutOff(ReplicaId who) {
  for (const auto& [stream, address] : streamsOf(who)) { close(who, stream); }
}

void Transport::endStreams(ReplicaId who, int http) {
  const auto ending = streamsOf(who);
  cutOff(who);  // all of them, before anybody hears of one and opens another
  for (const auto& [stream, address] : ending) {
    holds_.erase({who, stream});
    clients_->streamed(address, kapi::WatchEnded{stream, http, "connection lost"});
  }
}

void Transport::endAllStreams(int http) {
  forEachClient([this, http](ReplicaId id) { endStreams(id, http); });
}

void Transport::setApiAway(bool away) {
  api_away_ = away;
  if (away) { endAllStreams(0); }
}

}  // namespace gs::sandbox
