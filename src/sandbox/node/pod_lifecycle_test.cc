#include "sandbox/node/pod_lifecycle.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using namespace pod_event;
using enum PodPhase;
using enum PodStep;

constexpr Mono kNow{100s};

Surroundings here() { return {kNow, {}, true, false}; }
Surroundings withoutNode() { return {kNow, {}, false, false}; }
Surroundings lingering() {
  Surroundings out = here();
  out.times.linger = 25s;
  return out;
}
Surroundings withSidecars() {
  Surroundings out = here();
  out.times.sidecar_takes = 3s;
  return out;
}
Surroundings down() {
  Surroundings out = here();
  out.node_down = true;
  return out;
}

constexpr PodView kFinished{.finished = true};
constexpr PodView kDeleting{.deleting = true};
constexpr PodView kDeletingNow{.deleting = true, .grace = 0s};
constexpr PodView kFailedWaiting{.finished = true, .said_to_wait = true};
constexpr PodView kSidecars{.has_sidecars = true};
std::optional<Mono> in(Duration by) { return kNow + by; }

struct Row {
  const char* name;
  Surroundings around;
  PodState state;
  PodEvent event;
  PodState expected;
  PodStep step = Nothing;
  bool changed = false;
};

class PodLifecycleTable : public testing::TestWithParam<Row> {};

std::string text(const PodState& s) {
  std::string out = std::to_string(static_cast<int>(s.phase));
  out += s.due ? " due " + std::to_string((*s.due - kNow) / 1ms) : " not due";
  if (s.exit_code) { out += " exit " + std::to_string(*s.exit_code); }
  return out + (s.to_take ? " to take" : "") + (s.main_ended ? " main ended" : "") +
         (s.pod.finished ? " finished" : "") + (s.pod.deleting ? " deleting" : "");
}

TEST_P(PodLifecycleTable, Next) {
  const Row& row = GetParam();
  const PodTransition to = next(row.state, row.event, row.around);
  EXPECT_EQ(to.state, row.expected) << text(to.state) << ", not " << text(row.expected);
  EXPECT_EQ(static_cast<int>(to.step), static_cast<int>(row.step));
  EXPECT_EQ(to.changed, row.changed);
}

const char* nameOf(const testing::TestParamInfo<Row>& row) { return row.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Begins, PodLifecycleTable,
    testing::Values(
        Row{"Bound", here(), {}, Bound{}, {.due = in(500ms)}},
        Row{"BoundWithPlugin", here(), {}, Bound{{}, 40ms}, {.due = in(40ms), .to_take = true}},
        Row{"BoundToNoNode", withoutNode(), {}, Bound{{}, 40ms}, {.due = in(40s), .to_take = true}},
        Row{"BoundAndFinished",
            here(),
            {},
            Bound{kFinished},
            {.phase = Over, .pod = kFinished},
            Nothing,
            true},
        Row{"BoundAndDeleting", here(), {}, Bound{kDeleting}, {.due = in(0s), .pod = kDeleting}},
        Row{"BoundToNoNodeAndDeleting",
            withoutNode(),
            {},
            Bound{kDeleting},
            {.due = in(40s), .pod = kDeleting}},
        Row{"Adopted", here(), {}, Adopted{{}, in(9s)}, {.phase = Runs, .due = in(9s)}, Nothing, true},
        Row{"AdoptedForEver", here(), {}, Adopted{}, {.phase = Runs}, Nothing, true},
        Row{"AdoptedAndDeleting",
            here(),
            {},
            Adopted{kDeleting, in(9s)},
            {.phase = Stopping, .due = in(100ms), .pod = kDeleting},
            Nothing,
            true}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Starts, PodLifecycleTable,
    testing::Values(
        Row{"DueToStart", here(), {.due = kNow}, Due{}, {}, Start},
        Row{"DueToBeTaken", here(), {.due = kNow, .to_take = true}, Due{}, {}, Take},
        Row{"TakenStartsLater", here(), {}, Taken{}, {.due = in(500ms)}},
        Row{"WithoutItsVolumesItStartsLater", here(), {}, NotMounted{}, {.due = in(500ms)}},
        Row{"WithoutItsDevicesItIsTriedAgainInAMinute", here(), {}, NotPrepared{}, {.due = in(60s)}},
        Row{"RefusedIsOver", here(), {}, Refused{}, {.phase = Over}},
        Row{"StartedRuns", here(), {}, Started{}, {.phase = Runs}, Nothing, true},
        Row{"RunsForEver", here(), {.phase = Runs}, Reported{}, {.phase = Runs}},
        Row{"RunsForAWhile", here(), {.phase = Runs}, Reported{{}, 30s}, {.phase = Runs, .due = in(30s)}},
        Row{"WasToldToEnd",
            here(),
            {.phase = Runs},
            Reported{3, 30s},
            {.phase = Runs, .due = in(0s), .exit_code = 3}},
        Row{"DeletedBeforeItStarts",
            here(),
            {.due = in(300ms)},
            Changed{kDeleting},
            {.due = in(0s), .pod = kDeleting}},
        Row{"DeletedIsRemoved",
            here(),
            {.due = kNow, .to_take = true, .pod = kDeleting},
            Due{},
            {.to_take = true, .pod = kDeleting},
            Remove},
        Row{"FailedBySomebodyStaysAsItIs",
            here(),
            {.due = in(300ms)},
            Changed{kFailedWaiting},
            {.due = in(300ms), .pod = kFailedWaiting},
            Nothing,
            true},
        Row{"FailedWhileItWaitsRunsUnseen",
            lingering(),
            {.due = in(300ms)},
            Changed{kFailedWaiting},
            {.phase = Unseen, .due = in(25s), .pod = kFailedWaiting},
            RunUnseen,
            true},
        Row{"FailedWithoutAWordOfContainers",
            lingering(),
            {.due = in(300ms)},
            Changed{kFinished},
            {.due = in(300ms), .pod = kFinished},
            Nothing,
            true}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Ends, PodLifecycleTable,
    testing::Values(
        Row{"Told", here(), {.phase = Runs}, Told{7}, {.phase = Runs, .due = Mono::min(), .exit_code = 7}},
        Row{"ToldWhileItWaits", here(), {.due = in(1s)}, Told{7}, {.due = in(1s)}},
        Row{"DueEnds", here(), {.phase = Runs, .due = kNow}, Due{}, {.phase = Over}, End, true},
        Row{"SidecarsRunOn",
            withSidecars(),
            {.phase = Runs, .due = kNow, .pod = kSidecars},
            Due{},
            {.phase = Runs, .due = in(3s), .main_ended = true, .pod = kSidecars},
            EndMain},
        Row{"SidecarsEnd",
            withSidecars(),
            {.phase = Runs, .due = kNow, .main_ended = true, .pod = kSidecars},
            Due{},
            {.phase = Over, .main_ended = true, .pod = kSidecars},
            End,
            true},
        Row{"SidecarsThatTakeNoTime",
            here(),
            {.phase = Runs, .due = kNow, .pod = kSidecars},
            Due{},
            {.phase = Over, .pod = kSidecars},
            End,
            true},
        Row{"NoSidecars", withSidecars(), {.phase = Runs, .due = kNow}, Due{}, {.phase = Over}, End, true},
        Row{"EndedBySomebodyElse",
            here(),
            {.phase = Runs, .due = in(9s)},
            Changed{kFinished},
            {.phase = Runs, .due = in(100ms), .exit_code = 143, .pod = kFinished},
            Nothing,
            true},
        Row{"EndedBySomebodyElseOnce",
            here(),
            {.phase = Runs, .due = in(50ms), .exit_code = 143, .pod = kFinished},
            Changed{kFinished},
            {.phase = Runs, .due = in(50ms), .exit_code = 143, .pod = kFinished}},
        Row{"Deleted",
            here(),
            {.phase = Runs, .due = in(9s)},
            Changed{kDeleting},
            {.phase = Stopping, .due = in(100ms), .pod = kDeleting}},
        Row{"DeletedWithoutGrace",
            here(),
            {.phase = Runs},
            Changed{kDeletingNow},
            {.phase = Stopping, .due = in(0s), .pod = kDeletingNow}},
        Row{"DeletedTwice",
            here(),
            {.phase = Stopping, .due = in(50ms), .pod = kDeleting},
            Changed{kDeleting},
            {.phase = Stopping, .due = in(50ms), .pod = kDeleting}},
        Row{"Stops",
            here(),
            {.phase = Stopping, .due = kNow, .pod = kDeleting},
            Due{},
            {.phase = Over, .pod = kDeleting},
            Stop,
            true},
        Row{"DeletedWhenOver",
            here(),
            {.phase = Over, .pod = kFinished},
            Changed{kDeleting},
            {.phase = Over, .due = in(0s), .pod = kDeleting},
            Nothing,
            true},
        Row{"RemovedWhenOver",
            here(),
            {.phase = Over, .due = kNow, .pod = kDeleting},
            Due{},
            {.phase = Over, .pod = kDeleting},
            Remove},
        Row{"OverIsOver", here(), {.phase = Over, .due = kNow}, Due{}, {.phase = Over}}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Goes, PodLifecycleTable,
    testing::Values(
        Row{"GoneWhileItWaits", here(), {.due = in(1s)}, Gone{}, {}, Forget},
        Row{"GoneByForce", here(), {.phase = Runs, .due = in(1s)}, Gone{}, {.phase = Runs}, Forget, true},
        Row{"GoneAndLingers",
            lingering(),
            {.phase = Runs},
            Gone{},
            {.phase = Lingering, .due = in(25s)},
            Nothing,
            true},
        Row{"GoneFromANodeThatIsDown",
            down(),
            {.phase = Stopping},
            Gone{},
            {.phase = Lingering, .due = in(0s)},
            Nothing,
            true},
        Row{"GoneWhenOver", lingering(), {.phase = Over}, Gone{}, {.phase = Over}, Forget},
        Row{"GoneUnseen",
            lingering(),
            {.phase = Unseen, .due = in(9s)},
            Gone{},
            {.phase = Lingering, .due = in(9s)}},
        Row{"LingersNoLonger",
            lingering(),
            {.phase = Lingering, .due = kNow},
            Due{},
            {.phase = Lingering},
            Forget,
            true},
        Row{"UnseenIsOver",
            lingering(),
            {.phase = Unseen, .due = kNow, .pod = kFinished},
            Due{},
            {.phase = Over, .pod = kFinished},
            Nothing,
            true},
        Row{"UnseenIsRemoved",
            lingering(),
            {.phase = Unseen, .due = kNow, .pod = kDeleting},
            Due{},
            {.phase = Over, .pod = kDeleting},
            Remove,
            true},
        Row{"UnseenHearsNothing",
            lingering(),
            {.phase = Unseen, .due = in(9s), .pod = kFinished},
            Changed{{.finished = true, .deleting = true}},
            {.phase = Unseen, .due = in(9s), .pod = {.finished = true, .deleting = true}}}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Nodes, PodLifecycleTable,
    testing::Values(
        Row{"NodeWentWhileItWaits", withoutNode(), {.due = in(1ms)}, NodeWent{}, {.due = in(40s)}},
        Row{"NodeWentWithContainers",
            withoutNode(),
            {.phase = Runs, .due = in(1s)},
            NodeWent{},
            {.due = in(40s)}},
        Row{"NodeWentWhileItStops",
            withoutNode(),
            {.phase = Stopping, .pod = kDeleting},
            NodeWent{},
            {.due = in(40s), .pod = kDeleting}},
        Row{"NodeWentWithWhatLingers",
            withoutNode(),
            {.phase = Lingering, .due = in(9s)},
            NodeWent{},
            {.phase = Lingering},
            Forget},
        Row{"NodeWentWithWhatRunsUnseen",
            withoutNode(),
            {.phase = Unseen, .due = in(9s)},
            NodeWent{},
            {.phase = Over}},
        Row{"NodeWentWhenOver", withoutNode(), {.phase = Over}, NodeWent{}, {.phase = Over}},
        Row{"DueWithoutNode",
            withoutNode(),
            {.due = kNow, .to_take = true},
            Due{},
            {.to_take = true},
            Orphan},
        Row{"DeletedWithoutNodeWaits",
            withoutNode(),
            {.due = in(9s)},
            Changed{kDeleting},
            {.due = in(9s), .pod = kDeleting}},
        Row{"DeletedWithoutNodeWhenOver",
            withoutNode(),
            {.phase = Over},
            Changed{kDeleting},
            {.phase = Over, .due = in(0s), .pod = kDeleting}},
        Row{"NodeCame", here(), {.due = in(30s)}, NodeCame{}, {.due = in(500ms)}},
        Row{"NodeCameAndItIsDueBefore", here(), {.due = in(1ms)}, NodeCame{}, {.due = in(1ms)}},
        Row{"NodeCameAndItRuns",
            here(),
            {.phase = Runs, .due = in(30s)},
            NodeCame{},
            {.phase = Runs, .due = in(30s)}},
        Row{"NodeCameAndNothingIsDue", here(), {}, NodeCame{}, {}}),
    nameOf);

TEST(PodLifecycle, WhoHasContainersAndWhoEnded) {
  struct Case {
    PodPhase phase;
    bool containers;
    bool ended;
  };
  for (const Case& c : {Case{Waiting, false, false}, Case{Runs, true, false}, Case{Stopping, true, false},
                        Case{Unseen, true, false}, Case{Over, false, false}, Case{Lingering, true, true}}) {
    EXPECT_EQ(PodState{.phase = c.phase}.hasContainers(), c.containers) << static_cast<int>(c.phase);
    EXPECT_EQ(PodState{.phase = c.phase}.ended(), c.ended) << static_cast<int>(c.phase);
  }
  EXPECT_TRUE((PodState{.phase = Runs, .pod = kFinished}.ended()));
}

TEST(PodLifecycle, Reports) {
  struct Case {
    PodStep step;
    PodState state;
    std::string expected;  // phase, readiness, reason, exit codes
    int by_itself = 0;
  };
  const std::vector<Case> cases{
      {Start, {}, "Running ready  - -"},
      {EndMain, {.exit_code = 2}, "as-it-is not PodCompleted 2 -"},
      {End, {}, "Succeeded not PodCompleted 0 0"},
      {End, {.exit_code = 3}, "Failed not PodFailed 3 3"},
      {End, {.exit_code = 143, .pod = kFinished}, "as-it-is not PodFailed 143 143"},
      {End, {}, "Failed not PodFailed 4 4", 4},
      {End, {.exit_code = 0}, "Succeeded not PodCompleted 0 0", 4},
      {EndMain, {}, "as-it-is not PodCompleted 4 -", 4},
      {Stop, {}, "Failed not PodFailed 143 143", 4},
      {Stop, {.exit_code = 0}, "Succeeded not PodCompleted 0 0"},
  };
  const auto code = [](std::optional<int> exit) { return exit ? std::to_string(*exit) : "-"; };
  for (const Case& c : cases) {
    const PodReport r = reportOf(c.step, c.state, c.by_itself);
    EXPECT_EQ(std::string{r.phase == nullptr ? "as-it-is" : r.phase} + (r.ready ? " ready " : " not ") +
                  (r.reason == nullptr ? "" : r.reason) + " " + code(r.exit_code) + " " +
                  code(r.sidecar_exit_code),
              c.expected);
  }
}

}  // namespace
}  // namespace gs::sandbox
