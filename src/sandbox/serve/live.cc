#include "sandbox/serve/live.h"

#include <algorithm>
#include <future>

#include "kapi/paths.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr Duration kBookmarkEvery = 60s;
constexpr Duration kBookmarkBeforeEnd = 2s;
constexpr std::chrono::seconds kLongestWatch = 30min;
constexpr Duration kLongestSleep = 60s;
constexpr std::uint64_t kReviewSeed = 0x5ee7;

World::Options realTime(World::Options options, Now origin) {
  options.start = origin.wall;
  options.records = false;
  return options;
}

Duration watchTime(std::string_view target) {
  return kapi::timeoutOf(target.substr(std::min(target.find('?'), target.size() - 1) + 1))
      .value_or(kLongestWatch);
}

/// As a real server: once a minute, and two seconds before the end if there is so much time.
std::optional<Mono> nextBookmark(Mono now, Mono end) {
  const Mono last = end - kBookmarkBeforeEnd;
  if (last <= now) { return std::nullopt; }
  return std::min(now + kBookmarkEvery, last);
}

}  // namespace

Live::Live(Options options, const Clock& clock)
    : options_{std::move(options)},
      clock_{clock},
      origin_{clock.now()},
      world_{realTime(options_.world, origin_)},
      hook_calls_{[this](apiserver::CallId id, apiserver::HookAnswer answer) {
        (void)queries_.push([this, id, answer = std::move(answer)] { hookAnswered(id, answer); });
      }} {
  apiserver::Api& api = world_.api();
  auto webhooks = std::make_unique<apiserver::Webhooks>(
      api.store(), Rng{options_.world.seed ^ kReviewSeed},
      [this](apiserver::HookCall call) { return hook_calls_.start(std::move(call)); });
  webhooks_ = webhooks.get();
  api.admission().add(std::move(webhooks));
  world_.api().keepHistory(options_.history, options_.history_bytes);
  world_.api().compact();  // nobody watched before
  if (options_.scheduler) {
    world_.startReplica(*options_.scheduler);
    unclaimed_pods_.emplace(world_.api(), options_.scheduler->scheduler_name);
  }
  owner_ = std::make_unique<Worker>("cluster", [this](const std::stop_token&) { run(); });
}

void Live::stop() {
  queries_.close();
  owner_->join();
  hook_calls_.stop();
}

bool Live::ask(const Query& query) {
  auto task = std::make_shared<std::packaged_task<void()>>([&] {
    query(world_);
    world_.touch();
  });
  auto done = task->get_future();
  if (!queries_.push([task] { (*task)(); })) { return false; }
  done.get();
  return true;
}

std::optional<apiserver::Response> Live::answer(apiserver::Request request, const First& first) {
  const auto slot = std::make_shared<Mailbox<apiserver::Response>>(1);
  const bool asked = ask([&](World& w) {
    auto begun = [&]() -> std::variant<apiserver::Response, apiserver::RequestId> {
      if (auto said = first(w)) { return *std::move(said); }
      return w.api().begin(std::move(request), w.now());
    }();
    if (auto* response = std::get_if<apiserver::Response>(&begun)) {
      (void)slot->tryPush(std::move(*response));
    } else {
      waiting_.emplace(std::get<apiserver::RequestId>(begun), slot);
    }
  });
  if (!asked) { return std::nullopt; }
  if (auto response = slot->pop(clock_.now().mono + options_.longest_request)) { return response; }
  (void)ask([&](World&) { giveUp(slot); });
  return slot->pop(Mono::min());
}

apiserver::Answer<std::shared_ptr<WatchStream>> Live::watch(const std::string& target) {
  apiserver::Answer<std::shared_ptr<WatchStream>> answer =
      apiserver::refuse(503, "ServiceUnavailable", "the server is stopping, please try again");
  (void)ask([&](World&) { answer = open(target); });
  return answer;
}

// ---- the owner's thread

void Live::run() {
  std::vector<std::function<void()>> asked;
  while (!queries_.drained()) {
    advance();
    pump();
    saveIfDue();
    asked.clear();
    if (queries_.popAll(asked, sleepUntil()) == 0) { continue; }
    advance();
    for (const auto& query : asked) { query(); }
    if (unclaimed_pods_) { unclaimed_pods_->look(world_.now()); }
  }
  if (options_.scheduler) { world_.stop(0); }
  world_.run(4s);  // of its own time: what is under way ends
  for (const OpenStream& open : streams_) {
    if (const auto stream = open.stream.lock()) { stream->events.close(); }
  }
  for (const auto& [request_id, slot] : waiting_) { slot->close(); }
  saveAtTheEnd();
}

void Live::hookAnswered(apiserver::CallId id, const apiserver::HookAnswer& answer) {
  auto said = webhooks_->answered(id, answer);
  if (!said) { return; }
  auto response = world_.answered(said->request_id, std::move(said->response));
  const auto at = waiting_.find(said->request_id);
  if (!response || at == waiting_.end()) { return; }  // it waits for the next one
  (void)at->second->tryPush(*std::move(response));
  waiting_.erase(at);
}

/// It may have been answered in the last moment.
void Live::giveUp(const Slot& slot) {
  const auto at =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& w) { return w.second == slot; });
  if (at == waiting_.end()) { return; }
  webhooks_->giveUp(at->first);
  world_.api().giveUp(at->first);
  waiting_.erase(at);
  (void)slot->tryPush(apiserver::toResponse(
      apiserver::refuse(504, "Timeout", "Timeout: request did not complete within requested timeout")
          .value()));
}

void Live::advance() {
  const Now now = clock_.now();
  world_.setWall(now.wall);
  world_.run((now.mono - origin_.mono) - world_.now().mono.time_since_epoch());
}

/// On the real clock.
Mono Live::sleepUntil() const {
  const Mono now = world_.now().mono;
  Mono due = world_.nextDue().value_or(now + kLongestSleep);
  for (const OpenStream& open : streams_) {
    due = std::min({due, open.end, open.bookmark.value_or(open.end)});
  }
  if (options_.save && next_save_ > now) { due = std::min(due, next_save_); }
  return origin_.mono + std::min(due, now + kLongestSleep).time_since_epoch();
}

apiserver::Answer<std::shared_ptr<WatchStream>> Live::open(const std::string& target) {
  apiserver::Api& api = world_.api();
  auto route = api.resources().route(target);
  if (!route) { return tl::unexpected(route.error()); }
  const auto id = api.watch(target);
  if (!id) { return tl::unexpected(id.error()); }
  auto stream = std::make_shared<WatchStream>(*route->resource);
  OpenStream opened{*id, stream, std::nullopt, world_.now().mono + watchTime(target)};
  if (apiserver::isTrue(route->query, "allowWatchBookmarks")) {
    opened.bookmark = nextBookmark(world_.now().mono, opened.end);
  }
  if (pumpOne(opened, *stream)) {
    streams_.push_back(std::move(opened));
  } else {
    stream->events.close();
  }
  return stream;
}

void Live::pump() {
  const Mono now = world_.now().mono;
  const bool changed = world_.api().store().revision() != pumped_;
  pumped_ = world_.api().store().revision();
  for (auto it = streams_.begin(); it != streams_.end();) {
    const bool due = it->end <= now || (it->bookmark && *it->bookmark <= now);
    if (!changed && !due) {
      ++it;
      continue;
    }
    const auto stream = it->stream.lock();
    if (stream && pumpOne(*it, *stream)) {
      ++it;
      continue;
    }
    if (stream) { stream->events.close(); }
    world_.api().close(it->id);
    it = streams_.erase(it);
  }
}

bool Live::pumpOne(OpenStream& open, WatchStream& stream) {
  const Now now = world_.now();
  apiserver::Api& api = world_.api();
  if (open.bookmark && *open.bookmark <= now.mono) {
    api.bookmark(open.id);
    open.bookmark = nextBookmark(now.mono, open.end);
  }
  while (auto event = api.poll(open.id)) {
    const bool last = (*event)["type"].str() == "ERROR";
    const std::size_t bytes = open.begun ? apiserver::roughBytes(*event) : 0;
    if (stream.behind + bytes > options_.max_behind) { return false; }
    stream.behind += bytes;
    if (!stream.events.tryPush({*std::move(event), now.wall, bytes}) || last) { return false; }
  }
  open.begun = true;
  return open.end > now.mono && api.isOpen(open.id);
}

// ---- keeping the state

void Live::saveIfDue() {
  if (options_.save && world_.now().mono >= next_save_ && worthSaving()) { save(); }
}

/// A client that saw a change before the end sees it afterwards: of a leader that only went on leading, too.
void Live::saveAtTheEnd() {
  if (options_.save && world_.api().store().revision() != saved_revision_) { save(); }
}

void Live::save() {
  options_.save(world_.api().save());
  saved_revision_ = world_.api().store().revision();
  next_save_ = world_.now().mono + options_.save_every;
}

/// A leader that only goes on leading is not worth a write.
bool Live::worthSaving() {
  const apiserver::Store& store = world_.api().store();
  bool worth = false;
  for (; saved_ < store.historyEnd() && !worth; ++saved_) {
    const apiserver::HistoryEntry* entry = store.entry(saved_);
    worth = entry == nullptr || entry->key.name != scheduler::kLeaderLease;
  }
  worth = worth || store.revision() >= saved_revision_ + options_.max_unsaved;
  if (worth) { saved_ = store.historyEnd(); }
  return worth;
}

}  // namespace gs::sandbox
