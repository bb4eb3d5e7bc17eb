// The leadership initial sync (R37): what must be known before a new leader decides. A pure machine,
// run once per term.
//
// It lists the managed leases of all namespaces in full (they are the authority), and has pods, nodes,
// GpuClaims and GpuNodeStatuses caught up (engine/cache_sync.h). ResourceClaims of an earlier leader are read
// where they matter (allocation_desk.h). Done when the census is complete and every kind has caught up.
// A failed census is made again after a second, or when the server said. The census alone runs again every
// 10 minutes (leases of other namespaces are not watched).
// One thread; a part of its machine's.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/parts.h"
#include "engine/cache_sync.h"
#include "kapi/call.h"
#include "kapi/kinds.h"
#include "model/lease.h"
#include "model/object.h"

namespace gs::scheduler {

class InitialSync : public controller::Part {
 public:
  static constexpr int kPage = 500;

  struct Census {
    std::vector<model::Ptr<model::Lease>> leases;
    model::Revision revision = 0;
  };

  explicit InitialSync(controller::Parts& parts) : owner_{parts.add(*this)} {}

  void start(kapi::Effects& out);
  void startCensus(kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  void caughtUp(kapi::Kind kind) { kinds_.caughtUp(kind); }
  void reset() override;

  /// Whose caches must reach the present; of leases the census is the present.
  [[nodiscard]] const std::vector<kapi::Kind>& caughtUpKinds() const { return kinds_.kinds(); }
  [[nodiscard]] std::vector<engine::CacheSync::Want> takeCatchUps() { return kinds_.takeWants(); }
  [[nodiscard]] std::optional<Census> takeCensus() { return std::exchange(complete_census_, std::nullopt); }
  [[nodiscard]] bool done() const { return census_done_ && kinds_.done(); }
  [[nodiscard]] bool censusRunning() const { return census_open_; }
  [[nodiscard]] std::string trouble() const;
  /// A call that failed and has not gone through since; "" none.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] std::optional<Mono> nextDue() const override;

 private:
  void askCensus(const std::string& continue_token, kapi::Effects& out);
  void censusPage(const kapi::Outcome& outcome, Mono now, kapi::Effects& out);

  std::uint8_t owner_;
  engine::CacheSync kinds_{
      owner_, {kapi::kPod, kapi::kNode, kapi::kGpuClaim, kapi::kGpuNodeStatus}, std::uint64_t{1} << 32};
  kapi::Token census_call_ = 0;
  std::string census_page_;  // continue token of the page that was asked for
  int page_size_ = kPage;    // halved when a page is too large to take
  bool census_open_ = false;
  bool census_done_ = false;
  Census census_;
  std::optional<Census> complete_census_;
  std::optional<Mono> census_due_;  // after it failed
  std::string census_error_;
  std::uint64_t next_ = 1;
};

}  // namespace gs::scheduler
