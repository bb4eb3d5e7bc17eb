// For tests only: an API server whose answers the test gives by hand, one call at a time. No socket, no time.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline_test.h"
#include "base/mutex.h"
#include "k8s/client.h"

namespace gs::k8s {

class FakeApi {
 public:
  [[nodiscard]] Connect connect() {
    return [this] {
      MutexLock lock{mutex_};
      ++clients_;
      return std::make_unique<FakeClient>(*this);
    };
  }

  /// The next call that reached the server, in the order of arrival; waits for one.
  kapi::Call nextCall() {
    const Deadline deadline{"a call reaches the server"};
    MutexLock lock{mutex_};
    while (arrived_.empty()) { changed_.wait(mutex_); }
    kapi::Call call = std::move(arrived_.front());
    arrived_.pop_front();
    return call;
  }
  [[nodiscard]] bool nothingArrived() const {
    MutexLock lock{mutex_};
    return arrived_.empty();
  }
  void answer(kapi::Token token, int http = 200, Duration retry_after = {}) {
    kapi::Outcome outcome;
    outcome.token = token;
    outcome.result = http < 300 ? kapi::CallResult::Applied : kapi::CallResult::Refused;
    outcome.http = http;
    outcome.retry_after = retry_after;
    MutexLock lock{mutex_};
    answers_.emplace(token, outcome);
    changed_.notifyAll();
  }
  /// Waits until the watch is open.
  void waitForWatch(kapi::Token stream) {
    const Deadline deadline{"the watch is open"};
    MutexLock lock{mutex_};
    while (!watches_.contains(stream)) { changed_.wait(mutex_); }
  }
  void sendEvent(kapi::Token stream, model::Revision revision) {
    kapi::WatchEvent event;
    event.stream = stream;
    event.revision = revision;
    MutexLock lock{mutex_};
    events_[stream].push_back(event);
    changed_.notifyAll();
  }
  void endWatch(kapi::Token stream, int http) {
    MutexLock lock{mutex_};
    ends_[stream] = http;
    changed_.notifyAll();
  }
  [[nodiscard]] int clients() const {
    MutexLock lock{mutex_};
    return clients_;
  }

 private:
  class FakeClient final : public Client {
   public:
    explicit FakeClient(FakeApi& api) : api_{api} {}

    kapi::Outcome run(const kapi::Call& call, const std::function<bool()>& may_send) override {
      kapi::Outcome outcome;
      outcome.token = call.token;
      outcome.result = kapi::CallResult::NotSent;
      if (may_send && !may_send()) { return outcome; }
      MutexLock lock{api_.mutex_};
      if (cancelled_) { return outcome; }
      api_.arrived_.push_back(call);
      api_.changed_.notifyAll();
      while (!cancelled_ && !api_.answers_.contains(call.token)) { api_.changed_.wait(api_.mutex_); }
      const auto answer = api_.answers_.find(call.token);
      if (answer != api_.answers_.end()) { return answer->second; }
      outcome.result = kapi::CallResult::Unknown;
      return outcome;
    }

    kapi::WatchEnded watch(const kapi::OpenWatch& watch,
                           const std::function<bool(kapi::WatchEvent)>& on_event) override {
      for (;;) {
        kapi::WatchEvent event;
        {
          MutexLock lock{api_.mutex_};
          api_.watches_.insert(watch.stream);
          api_.changed_.notifyAll();
          auto& events = api_.events_[watch.stream];
          while (!cancelled_ && events.empty() && !api_.ends_.contains(watch.stream)) {
            api_.changed_.wait(api_.mutex_);
          }
          if (cancelled_) { return {watch.stream, 0, "cancelled"}; }
          if (events.empty()) { return {watch.stream, api_.ends_[watch.stream], ""}; }
          event = events.front();
          events.pop_front();
        }
        if (!on_event(std::move(event))) { return {watch.stream, 200, ""}; }
      }
    }

    void cancel() override {
      MutexLock lock{api_.mutex_};
      cancelled_ = true;
      api_.changed_.notifyAll();
    }
    [[nodiscard]] bool cancelled() const override {
      MutexLock lock{api_.mutex_};
      return cancelled_;
    }

   private:
    FakeApi& api_;
    bool cancelled_ = false;  // under api_.mutex_
  };

  mutable Mutex mutex_;
  Signal changed_;
  std::deque<kapi::Call> arrived_;
  std::map<kapi::Token, kapi::Outcome> answers_;
  std::set<kapi::Token> watches_;
  std::map<kapi::Token, std::deque<kapi::WatchEvent>> events_;
  std::map<kapi::Token, int> ends_;
  int clients_ = 0;
};

/// What a pool gave back, in order.
class Received {
 public:
  void add(kapi::Outcome outcome) {
    MutexLock lock{mutex_};
    outcomes_.push_back(std::move(outcome));
    changed_.notifyAll();
  }
  std::vector<kapi::Outcome> waitFor(std::size_t count) {
    const Deadline deadline{"so many outcomes came"};
    MutexLock lock{mutex_};
    while (outcomes_.size() < count) { changed_.wait(mutex_); }
    return outcomes_;
  }

 private:
  Mutex mutex_;
  Signal changed_;
  std::vector<kapi::Outcome> outcomes_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::k8s
