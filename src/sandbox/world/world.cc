#include "sandbox/world/world.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/check.h"
#include "kapi/paths.h"
#include "kapi/retry_wait.h"
#include "sandbox/world/crds.h"
#include "sandbox/world/replica.h"

namespace gs::sandbox {
namespace {

constexpr std::uint64_t kExtenderSeed = 0xe87e4de5;
constexpr Duration kFirstBookmark =
    std::chrono::seconds{1};  // a real server's, on a watch of timeoutSeconds=3
constexpr Duration kBookmarkEvery = std::chrono::seconds{60};
constexpr std::chrono::seconds kWatchTime{300};  // of one that does not say
constexpr Duration kStopLimit = std::chrono::seconds{2};

bool isWrite(const kapi::Call& call) { return call.verb != kapi::Verb::Get && call.verb != kapi::Verb::List; }

kapi::Outcome failed(const kapi::Call& call, kapi::Fate fate, std::string why) {
  kapi::Outcome o;
  o.token = call.token;
  o.fate = fate;
  o.message = std::move(why);
  return o;
}

/// An API server with the chart's CRDs, or with what was saved.
std::unique_ptr<apiserver::Api> makeApi(Rng rng, Now now, const json::Value& saved, bool with_crds) {
  auto api = std::make_unique<apiserver::Api>(rng, now);
  if (!saved.isNull()) {
    const auto restored = api->restore(saved);
    GS_CHECK(restored.has_value(), "the saved state: {}", restored ? "" : restored.error().message);
    return api;
  }
  if (!with_crds) { return api; }
  for (const auto& crd : crds()) {
    const auto answer = api->handle(
        {"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", crd}, now);
    GS_CHECK(answer.code == 201, "the built-in CRD was refused: {}", json::print(answer.body));
  }
  return api;
}

}  // namespace

World::World(Options options)
    : options_{std::move(options)},
      clock_{options_.start},
      rng_{options_.seed},
      extender_rng_{options_.seed ^ kExtenderSeed},
      api_{makeApi(rng_.split(), clock_.now(), options_.restore, options_.crds)},
      port_{*api_},
      kubelet_{std::make_unique<Kubelet>(*api_)},
      agents_{std::make_unique<NodeAgents>(*api_, *kubelet_,
                                           options_.restore.isNull() ? options_.nodes : machinesIn(*api_),
                                           options_.agents)} {
  if (options_.controllers) { controllers_.emplace(*api_); }
  changed();
}

World::~World() = default;

void World::at(Mono when, Action action) {
  actions_.emplace(std::pair{std::max(when, clock_.now().mono), seq_++}, std::move(action));
}

bool World::step(Mono until) {
  if (actions_.empty() || actions_.begin()->first.first > until) { return false; }
  auto node = actions_.extract(actions_.begin());
  clock_.advance(node.key().first - clock_.now().mono);
  node.mapped()();
  return true;
}

void World::run(Duration by) {
  const Mono until = clock_.now().mono + by;
  while (step(until)) {}
  clock_.advance(until - clock_.now().mono);
}

std::optional<Mono> World::nextDue() const {
  return actions_.empty() ? std::nullopt : std::optional{actions_.begin()->first.first};
}

bool World::runUntil(const std::function<bool()>& done, Duration limit) {
  const Mono until = clock_.now().mono + limit;
  const auto facts = [this] { return std::pair{api_->store().revision(), leader()}; };
  auto looked = facts();
  if (done()) { return true; }
  while (step(until)) {
    const auto now = facts();
    if (now == looked) { continue; }  // looking is dear, and nothing that can be seen changed
    looked = now;
    if (done()) { return true; }
  }
  clock_.advance(until - clock_.now().mono);
  return done();
}

// ---------------------------------------------------------------- replicas

ReplicaId World::startReplica(scheduler::Config config, MakeCompanion beside) {
  auto r = std::make_unique<Replica>();
  config.instance = fmt::format("{}-{}", config.scheduler_name, replicas_.size());
  r->config = std::move(config);
  r->make_beside = std::move(beside);
  return add(std::move(r));
}

ReplicaId World::startExtender(extender::Config config) {
  auto r = std::make_unique<Replica>();
  config.instance = fmt::format("gpu-admission-{}", replicas_.size());
  r->config = std::move(config);
  return add(std::move(r));
}

ReplicaId World::add(std::unique_ptr<Replica> r) {
  r->id = static_cast<ReplicaId>(replicas_.size());
  replicas_.push_back(std::move(r));
  begin(*replicas_.back());
  return replicas_.back()->id;
}

void World::begin(Replica& r) {
  ++r.life;
  r.alive = true;
  r.frozen = false;
  r.gate = {};
  r.make(rng_, extender_rng_);
  kapi::Election::Config election = r.electionConfig();
  election.lease_duration = options_.lease_duration;
  election.renew_deadline = options_.renew_deadline;
  election.retry_period = options_.retry_period;
  Rng& rng = r.machine ? rng_ : extender_rng_;
  r.election = std::make_unique<kapi::Election>(std::move(election), Rng{rng.next()});
  carry(r, r.start(r.clock(clock_.now())));
  elected(r, r.election->start(r.clock(clock_.now())));
}

void World::crash(ReplicaId id) {
  Replica& r = replica(id);
  r.alive = false;
  port_.closeAll(id);
  r.streams.clear();
  r.lanes.clear();
  r.wakes.clear();
  r.while_frozen.clear();
}

void World::restart(ReplicaId id) {
  if (!replica(id).alive) { begin(replica(id)); }
}

void World::freeze(ReplicaId id, bool frozen) {
  Replica& r = replica(id);
  r.frozen = frozen;
  if (frozen) { return; }
  for (auto& action : std::exchange(r.while_frozen, {})) {
    if (r.alive) { action(r); }
  }
}

void World::stop(ReplicaId id) {
  replica(id).stopTaking();
  stopWhenDone(id, clock_.now().mono + kStopLimit);
}

void World::stopWhenDone(ReplicaId id, Mono end) {
  Replica& r = replica(id);
  if (!r.underWay() || clock_.now().mono >= end) {
    elected(r, r.election->stop(r.clock(clock_.now())));
    return;
  }
  const auto again = [this, id, end](Replica&) { stopWhenDone(id, end); };
  after(std::chrono::milliseconds{10}, [this, id, life = r.life, again] { inReplica(id, life, again); });
}

bool World::alive(ReplicaId id) const { return replicas_.at(static_cast<std::size_t>(id))->alive; }
bool World::frozen(ReplicaId id) const { return replicas_.at(static_cast<std::size_t>(id))->frozen; }
const scheduler::Scheduler& World::scheduler(ReplicaId id) const {
  return *replicas_.at(static_cast<std::size_t>(id))->machine;
}

std::optional<ReplicaId> World::leader() const {
  for (const auto& r : replicas_) {
    if (r->alive && r->machine && r->machine->leading()) { return r->id; }
  }
  return std::nullopt;
}

const extender::Alone& World::extender(ReplicaId id) const {
  return *replicas_.at(static_cast<std::size_t>(id))->extender;
}

const extender::Extender* World::extenderBeside(ReplicaId id) const {
  const auto& beside = replicas_.at(static_cast<std::size_t>(id))->beside;
  return beside ? &beside->extender() : nullptr;
}

std::optional<ReplicaId> World::leadingExtender() const {
  for (const auto& r : replicas_) {
    if (r->alive && r->leadsExtender()) { return r->id; }
  }
  return std::nullopt;
}

void World::ask(ReplicaId id, extender::Ticket ticket, extender::Question question,
                std::vector<std::string> nodes) {
  const auto life = replica(id).life;
  after(options_.latency,
        [this, id, life, ticket, question = std::move(question), nodes = std::move(nodes)]() mutable {
          question.asked = replica(id).clock(clock_.now()).mono;
          inReplica(id, life, [this, ticket, question = std::move(question), nodes](Replica& r) mutable {
            carry(r, r.ask(ticket, std::move(question), nodes, r.clock(clock_.now())));
            tellAnswers(r);
          });
        });
}

/// A process that died or froze since it answered has answered.
void World::tellAnswers(Replica& r) {
  if (!r.isAsked()) { return; }
  for (auto& [ticket, answer] : r.takeAnswers()) {
    if (!listener_) { continue; }
    after(options_.latency,
          [this, id = r.id, ticket = ticket, answer = std::move(answer)] { listener_(id, ticket, answer); });
  }
}

void World::inReplica(ReplicaId id, std::uint64_t life, std::function<void(Replica&)> action) {
  Replica& r = replica(id);
  if (!r.alive || r.life != life) { return; }
  if (r.frozen) {
    r.while_frozen.push_back(std::move(action));
    return;
  }
  action(r);
}

void World::post(Replica& r, const scheduler::Event& event) {
  carry(r, r.handle(event, r.clock(clock_.now())));
  tellAnswers(r);
}

void World::carry(Replica& r, kapi::Effects effects) {
  const auto life = r.life;
  for (auto& effect : effects) {
    if (!r.alive || r.life != life) { return; }
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      submit(r, std::move(*call));
    } else if (const auto* watch = std::get_if<kapi::OpenWatch>(&effect)) {
      openWatch(r, *watch);
    } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
      port_.close(r.id, close->stream);
      r.streams.erase(close->stream);
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      if (r.wakes.insert(wake->at).second) { wakeAt(r, wake->at); }
    } else if (const auto* log = std::get_if<kapi::Log>(&effect)) {
      line(r, *log);
    } else if (const auto* metric = std::get_if<kapi::Metric>(&effect)) {
      if (metric->op == kapi::MetricOp::Add) { counted_[metric->name] += metric->value; }
    }
  }
}

double World::counted(const std::string& metric) const {
  const auto it = counted_.find(metric);
  return it == counted_.end() ? 0 : it->second;
}

/// At `when` by its own clock, which may stand still meanwhile.
void World::wakeAt(Replica& r, Mono when) {
  const Mono shown = r.clock(clock_.now()).mono;
  at(clock_.now().mono + (when - shown), [this, id = r.id, life = r.life, when] {
    inReplica(id, life, [this, when](Replica& woken) {
      const Now now = woken.clock(clock_.now());
      if (now.mono < when) {
        wakeAt(woken, when);
        return;
      }
      woken.wakes.erase(when);
      elected(woken, woken.election->tick(now));
      if (woken.alive) { post(woken, kapi::TimerDue{}); }
    });
  });
}

void World::line(const Replica& r, const kapi::Log& log) {
  if (options_.on_log) { options_.on_log(r.id, log); }
  if (!options_.records) { return; }
  std::string text = fmt::format("{} {} {}", r.id, static_cast<int>(log.level), log.message);
  for (const auto& [key, value] : log.fields) { text += fmt::format(" {}={}", key, value); }
  log_.push_back(std::move(text));
}

void World::elected(Replica& r, kapi::Election::Output output) {
  if (output.ping) { r.election->pong(r.clock(clock_.now())); }
  carry(r, std::move(output.effects));
  if (output.leadership) {
    r.gate = *output.leadership;
    post(r, *output.leadership);
  }
  if (output.released) { crash(r.id); }
}

// ---------------------------------------------------------------- calls

void World::submit(Replica& r, kapi::Call call) {
  if (call.lane.empty()) {
    send(r, std::move(call));
    return;
  }
  const auto [it, idle] = r.lanes.try_emplace(call.lane);
  if (idle) {
    send(r, std::move(call));
  } else {
    it->second.push_back(std::move(call));
  }
}

void World::send(Replica& r, kapi::Call call) {
  const auto life = r.life;
  const bool shut = call.guarded && !(r.gate.leading && r.clock(clock_.now()).mono < r.gate.until);
  if (shut || api_away_) {
    auto o = failed(call, kapi::Fate::NotSent, shut ? "not leading" : "connection refused");
    after({}, [this, id = r.id, life, lane = call.lane, o = std::move(o)]() mutable {
      deliver(id, life, std::move(lane), std::move(o));
    });
    return;
  }
  const CallFate fate = judge_ ? judge_(r.id, call) : CallFate{};
  if (fate.crash_before) {
    crash(r.id);
    return;
  }
  after(options_.latency,
        [this, id = r.id, life, call = std::move(call), fate] { arrive(id, life, call, fate); });
}

void World::arrive(ReplicaId id, std::uint64_t life, const kapi::Call& call, CallFate fate) {
  using How = CallFate::How;
  kapi::Outcome o = failed(call, kapi::Fate::Unknown, "timed out");
  if (options_.records && isWrite(call) && kapi::tokenOwner(call.token) != kElectionOwner) {
    writes_.push_back(fmt::format("{} {}{}{} {}", kapi::httpMethod(call.verb),
                                  kapi::kindInfo(call.kind).resource, call.subresource.empty() ? "" : "/",
                                  call.subresource, call.key.text()));
  }
  if (fate.how == How::Normal || fate.how == How::LostAfter) {
    kapi::Outcome answer = port_.call(call, clock_.now());
    changed();
    if (fate.how == How::Normal) { o = std::move(answer); }
  } else if (fate.how == How::Refused) {
    o.fate = fate.http >= 500 ? kapi::Fate::Unknown : kapi::Fate::Refused;
    o.http = fate.http;
    o.message = "refused by the judge";
    o.retry_after = std::min(fate.retry_after, kapi::kMostRetryAfter);  // as it is decoded
  } else if (fate.how == How::Late) {
    after(fate.delay, [this, call] {
      (void)port_.call(call, clock_.now());
      changed();
    });
  }
  if (witness_) { witness_(id, call, o); }
  if (fate.crash_after) {
    if (replica(id).life == life) { crash(id); }
    return;
  }
  after(options_.latency, [this, id, life, lane = call.lane, o = std::move(o)]() mutable {
    deliver(id, life, std::move(lane), std::move(o));
  });
}

void World::deliver(ReplicaId id, std::uint64_t life, std::string its_lane, kapi::Outcome o) {
  inReplica(id, life, [this, lane = std::move(its_lane), o = std::move(o)](Replica& r) {
    if (!lane.empty()) {
      const auto it = r.lanes.find(lane);
      if (it != r.lanes.end() && !it->second.empty()) {
        kapi::Call next = std::move(it->second.front());
        it->second.pop_front();
        send(r, std::move(next));
      } else if (it != r.lanes.end()) {
        r.lanes.erase(it);
      }
    }
    if (r.alive) { outcome(r, o); }
  });
}

void World::outcome(Replica& r, const kapi::Outcome& o) {
  if (kapi::tokenOwner(o.token) == kElectionOwner) {
    elected(r, r.election->handle(o, r.clock(clock_.now())));
  } else {
    post(r, o);
  }
}

// ---------------------------------------------------------------- streams

void World::openWatch(Replica& r, const kapi::OpenWatch& watch) {
  const auto life = r.life;
  std::optional<kapi::WatchEnded> refused;
  if (api_away_) {
    refused = kapi::WatchEnded{watch.stream, 0, "connection refused"};
  } else {
    refused = port_.open(r.id, watch, clock_.now());
  }
  if (refused) {
    after(options_.latency, [this, id = r.id, life, ended = *refused] {
      inReplica(id, life, [this, ended](Replica& there) { post(there, ended); });
    });
    return;
  }
  r.streams.insert(watch.stream);
  const Duration time = kapi::timeoutOf(watch.query).value_or(kWatchTime);
  const bool probe = time <= std::chrono::seconds{10};
  streamLives(r.id, life, watch.stream, probe ? kFirstBookmark : kBookmarkEvery, clock_.now().mono + time);
  changed();
}

/// Bookmarks while it lives, and its end in time.
void World::streamLives(ReplicaId id, std::uint64_t life, kapi::Token stream, Duration bookmark_every,
                        Mono end) {
  const Mono next = std::min(clock_.now().mono + bookmark_every, end);
  at(next, [=, this] {
    Replica& r = replica(id);
    if (!r.alive || r.life != life || !r.streams.contains(stream)) { return; }
    if (next < end) {
      port_.bookmark(id, stream);
      changed();
      streamLives(id, life, stream, bookmark_every, end);
      return;
    }
    drainStreams();
    port_.close(id, stream);
    r.streams.erase(stream);
    inReplica(id, life, [this, stream](Replica& there) { post(there, kapi::WatchEnded{stream, 200, ""}); });
  });
}

void World::changed() {
  if (!drain_due_) {
    drain_due_ = true;
    after(options_.latency, [this] { drainStreams(); });
  }
  const auto running = options_.kubelets ? kubelet_->nextDue(clock_.now()) : std::nullopt;
  const auto controlled = controllers_ ? controllers_->nextDue(clock_.now()) : std::nullopt;
  const auto due =
      std::min({running.value_or(Mono::max()), agents_->nextDue(clock_.now()).value_or(Mono::max()),
                controlled.value_or(Mono::max())});
  if (due == Mono::max() || (simulate_at_ && *simulate_at_ <= due)) { return; }
  simulate_at_ = due;
  at(due, [this, due] {
    if (simulate_at_ == due) { simulate(); }
  });
}

void World::simulate() {
  simulate_at_.reset();
  if (options_.kubelets) { kubelet_->tick(clock_.now()); }
  agents_->tick(clock_.now());
  if (controllers_) { controllers_->tick(clock_.now()); }
  changed();
}

void World::drainStreams() {
  drain_due_ = false;
  for (const auto& r : replicas_) {
    const std::vector<kapi::Token> streams{r->streams.begin(), r->streams.end()};
    for (const auto stream : streams) {
      if (held(r->id, stream)) { continue; }
      while (auto event = port_.poll(r->id, stream)) {
        if (std::holds_alternative<kapi::WatchEnded>(*event)) { r->streams.erase(stream); }
        inReplica(r->id, r->life, [this, e = *std::move(event)](Replica& there) {
          std::visit([&](const auto& each) { post(there, each); }, e);
        });
        if (!r->alive) { break; }
      }
    }
  }
}

/// What a stream has to give waits for as long as the stream judge says; then all of it comes.
bool World::held(ReplicaId id, kapi::Token stream) {
  if (!stream_judge_) { return false; }
  const auto key = std::pair{id, stream};
  const auto hold = holds_.find(key);
  if (hold != holds_.end()) {
    if (clock_.now().mono < hold->second) { return true; }
    holds_.erase(hold);
    return false;
  }
  const Duration by = stream_judge_(id, stream);
  if (by <= Duration::zero()) { return false; }
  holds_[key] = clock_.now().mono + by;
  after(by, [this] { drainStreams(); });
  return true;
}

void World::setApiAway(bool away) {
  api_away_ = away;
  if (!away) { return; }
  for (const auto& r : replicas_) { endStreams(r->id, 0); }
}

void World::goBack(const json::Value& saved) {
  for (const auto& r : replicas_) { endStreams(r->id, 0); }
  const auto restored = api_->goBack(saved);
  GS_CHECK(restored.has_value(), "the saved state: {}", restored ? "" : restored.error().message);
  changed();
}

void World::endStreams(ReplicaId id, int http) {
  Replica& r = replica(id);
  for (const auto stream : std::exchange(r.streams, {})) {
    port_.close(id, stream);
    holds_.erase({id, stream});
    inReplica(id, r.life, [this, stream, http](Replica& there) {
      post(there, kapi::WatchEnded{stream, http, "connection lost"});
    });
  }
}

void World::stallClock(ReplicaId id, Duration by) {
  Replica& r = replica(id);
  (void)r.clock(clock_.now());
  if (r.stalled_from) { return; }
  r.stalled_from = clock_.now().mono;
  r.stalled_until = clock_.now().mono + by;
}

// ---------------------------------------------------------------- a user

apiserver::Response World::request(std::string method, std::string target, json::Value body,
                                   std::string content_type) {
  apiserver::Response response = api_->handle(
      {std::move(method), std::move(target), std::move(content_type), std::move(body)}, clock_.now());
  changed();
  return response;
}

void World::create(const json::Value& object) {
  const apiserver::Resource* r = api_->resources().ofKind(object["apiVersion"].str(), object["kind"].str());
  GS_CHECK(r != nullptr, "nothing serves kind {} of {}", object["kind"].str(), object["apiVersion"].str());
  std::string path = (r->group.empty() ? "/api/" : "/apis/" + r->group + "/") + r->version;
  if (r->namespaced) {
    const auto ns = object["metadata"]["namespace"].str();
    path += "/namespaces/" + std::string{ns.empty() ? "default" : ns};
  }
  const apiserver::Response answer = request("POST", path + "/" + r->plural, object);
  GS_CHECK(answer.code == 201, "refused: {}", json::print(answer.body));
}

json::Value World::get(const std::string& path) { return request("GET", path).body; }

}  // namespace gs::sandbox
