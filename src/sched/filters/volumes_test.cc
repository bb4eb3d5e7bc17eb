#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "sched/filters/filter.h"
#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

/// Refuses by one of them, whatever the node.
class Refusing final : public VolumeSelection {
 public:
  explicit Refusing(Filter filter) : filter_{filter} {}
  [[nodiscard]] std::optional<Misfit> refuse(Filter filter, const model::Node& /*node*/) const override {
    return filter == filter_ ? std::optional{Misfit{Reason::VolumeElsewhere, "", 0, 0}} : std::nullopt;
  }
  [[nodiscard]] std::uint64_t moment() const override { return 0; }

 private:
  Filter filter_;
};

TEST(VolumeFilters, EachAsksForItsOwn) {
  constexpr std::array kRows{refuseVolumeRestrictions, refuseVolumeLimits, refuseVolumeBinding,
                             refuseVolumeZone};
  const NodeState node;
  PodRequest request;
  for (const auto& refuse : kRows) { EXPECT_EQ(refuse(node, request), std::nullopt); }
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    request.volumes = std::make_shared<const Refusing>(static_cast<VolumeSelection::Filter>(i));
    for (std::size_t k = 0; k < kRows.size(); ++k) {
      EXPECT_EQ(kRows.at(k)(node, request).has_value(), i == k) << k;
    }
  }
}

TEST(VolumeFilters, SayWhatKubeSchedulerSays) {
  const auto words = [](Reason reason, const char* detail = "") {
    return rowOf(reason).words({reason, detail, 0, 0});
  };
  EXPECT_EQ(words(Reason::DiskInUse), "node(s) had no available disk");
  EXPECT_EQ(
      words(Reason::VolumeOfOnePod),
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
      "another pod");
  EXPECT_EQ(words(Reason::VolumeOfOnePod, "before 1.34"),
            "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode");
  EXPECT_EQ(words(Reason::NoSuchDriver, "d"), "d CSI driver is not installed on the node");
  EXPECT_EQ(words(Reason::NoGate),
            "node(s) had no gate for pods with GPUs: gpu-scheduler-agent does not serve CSI driver "
            "gate.gpu.scheduling there");
  EXPECT_EQ(words(Reason::TooManyVolumes), "node(s) exceed max volume count");
  EXPECT_EQ(words(Reason::VolumeElsewhere), "node(s) didn't match PersistentVolume's node affinity");
  EXPECT_EQ(words(Reason::NoVolumeToBind), "node(s) didn't find available persistent volumes to bind");
  EXPECT_EQ(words(Reason::TooLittleStorage), "node(s) did not have enough free storage");
  EXPECT_EQ(words(Reason::VolumeMissing),
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  EXPECT_EQ(words(Reason::VolumeInOtherZone), "node(s) had no available volume zone");
}

}  // namespace
}  // namespace gs::sched
