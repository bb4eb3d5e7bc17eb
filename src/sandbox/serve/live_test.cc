#include "sandbox/serve/live.h"

#include <gtest/gtest.h>

#include "base/system_clock.h"

namespace gs::sandbox {
namespace {

using json::Object;
using json::Value;

constexpr const char* kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

Live::Options apiWithoutMachines() {
  Live::Options out;
  out.scheduler.reset();
  out.world.nodes.clear();
  out.world.kubelets = false;
  return out;
}

/// A cluster without machines; objects of a thousand bytes.
class LiveTest : public testing::Test {
 protected:
  static Live::Options options() {
    Live::Options out = apiWithoutMachines();
    out.history_bytes = 20'000;
    out.max_behind = 15'000;
    return out;
  }
  void createMaps(int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(live_.ask([&](World& w) {
        w.create(Object{{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", Object{{"name", "m" + std::to_string(i)}}},
                        {"data", Object{{"k", std::string(1000, 'x')}}}});
      }));
    }
    (void)live_.ask([](World&) {});  // watchers were told before this
  }
  std::shared_ptr<WatchStream> watch(const std::string& query) {
    auto stream = live_.watch(std::string{kConfigMaps} + "?watch=true" + query);
    EXPECT_TRUE(stream.has_value());
    return stream.value_or(nullptr);
  }
  std::string revision() {
    std::string out;
    (void)live_.ask([&](World& w) { out = std::to_string(w.api().store().revision()); });
    return out;
  }
  static int drain(WatchStream& stream) {
    int count = 0;
    for (; const auto event = stream.events.pop(Mono::min()); ++count) { stream.behind -= event->bytes; }
    return count;
  }

  SystemClock clock_;
  Live live_{options(), clock_};
};

TEST_F(LiveTest, HistoryEndsWhereItsObjectsAreTooManyBytes) {
  const std::string first = revision();
  createMaps(0, 3);
  EXPECT_EQ(drain(*watch("&resourceVersion=" + first)), 3);
  createMaps(3, 20);
  const auto stream = watch("&resourceVersion=" + first);
  const auto event = stream->events.pop(Mono::min());
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->event["object"]["code"].intOr(0), 410);
}

TEST_F(LiveTest, AWatcherThatIsTooManyBytesBehindIsCutOff) {
  createMaps(0, 20);
  const auto stream = watch("");
  EXPECT_EQ(stream->events.size(), 20U);  // all that is there, however much
  createMaps(20, 22);
  EXPECT_EQ(drain(*stream), 22);
  createMaps(22, 25);
  EXPECT_EQ(drain(*stream), 3);
  createMaps(25, 45);
  EXPECT_LT(drain(*stream), 20);
  EXPECT_TRUE(stream->events.drained());
}

TEST(LiveState, OfALeaderThatOnlyGoesOnLeadingIsSavedNowAndThen) {
  Live::Options options = apiWithoutMachines();
  options.max_unsaved = 10;
  options.save_every = {};
  std::vector<std::uint64_t> saved;
  options.save = [&](const Value& state) {
    saved.push_back(static_cast<std::uint64_t>(state["revision"].intOr(0)));
  };
  const SystemClock clock;
  Live live{std::move(options), clock};
  std::uint64_t revision = 0;
  for (int i = 0; i < 25; ++i) {
    (void)live.ask([&, i](World& w) {
      const std::string lease = std::string{"/"} + scheduler::kLeaderLease;
      const Value begun = Object{{"metadata", Object{{"name", scheduler::kLeaderLease}}}};
      const Value renewed = Object{{"spec", Object{{"leaseTransitions", i}}}};
      const apiserver::Request write =
          i == 0 ? apiserver::Request{"POST", kLeases, "application/json", begun}
                 : apiserver::Request{"PATCH", kLeases + lease, "application/merge-patch+json", renewed};
      EXPECT_LT(w.api().handle(write, w.now()).code, 300);
      revision = w.api().store().revision();
    });
  }
  live.stop();
  ASSERT_EQ(saved.size(), 4U);
  EXPECT_EQ(saved[1] - saved[0], 10U);
  EXPECT_EQ(saved[2] - saved[1], 10U);
  EXPECT_LT(revision - saved[2], 10U);
  EXPECT_EQ(saved[3], revision) << "at the end: whoever renewed it must not see it go back";
}

}  // namespace
}  // namespace gs::sandbox
