// Every cut point (R28 and R38): the leader dies before or after each single write of a placement and of a
// release, and the write that was in flight is applied, refused, or applied after the next leader began. The
// next leader repairs all of them: no double grant, no leak, no pod stuck.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "test/world/objects.h"
#include "test/world/truth.h"
#include "test/world/volume_objects.h"

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

/// By which door the pod comes; the last two by a claim, with a volume that is made, and one that is there.
enum class Way { Exclusive, Shared, Mapped, Plain, Ordinary, Dra, DraClaims, MadeVolume, LocalVolume };
void PrintTo(Way way, std::ostream* out) {
  *out << std::array{"Exclusive", "Shared",    "Mapped",     "Plain",      "Ordinary",
                     "Dra",       "DraClaims", "MadeVolume", "LocalVolume"}
              .at(static_cast<std::size_t>(way));
}

/// A pod of two GPUs (an ordinary one: of none) is placed, runs and ends; then a pod that needs every GPU of
/// node-b shows that nothing leaked.
class Play {
 public:
  Play(std::size_t at, std::optional<Cut> cut, Way way)
      : at_{at}, cut_{cut}, way_{way}, world_{optionsFor(way)} {
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
    const bool by_limit = way_ == Way::Plain || way_ == Way::Dra;
    const std::string worker = way_ == Way::Mapped ? "worker-0" : "worker";
    if (way_ == Way::DraClaims) {
      world_.create(gpuClass());
      world_.create(claimTemplate("one-gpu", gpuDevices(1)));
      world_.create(withClaims(pod(worker, ""), "resourceClaimTemplateName", {"one-gpu", "one-gpu"}));
    } else if (hasVolume()) {
      createVolume();
      world_.create(withVolumes(pod(worker, "two"), {"data"}));
    } else {
      world_.create(way_ == Way::Mapped ? mappedPod(worker, "0=node-b:0,1")
                                        : pod(worker, claims ? "two" : "", by_limit ? 2 : 0));
    }
    if (!until([&] { return isBound(worker); })) { return "the pod was never bound"; }
    if (hasVolume() && !isVolumeBound()) { return "it was bound before its volume"; }
    (void)settle();
    world_.kubelet().finish("default", worker);
    if (isByDra() && sees(worker) != 2) { return fmt::format("it sees {} GPUs", sees(worker)); }
    world_.create(isByDra() ? pod("big", "", 8) : pod("big", "eight"));
    if (!until([&] { return isBound("big"); })) { return "the big pod was never bound"; }
    const std::string left = settle();
    if (!left.empty() || !isByDra()) { return left; }
    if (sees("big") != 8) { return fmt::format("the big pod sees {} GPUs", sees("big")); }
    if (world_.driver().inUse() > 0) { return "a GPU was to be prepared that others have"; }
    const auto claims_left = world_.get("/apis/resource.k8s.io/v1/resourceclaims")["items"].items().size();
    return claims_left == 1 ? "" : fmt::format("{} ResourceClaims are left", claims_left);
  }
  [[nodiscard]] std::size_t writes() const { return seen_; }

 private:
  [[nodiscard]] bool isByDra() const { return way_ == Way::Dra || way_ == Way::DraClaims; }
  [[nodiscard]] bool hasVolume() const { return way_ == Way::MadeVolume || way_ == Way::LocalVolume; }
  void createVolume() {
    world_.create(way_ == Way::LocalVolume ? localClass() : storageClass("made", {{"late", "2s"}}));
    if (way_ == Way::LocalVolume) { world_.create(localVolume("disk", "node-b")); }
    world_.create(volumeClaim("data", way_ == Way::LocalVolume ? "local" : "made"));
  }
  bool isVolumeBound() {
    const auto claim = world_.get(kVolumeClaims + "data");
    const auto volume = world_.get(kVolumes + std::string{claim["spec"]["volumeName"].str()});
    return isBoundClaim(claim) && volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"];
  }
  static World::Options optionsFor(Way way) {
    World::Options options;
    options.controllers = way >= Way::Dra;
    if (way != Way::Dra && way != Way::DraClaims) { return options; }
    for (auto& node : options.nodes) { node.enforcement = model::Enforcement::Dra; }
    return options;
  }
  /// How many GPUs its containers had when they started.
  std::size_t sees(const std::string& name) {
    const auto object = world_.get("/api/v1/namespaces/default/pods/" + name);
    const auto devices = world_.kubelet().devicesAtStart(std::string{object["metadata"]["uid"].str()});
    if (!devices || devices->empty()) { return 0; }
    return 1 + static_cast<std::size_t>(std::count(devices->begin(), devices->end(), ','));
  }
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
    case Way::Dra: return "Dra";
    case Way::DraClaims: return "DraClaims";
    case Way::MadeVolume: return "MadeVolume";
    case Way::LocalVolume: return "LocalVolume";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(Pods, CutPoints,
                         ::testing::Values(Way::Exclusive, Way::Shared, Way::Mapped, Way::Plain,
                                           Way::Ordinary, Way::Dra, Way::DraClaims, Way::MadeVolume,
                                           Way::LocalVolume),
                         [](const auto& info) { return nameOf(info.param); });

}  // namespace
}  // namespace gs::test
