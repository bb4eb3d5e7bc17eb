#include "controller/reflector.h"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_set>

#include "base/percent.h"
#include "kapi/decode.h"
#include "kapi/write.h"

namespace gs::controller {
namespace {

constexpr Duration kFirstWait = std::chrono::milliseconds{800};
constexpr Duration kLongestWait = std::chrono::seconds{30};
constexpr Duration kAbsentWait = std::chrono::seconds{10};
constexpr Duration kProbeTime = std::chrono::seconds{3};
constexpr Duration kFirstBookmark = std::chrono::seconds{1};  // not sooner after a probe was opened
constexpr Duration kShortProbe =
    std::chrono::milliseconds{500};  // not opened again: at the deadline all is listed
constexpr Duration kShortStream = std::chrono::seconds{1};
constexpr Duration kSteadyStream =
    std::chrono::seconds{10};  // it worked, whether or not there was anything to bring
constexpr int kErrorsBeforeList = 2;
constexpr int kWatchSeconds = 300;  // + up to as much again by chance, as client-go

std::string watchQuery(const kapi::Selectors& selectors, model::Revision from, int timeout_s) {
  std::string query =
      fmt::format("allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}", from, timeout_s);
  if (!selectors.labels.empty()) { query += "&labelSelector=" + percentEncode(selectors.labels); }
  if (!selectors.fields.empty()) { query += "&fieldSelector=" + percentEncode(selectors.fields); }
  return query;
}

}  // namespace

Reflector::Reflector(Config config, Rng rng)
    : config_{std::move(config)}, rng_{rng}, page_size_{config_.page_size} {}

Reflector::Output Reflector::start(Now) {
  Output out;
  list(out);
  return out;
}

/// While a list is under way nothing is watched: a watch would know of deletions that the list does not, and
/// the list would bring the objects back.
void Reflector::list(Output& out) {
  from_cache_ = synced_ && !target_ && !list_failed_;
  if (stream_ != 0) { out.effects.emplace_back(kapi::CloseWatch{stream_}); }
  stream_ = 0;
  closeProbe(out);
  due_.reset();
  relist_ = true;  // until one is complete
  state_ = State::Listing;
  listed_.clear();
  list_revision_ = 0;
  askPage("", out);
}

/// A first list is consistent with everything written before it. A later one need not be newer than what we
/// know, so the API server may answer from its cache, at a fraction of the price.
void Reflector::askPage(const std::string& continue_token, Output& out) {
  kapi::Call call =
      kapi::listObjects(config_.kind, config_.ns, page_size_, continue_token, config_.selectors);
  if (from_cache_ && continue_token.empty()) {
    call.query += fmt::format("&resourceVersion={}&resourceVersionMatch=NotOlderThan", progress_);
  }
  page_token_ = continue_token;
  call.token = token();
  call.timeout = std::chrono::seconds{60};
  list_call_ = call.token;
  out.effects.emplace_back(std::move(call));
}

Reflector::Output Reflector::handle(const kapi::Outcome& outcome, Now now) {
  Output out;
  if (outcome.token != list_call_ || state_ != State::Listing) { return out; }
  list_call_ = 0;
  if (outcome.result == kapi::CallResult::Applied) {
    page(outcome, now, out);
  } else {
    listFailed(outcome, now, out);
  }
  return out;
}

void Reflector::page(const kapi::Outcome& outcome, Now now, Output& out) {
  if (list_revision_ == 0) { list_revision_ = outcome.list_revision; }
  listed_.insert(listed_.end(), outcome.items.begin(), outcome.items.end());
  if (!outcome.continue_token.empty()) {
    askPage(outcome.continue_token, out);
    return;
  }
  listComplete(now, out);
}

void Reflector::listFailed(const kapi::Outcome& outcome, Now now, Output& out) {
  if (outcome.too_large && page_size_ > 1) {
    page_size_ /= 2;
    askPage(page_token_, out);
    return;
  }
  list_failed_ = true;
  const bool not_served = outcome.http == 404 && config_.kind->may_be_absent;
  out.forbidden_now = outcome.http == 403 && config_.optional;
  const bool was_emptied = absent_ && config_.kind->may_be_absent;  // only a list makes it known again
  absent_ = not_served || out.forbidden_now || was_emptied;
  say(fmt::format("list of {}: {} {}", config_.kind->plural, outcome.http, outcome.message), out);
  if (not_served) {
    listed_.clear();
    for (auto& [key, known] : std::exchange(known_, {})) {
      out.changes.push_back({config_.kind, key, known.uid, {}, progress_, {}});
    }
  }
  wait(not_served ? kAbsentWait : outcome.retry_after, now, out);
}

/// What is known and neither in the list nor newer than it.
void Reflector::removeVanished(Output& out) {
  if (known_.empty()) { return; }  // as at the first list, the longest of all
  std::unordered_set<model::ObjectKey> listed;
  for (const auto& object : listed_) { listed.insert(object.key()); }
  std::vector<model::ObjectKey> vanished;
  for (const auto& [key, known] : known_) {
    if (!listed.contains(key) && known.revision <= list_revision_) { vanished.push_back(key); }
  }
  std::sort(vanished.begin(), vanished.end());
  for (const auto& key : vanished) { remove(key, list_revision_, {}, out); }
}

/// The difference between what was known and the list, deletions first (a name may have a new uid).
void Reflector::listComplete(Now now, Output& out) {
  absent_ = false;
  list_failed_ = false;
  trouble_.clear();
  removeVanished(out);
  known_.reserve(listed_.size());
  out.changes.reserve(out.changes.size() + listed_.size());
  for (const auto& object : listed_) { upsert(object, object.revision(), out); }
  listed_.clear();
  listed_.shrink_to_fit();
  out.synced_now = !synced_;
  out.listed_at = list_revision_;
  synced_ = true;
  relist_ = false;
  out.went_back = list_revision_ < progress_;
  advance(list_revision_, out);
  stream_opened_ = now.mono;
  watch(out);
  if (!target_) { return; }
  // Who called us may have much to do first with what was listed; the watch is asked for after that only.
  openProbe(now, out);
  probe_begins_ = true;
  out.effects.emplace_back(kapi::Wake{now.mono});
}

void Reflector::watch(Output& out) {
  state_ = State::Watching;
  stream_ = token();
  stream_brought_ = false;
  stream_from_ = progress_;
  const int timeout_s = kWatchSeconds + static_cast<int>(rng_.below(kWatchSeconds));
  out.effects.emplace_back(kapi::OpenWatch{stream_, config_.kind, config_.ns,
                                           watchQuery(config_.selectors, progress_, timeout_s)});
}

void Reflector::upsert(const model::Object& object, model::Revision revision, Output& out) {
  if (object.empty()) { return; }
  const model::ObjectKey key = object.key();
  const model::Uid& uid = object.uid();
  const auto [it, fresh] = known_.try_emplace(key, Known{uid, 0});
  if (!fresh && it->second.uid != uid) {
    out.changes.push_back({config_.kind, key, it->second.uid, {}, revision, {}});
    it->second = {uid, 0};
  }
  if (it->second.revision >= revision && revision != 0) { return; }
  it->second.revision = revision;
  out.changes.push_back({config_.kind, key, uid, object, revision, {}});
}

void Reflector::remove(const model::ObjectKey& key, model::Revision revision, const model::Object& last,
                       Output& out) {
  const auto it = known_.find(key);
  if (it == known_.end()) { return; }
  out.changes.push_back({config_.kind, key, it->second.uid, {}, revision, last});
  known_.erase(it);
}

void Reflector::advance(model::Revision revision, Output& out) {
  progress_ = std::max(progress_, revision);
  if (!target_ || progress_ < *target_) { return; }
  target_.reset();
  out.caught_up_now = true;
  closeProbe(out);
}

void Reflector::closeProbe(Output& out) {
  if (probe_ != 0) { out.effects.emplace_back(kapi::CloseWatch{probe_}); }
  probe_ = 0;
  probe_begins_ = false;
  probe_deadline_.reset();
}

Reflector::Output Reflector::handle(const kapi::WatchEvent& event, Now) {
  Output out;
  if (event.stream == 0 || (event.stream != stream_ && event.stream != probe_)) { return out; }
  if (event.stream == stream_) { stream_brought_ = true; }
  worked();
  if (event.revision < (event.stream == stream_ ? stream_from_ : probe_from_)) {
    wentBack(event, out);
    return out;
  }
  if (state_ != State::Waiting) { trouble_.clear(); }  // the second watch does not speak for the first
  if (event.revision <= progress_) { return out; }     // the floor rule
  if (event.type == kapi::WatchType::Deleted) {
    remove(event.key, event.revision, event.object, out);
  } else if (event.type != kapi::WatchType::Bookmark) {
    upsert(event.object, event.revision, out);
  }
  advance(event.revision, out);
  return out;
}

Reflector::Output Reflector::handle(const kapi::WatchEnded& ended, Now now) {
  Output out;
  if (ended.stream != 0 && ended.stream == probe_) {
    probe_ = 0;
    if (ended.http == 410) {
      list(out);
    } else if (ended.http == 200 && mayProbe(now.mono) && now.mono - probe_opened_ >= kShortProbe) {
      openProbe(now, out);  // its bookmark came before the target was written
    }
  } else if (ended.stream != 0 && ended.stream == stream_) {
    stream_ = 0;
    streamEnded(ended, now, out);
  }
  return out;
}

/// No server sends what is older than what it was asked for.
void Reflector::wentBack(const kapi::WatchEvent& event, Output& out) {
  if (event.type != kapi::WatchType::Bookmark) {
    out.went_back = true;
    return;
  }
  list_failed_ = true;  // a consistent list
  list(out);
}

void Reflector::worked() {
  failures_ = 0;
  expired_ = false;
}

void Reflector::streamEnded(const kapi::WatchEnded& ended, Now now, Output& out) {
  const bool refused = ended.http >= 400 && ended.http != 410;
  if (!refused && now.mono - stream_opened_ >= kSteadyStream) { worked(); }
  if (ended.http == 410) {
    if (!std::exchange(expired_, true)) {
      ++failures_;
      list(out);
      return;
    }
    say(fmt::format("watch of {}: 410 {}", config_.kind->plural, ended.message), out);
    relist_ = true;
    wait({}, now, out);
    return;
  }
  const bool fruitless = !stream_brought_ && now.mono - stream_opened_ < kShortStream;
  if (ended.http == 200 && !fruitless) {
    worked();
    trouble_.clear();
    stream_opened_ = now.mono;
    watch(out);
    return;
  }
  say(fmt::format("watch of {}: {} {}", config_.kind->plural, ended.http, ended.message), out);
  relist_ = ended.http == 404 || ended.http == 400 || (ended.http >= 500 && failures_ >= kErrorsBeforeList);
  wait({}, now, out);
}

/// A new trouble is logged once; /readyz shows it as long as it lasts.
void Reflector::say(std::string trouble, Output& out) {
  if (trouble_.empty() || trouble_ != trouble) {
    out.effects.emplace_back(kapi::Log{kapi::Level::Warn, trouble, {}});
  }
  trouble_ = std::move(trouble);
}

void Reflector::wait(Duration at_least, Now now, Output& out) {
  const Duration longest = absent_ ? kAbsentWait : kLongestWait;
  const Duration base = std::min(longest, kFirstWait * (1 << std::min(failures_, 6)));
  ++failures_;
  const Duration jitter{static_cast<Duration::rep>(rng_.below(static_cast<std::uint64_t>(base.count())))};
  state_ = State::Waiting;
  due_ = now.mono + std::max(std::min(longest, base + jitter / 2), at_least);
  out.effects.emplace_back(kapi::Wake{*due_});
}

Reflector::Output Reflector::tick(Now now) {
  Output out;
  if (probe_begins_) {
    awaitProbe(now, out);
  } else if (probe_deadline_ && *probe_deadline_ <= now.mono) {
    list(out);
  }
  if (state_ == State::Waiting && due_ && *due_ <= now.mono) {
    due_.reset();
    if (!synced_ || relist_) {
      list(out);
    } else {
      stream_opened_ = now.mono;
      watch(out);
    }
  }
  return out;
}

Reflector::Output Reflector::catchUp(model::Revision revision, Now now) {
  Output out;
  target_ = revision;
  if (synced_ && progress_ >= revision) {
    advance(progress_, out);
    return out;
  }
  if (state_ == State::Listing) { return out; }  // listComplete() goes on
  if (!synced_ || catchesUpByList()) {
    list(out);
  } else if (probe_ == 0 || probe_begins_ || probe_deadline_ || now.mono - probe_opened_ >= kFirstBookmark) {
    closeProbe(out);
    probe(now, out);
  } else {
    awaitProbe(now, out);
  }
  return out;
}

Reflector::Output Reflector::expectCatchUp(Now now) {
  Output out;
  if (synced_ && state_ != State::Listing && probe_ == 0 && !catchesUpByList()) { openProbe(now, out); }
  return out;
}

/// A second watch from where we are: the server sends it a bookmark about a second in,
/// however quiet the kind is.
void Reflector::probe(Now now, Output& out) {
  openProbe(now, out);
  awaitProbe(now, out);
}

void Reflector::openProbe(Now now, Output& out) {
  probe_ = token();
  probe_opened_ = now.mono;
  probe_from_ = progress_;
  out.effects.emplace_back(
      kapi::OpenWatch{probe_, config_.kind, config_.ns, watchQuery(config_.selectors, progress_, 3)});
}

void Reflector::awaitProbe(Now now, Output& out) {
  probe_begins_ = false;
  probe_deadline_ = now.mono + kProbeTime;
  out.effects.emplace_back(kapi::Wake{*probe_deadline_});
}

/// Somebody waits for its bookmark, and the time for that is not over.
bool Reflector::mayProbe(Mono now) const {
  return probe_begins_ || (probe_deadline_ && now < *probe_deadline_);
}

}  // namespace gs::controller
