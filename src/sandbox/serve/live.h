// Live: a World in real time. One thread owns it and steps it along the clock; other threads have it do
// things between two steps, and are fed from it what they watch.
//
// Time of the World is time since the start; what it writes into objects is the clock's wall time. A watcher
// that falls kMaxBehind events, or Options::max_behind bytes, behind is cut off and has to list again. What
// changed is seen by watchers after the step (or the request) that changed it. Stopping answers what was
// asked before, ends all streams, and releases the leader lease. What waits for a webhook then is not
// answered. Webhooks that are registered with the API server (apiserver/webhooks) are asked by threads
// beside it (hook_calls.h): the owner goes on meanwhile, and whoever made the request waits in answer().
// Any thread may call ask(), answer() and watch(), but never from inside a query.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/webhooks/webhooks.h"
#include "base/clock.h"
#include "base/mailbox.h"
#include "base/worker.h"
#include "sandbox/node/pod_event.h"
#include "sandbox/serve/hook_calls.h"
#include "sandbox/world/world.h"

namespace gs::sandbox {

/// What one watch has to say, handed from the owner to the thread that writes it out. Given back:
/// the watch is closed.
struct WatchStream {
  static constexpr std::size_t kMaxBehind = 20'000;
  struct Event {
    json::Value event;  // {"type","object"}
    Wall at;
    std::size_t bytes = 0;  // none of what there is at the beginning: that shares its memory with the store
  };
  explicit WatchStream(apiserver::Resource r) : resource{std::move(r)} {}

  const apiserver::Resource resource;  // as it was served when the watch began
  Mailbox<Event> events{kMaxBehind};   // closed: the watch ended
  std::atomic<std::size_t> behind{0};  // bytes in it; who takes an event out takes its bytes off
};

class Live {
 public:
  struct Options {
    World::Options world{};                                            // `start` and `records` are set here
    std::optional<scheduler::Config> scheduler = scheduler::Config{};  // nullopt: none inside
    std::size_t history = 20'000;                                      // changes that a watch may look back
    std::size_t history_bytes = std::size_t{256} << 20;  // of the objects in them, as if they shared nothing
    std::size_t max_behind = std::size_t{64} << 20;      // bytes, also as if
    /// Called on the owner's thread with what Api::save() gives, after changes, at most once per
    /// `save_every`, and at the end.
    std::function<void(json::Value)> save{};
    Duration save_every = std::chrono::seconds{1};
    /// Some changes are not worth a write of the file. After so many of them it is written all the same,
    /// since revisions may not go further than that above the last one that was saved.
    std::uint64_t max_unsaved = apiserver::Store::kLost / 2;
    Duration longest_request = std::chrono::seconds{60};  // with all webhooks that it waits for
  };
  using Query = std::function<void(World&)>;

  /// `clock` must outlive it.
  Live(Options options, const Clock& clock);
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live() { stop(); }

  /// Runs `query` on the owner's thread and waits for it. False: stopped, and it was not run.
  bool ask(const Query& query);
  using First = std::function<std::optional<apiserver::Response>(World&)>;
  /// What `first` says to the request on the owner's thread, else what the API server says: waits for
  /// webhooks, and is answered 504 when that takes too long. Nothing: stopped.
  [[nodiscard]] std::optional<apiserver::Response> answer(apiserver::Request request, const First& first);
  /// Error 503: stopped.
  [[nodiscard]] apiserver::Answer<std::shared_ptr<WatchStream>> watch(const std::string& target);
  /// A second call does nothing.
  void stop();
  [[nodiscard]] const Clock& clock() const { return clock_; }

 private:
  struct OpenStream {
    apiserver::WatchId id = 0;
    std::weak_ptr<WatchStream> stream;
    std::optional<Mono> bookmark;
    Mono end;
    bool begun = false;  // what there was at the beginning was given
  };

  using Slot = std::shared_ptr<Mailbox<apiserver::Response>>;  // closed: nobody answers any more

  void run();
  void hookAnswered(apiserver::CallId id, const apiserver::HookAnswer& answer);
  void giveUp(const Slot& slot);
  void advance();
  [[nodiscard]] Mono sleepUntil() const;
  [[nodiscard]] apiserver::Answer<std::shared_ptr<WatchStream>> open(const std::string& target);
  void pump();
  /// False: it ended.
  bool pumpOne(OpenStream& open, WatchStream& stream);
  void saveIfDue();
  void saveAtTheEnd();
  void save();
  [[nodiscard]] bool worthSaving();

  const Options options_;
  const Clock& clock_;
  const Now origin_;
  World world_;                                  // the owner's, once it runs
  std::optional<UnclaimedPods> unclaimed_pods_;  // with a scheduler inside only: else another may come
  Mailbox<std::function<void()>> queries_{1024};
  HookCalls hook_calls_;
  apiserver::Webhooks* webhooks_ = nullptr;       // in world_
  std::map<apiserver::RequestId, Slot> waiting_;  // for webhooks
  std::list<OpenStream> streams_;
  std::uint64_t pumped_ = 0;  // revision up to which the streams were served
  std::uint64_t saved_ = 0;   // position in the history up to which was saved
  std::uint64_t saved_revision_ = 0;
  Mono next_save_{};
  std::unique_ptr<Worker> owner_;
};

}  // namespace gs::sandbox
