// Whatever happens on the way, what the reflector replayed is what the server has.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>
#include <map>
#include <set>

#include "controller/reflector.h"
#include "controller/reflector_objects_test.h"
#include "kapi/decode.h"

namespace gs::controller {
namespace {

using model::ObjectKey;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Stored {
  std::string uid;
  model::Revision revision = 0;
  friend bool operator==(const Stored&, const Stored&) = default;
};
using State = std::map<ObjectKey, Stored>;

/// A tiny API server: history, compaction, paged lists from snapshots, watches.
/// Everything takes as long as it likes.
class Server {
 public:
  struct Record {
    model::Revision revision;
    kapi::WatchType type;
    ObjectKey key;
    std::string uid;
  };

  void change(Rng& rng) {
    ++revision_;
    if (rng.chance(30)) { return; }  // another kind
    const ObjectKey key = keyed("o" + std::to_string(rng.below(6)));
    const auto it = state_.find(key);
    if (it == state_.end()) {
      const std::string uid = "u" + std::to_string(revision_);
      state_[key] = {uid, revision_};
      history_.push_back({revision_, kapi::WatchType::Added, key, uid});
    } else if (rng.chance(40)) {
      history_.push_back({revision_, kapi::WatchType::Deleted, key, it->second.uid});
      state_.erase(it);
    } else {
      it->second.revision = revision_;
      history_.push_back({revision_, kapi::WatchType::Modified, key, it->second.uid});
    }
    states_[revision_] = state_;
  }
  void compact(Rng& rng) {
    floor_ = std::max(floor_, revision_ - rng.below(std::min<std::uint64_t>(revision_, 5) + 1));
  }

  const State& stateAt(model::Revision revision) const {
    return std::prev(states_.upper_bound(revision))->second;
  }

  kapi::Outcome list(const kapi::Call& call) const {
    kapi::Outcome o;
    o.token = call.token;
    const auto at = call.query.find("continue=");
    model::Revision revision = revision_;
    std::size_t offset = 0;
    if (at != std::string::npos) {
      const std::string token = call.query.substr(at + 9);
      revision = std::stoull(token);
      offset = std::stoull(token.substr(token.find('-') + 1));
      if (revision < floor_) {
        o.http = 410;
        return o;
      }
    }
    o.result = kapi::CallResult::Applied;
    o.http = 200;
    o.list_revision = revision;
    std::size_t i = 0;
    for (const auto& [key, stored] : stateAt(revision)) {
      if (i >= offset && i < offset + 2) { o.items.push_back(leaseObject(key, stored.uid, stored.revision)); }
      ++i;
    }
    if (i > offset + 2) { o.continue_token = std::to_string(revision) + "-" + std::to_string(offset + 2); }
    return o;
  }

  /// The next thing that a watch which has seen everything up to `from` gets; nullopt: nothing yet.
  std::optional<Record> next(model::Revision from) const {
    const auto it = std::upper_bound(history_.begin(), history_.end(), from,
                                     [](model::Revision at, const Record& r) { return at < r.revision; });
    return it == history_.end() ? std::nullopt : std::optional{*it};
  }
  bool expired(model::Revision from) const { return from < floor_; }
  model::Revision revision() const { return revision_; }
  const State& state() const { return state_; }

 private:
  model::Revision revision_ = 1;
  model::Revision floor_ = 0;
  State state_;
  std::vector<Record> history_;
  std::map<model::Revision, State> states_{{0, {}}};  // since that revision
};

/// The runner with a bad network between the machine and the server.
class BadNetwork {
 public:
  explicit BadNetwork(std::uint64_t seed)
      : rng_{seed}, machine_{{kWatchedKind, 9, "ns", {}, false, 2, seed % 4}, Rng{seed + 1}} {
    for (int i = 0; i < 5; ++i) { server_.change(rng_); }
    take(machine_.start(now()));
  }

  void disturb() {
    const auto dice = rng_.below(100);
    if (dice < 20) {
      server_.change(rng_);
      return;
    }
    if (dice < 21) {
      server_.compact(rng_);
      return;
    }
    if (dice < 36) {
      serveList(rng_.chance(5));
      return;
    }
    if (dice < 51) {
      deliverList();
      return;
    }
    if (dice < 55) {
      endStream();
      return;
    }
    if (dice < 63) {
      catchUp();
      return;
    }
    if (dice < 70) {
      passTime();
      return;
    }
    feedStream();
  }
  void passTime() {
    if (rng_.chance(10) && wake_ > now().mono) { clock_.advance(wake_ - now().mono); }
    clock_.advance(milliseconds{rng_.below(100)});
    take(machine_.tick(now()));
  }

  /// From here on everything works.
  void settle() {
    while (target_ && server_.revision() < *target_) { server_.change(rng_); }
    for (int i = 0; i < 100; ++i) {
      while (!asked_.empty() || !answered_.empty()) {
        serveList(false);
        deliverList();
      }
      bool fed = true;
      while (fed) { fed = feedStream(); }
      clock_.advance(seconds{1});
      take(machine_.tick(now()));
    }
  }

  void check() const { RC_ASSERT(!machine_.synced() || replayed_ == server_.stateAt(machine_.progress())); }
  void checkSettled() const {
    RC_ASSERT(machine_.synced());
    RC_ASSERT(replayed_ == server_.state());
    RC_ASSERT(!target_.has_value());
  }

 private:
  Now now() const { return clock_.now(); }

  void take(Reflector::Output out) {
    for (kapi::Effect& e : out.effects) {
      if (auto* call = std::get_if<kapi::Call>(&e)) { asked_.push_back(*call); }
      if (auto* open = std::get_if<kapi::OpenWatch>(&e)) {
        const auto at = open->query.find("resourceVersion=");
        streams_[open->stream] = {std::stoull(open->query.substr(at + 16)), false};
      }
      if (auto* close = std::get_if<kapi::CloseWatch>(&e)) { streams_[close->stream].closed = true; }
      if (auto* wake = std::get_if<kapi::Wake>(&e)) { wake_ = wake->at; }
    }
    for (const Change& c : out.changes) { replay(c); }
    if (out.caught_up_now) {
      RC_ASSERT(target_.has_value());
      RC_ASSERT(machine_.progress() >= *target_);
      target_.reset();
    }
  }

  void replay(const Change& c) {
    const auto it = replayed_.find(c.key);
    if (c.object.empty()) {
      RC_ASSERT(it != replayed_.end());
      RC_ASSERT(it->second.uid == c.last_uid.text);
      replayed_.erase(it);
    } else {
      const Stored stored{c.object.uid().text, c.object.revision()};
      if (it != replayed_.end()) {
        RC_ASSERT(it->second.uid == stored.uid);           // else a deletion comes first
        RC_ASSERT(it->second.revision < stored.revision);  // nothing twice, nothing backwards
      }
      replayed_[c.key] = stored;
    }
  }

  void serveList(bool fail) {
    if (asked_.empty()) { return; }
    kapi::Outcome o = server_.list(asked_.front());
    if (fail) {
      o = kapi::Outcome{};
      o.token = asked_.front().token;
    }
    asked_.pop_front();
    answered_.push_back(std::move(o));
  }
  void deliverList() {
    if (answered_.empty()) { return; }
    const kapi::Outcome o = std::move(answered_.front());
    answered_.pop_front();
    take(machine_.handle(o, now()));
  }

  struct Stream {
    model::Revision seen = 0;
    bool closed = false;
  };
  std::optional<kapi::Token> pickStream() {
    if (streams_.empty()) { return std::nullopt; }
    auto it = streams_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(rng_.below(streams_.size())));
    return it->first;
  }
  /// One event, bookmark or 410 on one stream. Closed ones still bring what is under way.
  bool feedStream() {
    const auto token = pickStream();
    if (!token) { return false; }
    Stream& s = streams_[*token];
    if (s.closed && rng_.chance(30)) {
      streams_.erase(*token);
      return true;
    }
    if (server_.expired(s.seen)) {
      streams_.erase(*token);
      take(machine_.handle(kapi::WatchEnded{*token, 410, "too old"}, now()));
      return true;
    }
    if (const auto r = server_.next(s.seen)) {
      s.seen = r->revision;
      take(machine_.handle(
          kapi::WatchEvent{*token, r->type, leaseObject(r->key, r->uid, r->revision), r->key, r->revision},
          now()));
      return true;
    }
    if (s.seen == server_.revision()) { return s.closed; }
    s.seen = server_.revision();
    take(machine_.handle(kapi::WatchEvent{*token, kapi::WatchType::Bookmark, {}, {}, s.seen}, now()));
    return true;
  }
  void endStream() {
    const auto token = pickStream();
    if (!token) { return; }
    static constexpr int kCodes[] = {200, 200, 0, 410, 404, 500};
    streams_.erase(*token);
    take(machine_.handle(kapi::WatchEnded{*token, kCodes[rng_.below(6)], "x"}, now()));
  }
  void catchUp() {
    target_ = server_.revision() + rng_.below(rng_.chance(50) ? 3 : 40);  // some are reached only later
    take(machine_.catchUp(*target_, now()));
  }

  Rng rng_;
  ManualClock clock_;
  Server server_;
  Reflector machine_;
  std::deque<kapi::Call> asked_;
  std::deque<kapi::Outcome> answered_;
  std::map<kapi::Token, Stream> streams_;
  State replayed_;
  std::optional<model::Revision> target_;
  Mono wake_{};
};

TEST(ReflectorProperty, ReplayedChangesAreTheServersStateAndNoneIsDoubled) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    BadNetwork run{seed};
    for (int i = 0; i < 1200; ++i) {
      run.disturb();
      run.check();
    }
    run.settle();
    run.checkSettled();
  }));
}

}  // namespace
}  // namespace gs::controller
