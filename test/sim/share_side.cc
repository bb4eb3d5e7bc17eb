#include "test/sim/share_side.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "test/sim/cluster.h"
#include "test/sim/ledger_check.h"
#include "test/sim/share_calls.h"
#include "test/world/objects.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using extender::Answer;
using extender::Verb;
using json::Object;
using json::Value;

constexpr int kShareNodes = 2;
constexpr int kShareMemory = 32;
constexpr Duration kAnswerTakes = 2ms;  // from the replica to its caller, and back
constexpr Duration kUnderWay = 5s;      // older questions are not decided any more
constexpr Duration kPatience = 5s;      // kube-scheduler's, by default
/// A scheduler that does what schedulers should asks about every node within seconds.
constexpr Duration kFair = 30s;

std::string shareNode(int node) { return fmt::format("m-{}", node); }
std::vector<test::Vcuda> limitsOf(int flavour) {
  switch (flavour) {
    case 0: return {{30, 4}};
    case 1: return {{50, 10}};
    case 2: return {{70, 8}};
    case 3: return {{40, 20}};
    case 4: return {{20, 4}, {60, 8}};
    case 5: return {{100, 0}};
    case 6: return {{10, 30}};
    default: return {{200, 0}};
  }
}

struct Odd {
  std::vector<test::Vcuda> limits;
  test::Vcuda init{};  // of an init container, if any
  bool is_sidecar = false;
};
Odd oddOf(int how) {
  switch (how) {
    case 0: return {{{50, 0}}};
    case 1: return {{{0, 8}}};
    case 2: return {{{150, 8}}};
    case 3: return {{{30, 4}, {20, 0}}};
    case 4: return {{{60, 0}, {60, 0}}};
    case 5: return {{{0, 0}}, {30, 4}};
    case 6: return {{{40, 4}}, {40, 4}, true};
    default: return {{{100, 0}}, {0, 8}, true};
  }
}
/// As test::vcudaPod() makes it, and what it leaves out.
Value oddPod(const std::string& name, const Odd& odd) {
  Value pod = test::vcudaPod(name, odd.limits, shareNamespace(name));
  if (odd.init.cores == 0 && odd.init.memory == 0) { return pod; }
  Value init = test::vcudaPod(name, {odd.init}, shareNamespace(name))["spec"]["containers"].at(0);
  init.set("name", "init");
  if (odd.is_sidecar) { init.set("restartPolicy", "Always"); }
  pod.child("spec").set("initContainers", json::Array{std::move(init)});
  return pod;
}

}  // namespace

ShareSide::ShareSide(sandbox::World& world, const Plan& plan)
    : world_{world},
      rng_{plan.seed ^ 0x5a4e},
      extenders_{plan.extenders},
      of_two_namespaces_{plan.has(Feature::Stuck)},
      judge_{world.api()},
      gangs_{world, judge_, plan, nodes_} {
  Rng style{plan.seed ^ 0x5a4f};
  allocates_ = style.chance(25);
  binds_through_ = style.chance(30);
}

void ShareSide::begin() {
  for (int i = 0; i < kShareNodes; ++i) {
    sandbox::GpuManager::Config config{shareNode(i), 1 + i, kShareMemory};
    managers_.push_back(std::make_unique<sandbox::GpuManager>(world_.api(), config, rng_.split()));
    world_.kubelet().setPlugin(config.node, *managers_.back());
    world_.create(test::gpuManagerNode(config.node, config.devices, kShareMemory));
    nodes_.push_back(config.node);
  }
  for (int i = 0; i < extenders_; ++i) { world_.startExtender(); }
}

const std::string& ShareSide::watch() {
  const auto leader = world_.leadingExtender();
  if (leader != leader_) {
    leader_ = leader;
    ++leads_;
  }
  const std::string& of_judge = judge_.watch(world_.now().mono);
  return problem_.empty() ? of_judge : problem_;
}

/// However they fail: what could not be written nobody was told.
void ShareSide::writesStick(const Step& s) {
  const bool of_b = s.x <= 2;  // Extras::sticks()
  stuck_until_ = of_b ? world_.now().mono + std::chrono::seconds{s.y} : Mono{};
  fits_since_.clear();
}

/// While writes of namespace b fail, pods of the other one get what is there.
void ShareSide::look(bool is_disturbed) {
  const Mono now = world_.now().mono;
  const auto leader = world_.leadingExtender();
  const bool anybody_leads = leader && leader == leader_;
  if (is_disturbed || !anybody_leads) { fits_since_.clear(); }
  if (now >= stuck_until_ || is_disturbed || !anybody_leads || now < looked_ + 1s) { return; }
  looked_ = now;
  (void)watch();
  for (const auto& [uid, pod] : judge_.pods()) {
    const auto mine = mine_.find(pod.name);
    const bool is_minded = mine != mine_.end() && mine->second.uid == uid && !mine->second.dropped;
    if (!is_minded || !pod.waits() || !isHurried(pod.name) || !judge_.hasRoom(pod)) {
      fits_since_.erase(uid);
    } else if (fits_since_.try_emplace(uid, now).first->second + kFair < now && problem_.empty()) {
      problem_ = fmt::format(
          "pod {} waits for shares, and there is room, while writes of others fail; it is told: {}", pod.name,
          pod.told);
    }
  }
}

bool ShareSide::isHurried(const std::string& pod) const {
  return calm_ ||
         (world_.now().mono < stuck_until_ && std::string_view{shareNamespace(pod)} == kNamespaces[0]);
}

// ---- steps

void ShareSide::carryOut(const Step& s) {
  const std::string pod = sharePodName(s.x, of_two_namespaces_);
  switch (s.op) {
    case Op::ShareComes: comes(s.x, test::vcudaPod(pod, limitsOf(s.y), shareNamespace(pod))); return;
    case Op::OddShareComes: comes(s.x, oddPod(pod, oddOf(s.y))); return;
    case Op::ShareEnds:
      world_.kubelet().finish(shareNamespace(pod), pod);
      world_.touch();
      return;
    case Op::ShareGoes:
      (void)world_.request("DELETE", sharePodPath(pod),
                           s.y != 0 ? Object{{"gracePeriodSeconds", 0}} : Object{});
      return;
    case Op::ShareAsked:
      for (int i = 0; i < s.y; ++i) {
        if (mine_.contains(pod)) { ask(pod, mine_[pod].uid, s.z != 0 ? Duration{1ms} : kPatience); }
      }
      return;
    case Op::ShareElsewhere:
      if (mine_.contains(pod) && binds_through_) {
        bindThrough(pod, mine_[pod].uid, shareNode(s.y));
      } else if (mine_.contains(pod)) {
        bind(pod, mine_[pod].uid, shareNode(s.y), false);
      }
      return;
    case Op::ShareDropped: drop(s.x, s.y != 0); return;
    default: gangs_.carryOut(s); return;
  }
}

void ShareSide::comes(int slot, const Value& object) {
  const std::string pod = sharePodName(slot, of_two_namespaces_);
  const auto answer =
      world_.request("POST", fmt::format("/api/v1/namespaces/{}/pods", shareNamespace(pod)), object);
  if (answer.code != 201) { return; }
  const std::string uid{answer.body["metadata"]["uid"].str()};
  const std::uint64_t turn = mine_[pod].turn;
  mine_[pod] = {.uid = uid, .turn = turn};
  considerLater(pod, uid, Duration{1ms} * static_cast<std::int64_t>(rng_.below(200)));
}

/// Its scheduler forgets it: no Binding and no question comes any more.
void ShareSide::drop(int slot, bool tell) {
  const std::string pod = sharePodName(slot, of_two_namespaces_);
  const auto it = mine_.find(pod);
  if (it == mine_.end() || !isWaiting(storedPod(world_, pod), it->second.uid)) { return; }
  Mine& mine = it->second;
  mine.dropped = true;
  mine.told.stands = false;
  bool is_asked = false;  // some question is under way, and may come after what is said now
  for (auto& [request_id, asked] : asked_) {
    if (asked.uid != mine.uid) { continue; }
    asked.until = {};
    is_asked = is_asked || asked.at + kUnderWay > world_.now().mono;
  }
  if (!tell) { return; }
  if (!is_asked && !judge_.noteOf(mine.uid).empty()) { mine.told_so = world_.now().mono; }
  mine.leads = leads_;
  writeUnscheduled(world_, pod, ++said_);
}

// ---- the scheduler

void ShareSide::considerLater(const std::string& pod, const std::string& uid, Duration by) {
  const std::uint64_t turn = ++mine_[pod].turn;  // the last one counts
  world_.after(by, [this, pod, uid, turn] {
    if (mine_[pod].turn == turn) { consider(pod, uid); }
  });
}

void ShareSide::consider(const std::string& pod, const std::string& uid) {
  if (!isWaiting(storedPod(world_, pod), uid) || mine_[pod].dropped) { return; }
  ask(pod, uid, !isHurried(pod) && rng_.chance(10) ? Duration{100ms} : kPatience);
  considerLater(pod, uid, kPatience + Duration{1ms} * static_cast<std::int64_t>(rng_.below(2'000)));
}

void ShareSide::ask(const std::string& pod, const std::string& uid, Duration patience) {
  const Value object = storedPod(world_, pod);
  if (object["metadata"]["uid"].str() != uid) { return; }
  const Mono now = world_.now().mono;
  Asked asked{.pod = pod, .uid = uid, .at = now, .until = now + patience};
  for (const auto& node : nodes_) {
    if (isHurried(pod) || rng_.chance(75) || now < stuck_until_) { asked.nodes.push_back(node); }
  }
  if (asked.nodes.empty()) { asked.nodes.push_back(nodes_.front()); }
  // It asks for all nodes, also those that have no shares.
  if (extenders_ == 0 && !allocates_) {
    for (int node = 0; node < kNodes; ++node) { asked.nodes.push_back(nodeName(node)); }
  }
  if (allocates_) {
    std::size_t which = rng_.below(asked.nodes.size());
    if (isHurried(pod)) { which = mine_[pod].next_node++ % asked.nodes.size(); }
    asked.nodes = {asked.nodes[which]};
  }
  asked.verb = allocates_ ? Verb::Allocate : Verb::Filter;
  mine_[pod].told_so.reset();  // whoever asks again is given it again, for as long as after a first question
  Mine& mine = mine_[pod];
  if (isHurried(pod) || mine.seen["metadata"]["uid"].str() != uid || rng_.chance(60)) { mine.seen = object; }
  extender::Request q;
  q.pod = std::make_shared<const model::Pod>(kapi::decodePod(mine.seen));
  send(std::move(asked), std::move(q));
}

void ShareSide::send(Asked asked, extender::Request q) {
  Mine& mine = mine_[asked.pod];
  asked.request_id = ++request_ids_;
  mine.questions.push_back(asked);
  if (!asked.mentions(mine.told.node)) { mine.told.stands = false; }
  q.verb = asked.verb;
  const auto to = drawExtender(world_, rng_, extenders_, isHurried(asked.pod));
  const auto nodes = asked.nodes;
  asked_[request_ids_] = std::move(asked);
  world_.ask(to, request_ids_, std::move(q), nodes);
}

/// A session of Volcano's ends without the rest of the gang.
void ShareSide::takeBack(const std::string& pod, const std::string& uid) {
  const Mono now = world_.now().mono;
  extender::Request q;
  q.pod = std::make_shared<const model::Pod>(kapi::decodePod(storedPod(world_, pod)));
  send({.pod = pod, .uid = uid, .at = now, .until = now + kPatience, .verb = Verb::Deallocate}, std::move(q));
}

/// The extender carries it out, with annotations of that node.
void ShareSide::bindThrough(const std::string& pod, const std::string& uid, const std::string& node) {
  if (!isWaiting(storedPod(world_, pod), uid)) { return; }
  const Mono now = world_.now().mono;
  model::Pod named;
  named.key = {shareNamespace(pod), pod};
  named.uid = model::Uid{uid};
  extender::Request q;
  q.pod = std::make_shared<const model::Pod>(std::move(named));
  q.node = model::NodeName{node};
  judge_.binding(uid, true);
  send({.pod = pod, .uid = uid, .nodes = {node}, .at = now, .until = now + kPatience, .verb = Verb::Bind},
       std::move(q));
}

void ShareSide::answered(extender::RequestId request_id, const Answer& answer) {
  if (gangs_.answered(request_id, answer)) { return; }
  const auto node = asked_.extract(request_id);
  if (node.empty()) { return; }
  const Asked& asked = node.mapped();
  (void)watch();
  if (answer.kind == Answer::Kind::Done && asked.verb == Verb::Bind) { ++bindings_[1]; }
  const bool is_chosen = answer.kind == Answer::Kind::Chosen;
  const bool is_taken = is_chosen || answer.kind == Answer::Kind::Untouched;
  judge_.answered(asked.uid, is_taken, answer.text);
  if (is_chosen) {
    judge_.chosen(asked.uid, asked.nodes.at(answer.chosen), world_.now().mono - kAnswerTakes);
  }
  if (world_.now().mono > asked.until || !mine_.contains(asked.pod) || mine_[asked.pod].uid != asked.uid) {
    return;
  }
  Mine& mine = mine_[asked.pod];
  if (mine.dropped || !isWaiting(storedPod(world_, asked.pod), asked.uid)) { return; }
  if (is_chosen && allocates_ && !isHurried(asked.pod) && rng_.chance(15)) {
    return takeBack(asked.pod, asked.uid);
  }
  if (is_chosen) {
    const std::string& chosen = asked.nodes.at(answer.chosen);
    // One that was asked before, and has no answer yet, may be taken later.
    const bool stands = std::all_of(mine.questions.begin(), mine.questions.end(), [&](const Asked& q) {
      const bool over = q.at < asked.at && (!asked_.contains(q.request_id) || q.at < asked.at - kUnderWay);
      return over || q.mentions(chosen);
    });
    mine.told = {chosen, judge_.noteOf(asked.uid), stands};
    bindLater(asked.pod, asked.uid, mine.told);
    return;
  }
  if (rng_.chance(70)) { writeUnscheduled(world_, asked.pod, ++said_); }
  considerLater(asked.pod, asked.uid, 500ms + Duration{1ms} * static_cast<std::int64_t>(rng_.below(1'000)));
}

void ShareSide::bindLater(const std::string& pod, const std::string& uid, const Told& told) {
  const auto luck = isHurried(pod) ? 0 : rng_.below(100);
  const std::uint64_t most = luck < 60 ? 300 : luck < 90 ? 5'000 : 30'000;
  world_.after(Duration{1ms} * static_cast<std::int64_t>(rng_.below(most)), [this, pod, uid, told] {
    if (mine_[pod].uid == uid && mine_[pod].dropped) { return; }
    if (binds_through_ && rng_.chance(50)) {
      return bindThrough(pod, uid,
                         isHurried(pod) || rng_.chance(80) ? told.node : nodes_[rng_.below(nodes_.size())]);
    }
    const Mine& mine = mine_[pod];
    const bool stands =
        mine.uid == uid && mine.told.stands && mine.told.node == told.node && mine.told.note == told.note;
    bind(pod, uid, told.node, stands && judge_.noteOf(uid) == told.note);
  });
}

void ShareSide::bind(const std::string& pod, const std::string& uid, const std::string& node, bool as_told) {
  if (!isWaiting(storedPod(world_, pod), uid)) { return; }
  (void)watch();
  judge_.binding(uid, as_told);
  ++bindings_.at(as_told ? 1 : 0);
  writeBinding(world_, pod, uid, node);
}

// ---- the end

std::size_t ShareSide::refusedMembers() const {
  std::size_t refused = 0;
  for (const auto& manager : managers_) {
    refused +=
        static_cast<std::size_t>(std::count_if(manager->refused().begin(), manager->refused().end(),
                                               [this](const auto& one) { return gangs_.isMember(one.uid); }));
  }
  return refused;
}

const extender::Extender& ShareSide::extender(sandbox::ReplicaId id) const {
  const auto* companion = world_.extenderOfCompanion(id);
  return companion != nullptr ? *companion : world_.extender(id).extender();
}

std::string ShareSide::settled() {
  const auto leader = world_.leadingExtender();
  if (!leader) { return "no extender leads"; }
  if (std::string wrong = reservationsWrong(*leader); !wrong.empty()) { return wrong; }
  if (std::string wrong = reportsWrong(); !wrong.empty()) { return wrong; }
  return ledgerWrong(*leader);
}

/// Who was bound as told is not blamed. (That a late one is reported is a unit test's: who leads may have
/// died with what it knew.)
std::string ShareSide::reportsWrong() {
  for (const auto& event : world_.get("/apis/events.k8s.io/v1/events")["items"].items()) {
    const std::string uid{event["regarding"]["uid"].str()};
    if (event["reason"].str() == "LateForeignBinding" && !judge_.boundLate(uid)) {
      return fmt::format("pod {} was bound as told and is reported", event["regarding"]["name"].str());
    }
  }
  return "";
}

std::string ShareSide::reservationsWrong(sandbox::ReplicaId leader) const {
  const auto sizes = extender(leader).grants();
  std::size_t noted = 0;
  for (const auto& [uid, pod] : judge_.pods()) {
    if (!pod.waits()) { continue; }
    noted += pod.named.empty() ? 0 : 1;
    const auto mine = mine_.find(pod.name);
    if (mine == mine_.end() || mine->second.uid != uid) { continue; }
    // A leader that came later, or writes the annotations after it, does not know of it,
    // and waits for longer.
    const bool known = mine->second.told_so > pod.written_at && mine->second.leads == leads_;
    if (known && !pod.named.empty()) {
      return fmt::format("pod {} was given up, its annotations say '{}'", pod.name, pod.note);
    }
    if (!mine->second.dropped && judge_.hasRoom(pod)) {
      return fmt::format("pod {} waits for shares, and there is room", pod.name);
    }
  }
  if (std::string wrong = gangs_.starving(); !wrong.empty()) { return wrong; }
  if (sizes.writing + sizes.removing > 0) { return "an extender's writes do not come to an end"; }
  if (sizes.written != noted) {
    return fmt::format("{} pods wait with annotations, the extender knows {}", noted, sizes.written);
  }
  return "";
}

/// As a fresh one makes it of the same kinds. A new leader would not believe an overtaken promise; this one
/// keeps it until it ends, so what is reserved is not compared then. Where all is one ledger LedgerCheck
/// looks at it.
std::string ShareSide::ledgerWrong(sandbox::ReplicaId leader) {
  if (extenders_ == 0) { return ""; }
  const bool with_promises = arePromisesBelieved();
  const extender::Config& config = extender(leader).config();
  engine::Engine fresh;
  fresh.configureQuota(config.quota);
  extender::Extender other{fresh, config, Rng{1}};
  for (const auto& [path, kind] : {std::pair{"/api/v1/nodes", kapi::kNode}, {"/api/v1/pods", kapi::kPod}}) {
    for (const auto& item : world_.get(path)["items"].items()) {
      model::Object object = kapi::decodeObject(kind, item);
      fresh.apply({kind, object.key(), object.uid(), object, object.revision()}, world_.now().mono);
    }
  }
  fresh.synced(world_.now().mono);
  other.lead(world_.now());
  other.settle(world_.now());
  const std::string wrong = difference(world_.extender(leader).engine().ledger().dump(with_promises),
                                       fresh.ledger().dump(with_promises));
  return wrong.empty() ? "" : "of the extender: " + wrong;
}

}  // namespace gs::sim
