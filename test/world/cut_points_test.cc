// Every cut point (R28 and R38): the leader dies before or after each single write of a placement and of a
// release, and the write that was in flight is applied, refused, or applied after the next leader began. The
// next leader repairs all of them: no double grant, no leak, no pod stuck.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <ostream>

#include "test/world/objects.h"
#include "test/world/truth.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using sandbox::CallFault;
using sandbox::World;
using How = CallFault::How;

enum class Cut {
  DiesBefore,
  DiesApplied,
  DiesRefused,
  DiesLate,
  LivesLost,
  LivesLostApplied,
  LivesLate,
  LivesRefused
};
constexpr Cut kCuts[] = {Cut::DiesBefore, Cut::DiesApplied,      Cut::DiesRefused, Cut::DiesLate,
                         Cut::LivesLost,  Cut::LivesLostApplied, Cut::LivesLate,   Cut::LivesRefused};

CallFault resultOf(Cut cut) {
  switch (cut) {
    case Cut::DiesBefore: return {How::Normal, 0, {}, true, false};
    case Cut::DiesApplied: return {How::Normal, 0, {}, false, true};
    case Cut::DiesRefused: return {How::Refused, 429, {}, false, true};
    case Cut::DiesLate: return {How::Late, 0, 9s, false, true};
    case Cut::LivesLost: return {How::LostBefore, 0, {}, false, false};
    case Cut::LivesLostApplied: return {How::LostAfter, 0, {}, false, false};
    case Cut::LivesLate: return {How::Late, 0, 3s, false, false};
    case Cut::LivesRefused: return {How::Refused, 429, {}, false, false};
  }
  return {};
}

const char* nameOf(Cut cut) {
  switch (cut) {
    case Cut::DiesBefore: return "dies before sending";
    case Cut::DiesApplied: return "dies, applied";
    case Cut::DiesRefused: return "dies, refused";
    case Cut::DiesLate: return "dies, applied after the next leader began";
    case Cut::LivesLost: return "never applied, no answer";
    case Cut::LivesLostApplied: return "applied, no answer";
    case Cut::LivesLate: return "applied later, no answer";
    case Cut::LivesRefused: return "429";
  }
  return "";
}

/// By which door the pod comes.
enum class Way { Exclusive, Shared, Mapped, Plain, Ordinary };
void PrintTo(Way way, std::ostream* out) {
  *out << std::array{"Exclusive", "Shared", "Mapped", "Plain", "Ordinary"}.at(static_cast<std::size_t>(way));
}

/// A pod of two GPUs (an ordinary one: of none) is placed, runs and ends; then a pod that needs every GPU of
/// node-b shows that nothing leaked.
class Play {
 public:
  Play(std::size_t at, std::optional<Cut> cut, Way way)
      : at_{at}, cut_{cut}, way_{way}, world_{World::Options{}} {
    world_.setJudge([this](sandbox::ReplicaId id, const kapi::Call& call) { return judge(id, call); });
  }

  /// "" or what went wrong.
  std::string toTheEnd() {
    world_.startReplica();
    world_.startReplica();
    if (!until([&] { return world_.leader().has_value(); })) { return "nobody leads"; }
    victim_ = *world_.leader();
    world_.create(
        claim("two", 2, way_ == Way::Shared ? json::Object{{"exclusivity", "Shared"}} : json::Object{}));
    world_.create(claim("eight", 8));
    const bool claims = way_ == Way::Exclusive || way_ == Way::Shared;
    const std::string worker = way_ == Way::Mapped ? "worker-0" : "worker";
    world_.create(way_ == Way::Mapped ? mappedPod(worker, "0=node-b:0,1")
                                      : pod(worker, claims ? "two" : "", way_ == Way::Plain ? 2 : 0));
    if (!until([&] { return isBound(worker); })) { return "the pod was never bound"; }
    (void)settle();
    world_.kubelet().finish("default", worker);
    world_.create(pod("big", "eight"));
    if (!until([&] { return isBound("big"); })) { return "the big pod was never bound"; }
    return settle();
  }
  [[nodiscard]] std::size_t writes() const { return seen_; }

 private:
  CallFault judge(sandbox::ReplicaId id, const kapi::Call& call) {
    const bool counted = call.leader_only && id == victim_;
    if (!counted) { return {}; }
    return seen_++ == at_ && cut_ ? resultOf(*cut_) : CallFault{};
  }
  bool until(const std::function<bool()>& done) {
    return world_.runUntil(
               [&] {
                 const Truth truth = readTruth(world_);
                 if (!truth.problems.empty()) { problem_ = truth.problems.front(); }
                 return !problem_.empty() || done();
               },
               120s) &&
           problem_.empty();
  }
  bool isBound(const std::string& name) {
    return !world_.get("/api/v1/namespaces/default/pods/" + name)["spec"]["nodeName"].str().empty();
  }
  /// Two sweeps later nothing may be left over.
  std::string settle() {
    world_.run(70s);
    const Truth truth = readTruth(world_);
    if (!problem_.empty()) { return problem_; }
    if (!truth.problems.empty()) { return truth.problems.front(); }
    return truth.unsettled.empty() ? "" : truth.unsettled.front();
  }

  std::size_t at_;
  std::optional<Cut> cut_;
  Way way_;
  std::size_t seen_ = 0;
  sandbox::ReplicaId victim_ = -1;
  std::string problem_;
  World world_;
};

class CutPoints : public ::testing::TestWithParam<Way> {};

TEST_P(CutPoints, TheNextLeaderRepairsEveryOne) {
  Play undisturbed{0, std::nullopt, GetParam()};
  ASSERT_EQ(undisturbed.toTheEnd(), "");
  const std::size_t writes = undisturbed.writes();
  ASSERT_GE(writes, 8U) << "leases, Binding, event, status, and the leases again";
  for (std::size_t at = 0; at < writes; ++at) {
    for (const Cut cut : kCuts) {
      Play run{at, cut, GetParam()};
      EXPECT_EQ(run.toTheEnd(), "") << "write " << at << " of " << writes << ": " << nameOf(cut);
    }
  }
}

std::string nameOf(Way way) {
  switch (way) {
    case Way::Exclusive: return "Exclusive";
    case Way::Shared: return "Shared";
    case Way::Mapped: return "Mapped";
    case Way::Plain: return "Plain";
    case Way::Ordinary: return "Ordinary";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(Pods, CutPoints,
                         ::testing::Values(Way::Exclusive, Way::Shared, Way::Mapped, Way::Plain,
                                           Way::Ordinary),
                         [](const auto& info) { return nameOf(info.param); });

}  // namespace
}  // namespace gs::test
