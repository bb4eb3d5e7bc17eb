#include "test/sim/gang_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "kapi/decode.h"
#include "test/sim/share_calls.h"
#include "test/world/objects.h"

namespace gs::sim {
namespace {

using namespace std::chrono_literals;
using extender::Answer;
using extender::Verb;
using json::Object;
using json::Value;

constexpr extender::RequestId kFirstOfGangs = extender::RequestId{1} << 39U;  // below KubeSide's
constexpr Duration kAnswerTakes = 2ms;    // from the replica to its caller, and back
constexpr Duration kUnderWay = 5s;        // older questions are not decided any more
constexpr Duration kVolcanoTimeout = 5s;  // Volcano's, by default
/// Volcano has a session each second, and each writes to a pod twice: it would be all that a play does, and
/// more than the law of call rates allows of writers who try again by themselves.
constexpr int kMostInVain = 4;

std::string memberName(int gang, int member) { return fmt::format("g{}-{}", gang, member); }

/// The last one is as those that Volcano makes of an owner's pods by itself.
std::string groupOf(int gang) {
  return fmt::format("{}{}", gang == kGangs - 1 ? "podgroup-" : "gang-", gang);
}

/// There are three devices of 32 memory: of most of these three members fill them.
test::Vcuda limitsOf(int flavour) {
  switch (flavour) {
    case 0: return {90, 8};
    case 1: return {60, 8};
    case 2: return {100, 0};
    case 3: return {50, 10};
    case 4: return {30, 20};
    default: return {200, 0};
  }
}

Value memberPod(const std::string& name, const std::string& group, test::Vcuda limits) {
  Value pod = test::vcudaPod(name, {limits}, "a");
  const char* key = group == groupOf(0) ? "scheduling.volcano.sh/group-name" : "scheduling.k8s.io/group-name";
  pod.child("metadata").set("annotations", Object{{key, group}});
  pod.child("spec").set("schedulerName", "volcano");
  return pod;
}

}  // namespace

GangSide::GangSide(sandbox::World& world, ShareJudge& judge, const Plan& plan,
                   const std::vector<std::string>& nodes)
    : world_{world},
      judge_{judge},
      nodes_{nodes},
      rng_{plan.seed ^ 0x6a46},
      extenders_{plan.extenders},
      last_{kFirstOfGangs} {
  for (int gang = 0; gang < kGangs; ++gang) { gangs_[gang].name = groupOf(gang); }
}

// ---- steps

void GangSide::carryOut(const Step& s) {
  switch (s.op) {
    case Op::GangComes: return comes(s.x, s.y, s.z);
    case Op::GangGoes: return goes(s);
    case Op::GangEnds:
      for (int i = 0; i < kMostMembers; ++i) { world_.kubelet().finish("a", memberName(s.x, i)); }
      world_.touch();
      return;
    default: return;
  }
}

/// Those that are still there of an earlier time stay, as they are.
void GangSide::comes(int gang, int flavour, int members) {
  for (int i = 0; i < members; ++i) {
    const std::string name = memberName(gang, i);
    make(name, memberPod(name, gangs_[gang].name, limitsOf(flavour)));
  }
  if (!gangs_[gang].busy) { later(gang, upTo(200), &GangSide::session); }
}

void GangSide::make(const std::string& name, const Value& pod) {
  const auto answer = world_.request("POST", "/api/v1/namespaces/a/pods", pod);
  if (answer.code != 201) { return; }
  made_[name] = pod;
  uids_.emplace(answer.body["metadata"]["uid"].str());
}

void GangSide::makeAnew(int gang) {
  for (int i = 0; i < kMostMembers; ++i) {
    const std::string name = memberName(gang, i);
    if (storedPod(world_, name)["status"]["phase"].str() != "Failed" || !made_.contains(name)) { continue; }
    (void)world_.request("DELETE", sharePodPath(name), Object{{"gracePeriodSeconds", 0}});
    make(name, made_[name]);
  }
}

void GangSide::goes(const Step& s) {
  for (int i = 0; i < kMostMembers; ++i) {
    if (s.z > 0 && s.z != i + 1) { continue; }
    (void)world_.request("DELETE", sharePodPath(memberName(s.x, i)),
                         s.y != 0 ? Object{{"gracePeriodSeconds", 0}} : Object{});
  }
}

// ---- sessions

void GangSide::calmDown() {
  calm_ = true;
  for (const auto& [number, gang] : gangs_) {
    if (!gang.busy) { later(number, upTo(200), &GangSide::session); }
  }
}

void GangSide::later(int number, Duration by, void (GangSide::*what)(int)) {
  Gang& gang = gangs_[number];
  gang.busy = true;
  const std::uint64_t turn = ++gang.turn;
  world_.after(by, [this, number, turn, what] {
    if (gangs_[number].turn == turn) { (this->*what)(number); }
  });
}

bool GangSide::waits(const Member& member) { return isWaiting(storedPod(world_, member.pod), member.uid); }

void GangSide::session(int number) {
  makeAnew(number);
  Gang& gang = gangs_[number];
  gang.members.clear();
  gang.given.clear();
  for (int i = 0; i < kMostMembers; ++i) {
    const std::string name = memberName(number, i);
    Member member{name, std::string{storedPod(world_, name)["metadata"]["uid"].str()}};
    if (!member.uid.empty() && waits(member)) { gang.members.push_back(std::move(member)); }
  }
  gang.busy = !gang.members.empty();
  if (gang.busy) { place(number); }
}

/// The next member, if there is one.
void GangSide::place(int number) {
  Gang& gang = gangs_[number];
  if (gang.given.size() == gang.members.size()) { return bindAll(number); }
  gang.nodes = nodes_;
  if (rng_.chance(50)) { std::reverse(gang.nodes.begin(), gang.nodes.end()); }
  tryNode(number);
}

void GangSide::tryNode(int number) {
  Gang& gang = gangs_[number];
  const Member& member = gang.members[gang.given.size()];
  if (gang.nodes.empty() || !waits(member)) { return giveUp(number); }
  ask(number, Verb::Look, member, gang.nodes.back());
}

/// What was given is taken back, also what may have been; who dies takes nothing back.
void GangSide::giveUp(int number) {
  Gang& gang = gangs_[number];
  const bool dies = !calm_ && rng_.chance(10);
  const bool tells = rng_.chance(50);
  for (const Given& given : std::exchange(gang.given, {})) {
    if (!dies && waits(given.member)) { ask(number, Verb::Deallocate, given.member, ""); }
  }
  for (const Member& member : gang.members) {
    if (tells && waits(member)) { writeUnscheduled(world_, member.pod, ++said_); }
  }
  gang.in_vain = std::min(gang.in_vain + 1, kMostInVain);
  later(number, gang.in_vain * 1s + upTo(600), &GangSide::session);
}

// ---- questions

void GangSide::ask(int number, Verb verb, const Member& member, const std::string& node) {
  Gang& gang = gangs_[number];
  Asked asked{number, ++gang.turn, ++last_, verb, member, node, world_.now().mono};
  extender::Request q;
  q.verb = verb;
  q.pod = std::make_shared<const model::Pod>(kapi::decodePod(storedPod(world_, member.pod)));
  const auto nodes = node.empty() ? std::vector<std::string>{} : std::vector{node};
  world_.ask(drawExtender(world_, rng_, extenders_, calm_), last_, std::move(q), nodes);
  const Duration patience = !calm_ && rng_.chance(5) ? Duration{10ms} : kVolcanoTimeout;
  world_.after(patience, [this, asked] { unanswered(asked); });
  if (verb == Verb::Allocate) { gang.given.push_back({member, node}); }
  if (verb != Verb::Look) { questions_[member.uid].push_back(asked); }
  asked_[last_] = std::move(asked);
}

/// Its caller waits no longer.
void GangSide::unanswered(const Asked& asked) {
  Gang& gang = gangs_[asked.gang];
  if (gang.turn != asked.turn) { return; }
  if (asked.verb == Verb::Allocate) { return giveUp(asked.gang); }
  gang.nodes.pop_back();
  tryNode(asked.gang);
}

bool GangSide::answered(extender::RequestId request_id, const Answer& answer) {
  if (request_id <= kFirstOfGangs) { return false; }
  const auto node = asked_.extract(request_id);
  if (node.empty()) { return true; }
  const Asked& asked = node.mapped();
  const bool is_chosen = answer.kind == Answer::Kind::Chosen;
  (void)judge_.watch(world_.now().mono);
  if (is_chosen && asked.verb == Verb::Allocate) {
    judge_.chosen(asked.member.uid, asked.node, world_.now().mono - kAnswerTakes);
  }
  Gang& gang = gangs_[asked.gang];
  if (gang.turn != asked.turn) { return true; }
  if (!is_chosen) {
    unanswered(asked);
  } else if (asked.verb == Verb::Look) {
    ask(asked.gang, Verb::Allocate, asked.member, asked.node);
  } else if (!calm_ && rng_.chance(5)) {
    giveUp(asked.gang);
  } else {
    gang.given.back().stands = stands(asked);
    gang.given.back().note = judge_.noteOf(asked.member.uid);
    place(asked.gang);
  }
  return true;
}

/// Whatever was asked before, and has no answer yet, may be done later.
bool GangSide::stands(const Asked& asked) const {
  const auto questions = questions_.find(asked.member.uid);
  return questions == questions_.end() ||
         std::all_of(questions->second.begin(), questions->second.end(), [&](const Asked& q) {
           return q.node == asked.node || !asked_.contains(q.request_id) || q.at < asked.at - kUnderWay;
         });
}

// ---- Bindings

/// All at once, in most plays.
void GangSide::bindAll(int number) {
  Gang& gang = gangs_[number];
  gang.in_vain = 0;
  const auto luck = calm_ ? 0 : rng_.below(100);
  const Duration first = upTo(luck < 80 ? 300 : 5'000);
  const std::uint64_t apart = luck < 60 ? 20 : luck < 90 ? 1'000 : 10'000;
  const auto whole = std::make_shared<std::size_t>(0);
  Duration last{};
  for (const Given& given : gang.given) {
    const Duration by = first + upTo(apart);
    last = std::max(last, by);
    world_.after(by, [this, given, whole, members = gang.given.size()] {
      *whole += bind(given) ? 1 : 0;
      if (*whole == members && members > 1) { ++gangs_bound_; }
    });
  }
  later(number, last + 1500ms, &GangSide::session);
}

/// True: as it was told.
bool GangSide::bind(const Given& given) {
  if (!waits(given.member)) { return false; }
  (void)judge_.watch(world_.now().mono);
  const bool as_told = given.stands && judge_.noteOf(given.member.uid) == given.note;
  judge_.binding(given.member.uid, as_told);
  ++bindings_.at(as_told ? 1 : 0);
  writeBinding(world_, given.member.pod, given.member.uid, given.node);
  return as_told;
}

// ---- the end

std::string GangSide::starving() const {
  for (const auto& [number, gang] : gangs_) {
    if (judge_.hasRoomForGang(gang.name)) {
      return fmt::format("gang {} waits, and there is room for all of it", gang.name);
    }
  }
  return "";
}

}  // namespace gs::sim
