// The leadership barrier (design 3.5): what must be known before a new leader decides. A pure machine, run once per term.
//
// It lists the managed leases of all namespaces in full (they are the authority), and for each other kind asks for a
// list with limit=1, whose resourceVersion R its reflector must reach. Done when the census is complete and every kind has caught
// up. Failed calls are made again after a second, or when the server said. A kind whose CRD is missing (404) has nothing to catch up with.
// The census alone runs again every 10 minutes (leases of other namespaces are not watched). One thread; tokens carry kOwner.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kapi/call.h"
#include "model/object.h"

namespace gs::scheduler {

/// Whose caches must reach the present; of leases the census is the present.
inline constexpr model::Kind kCaughtUpKinds[] = {model::Kind::Pod, model::Kind::Node, model::Kind::GpuClaim,
                                                 model::Kind::GpuNodeStatus};

class Barrier {
 public:
  static constexpr std::uint8_t kOwner = 30;
  static constexpr Duration kRetry = std::chrono::seconds{1};
  static constexpr int kPage = 500;

  struct CatchUp {
    model::Kind kind{};
    model::Revision revision = 0;
  };
  struct Census {
    std::vector<model::Ptr<model::Lease>> leases;
    model::Revision revision = 0;
  };

  void start(kapi::Effects& out);
  void startCensus(kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Mono now, kapi::Effects& out);
  void tick(Mono now, kapi::Effects& out);
  void caughtUp(model::Kind kind);
  void reset();

  [[nodiscard]] std::vector<CatchUp> takeCatchUps() { return std::exchange(catch_ups_, {}); }
  [[nodiscard]] std::optional<Census> takeCensus() { return std::exchange(complete_census_, std::nullopt); }
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool censusRunning() const { return census_open_; }
  [[nodiscard]] std::string trouble() const;
  /// A call that failed and has not gone through since; "" none.
  [[nodiscard]] std::string error() const;
  [[nodiscard]] std::optional<Mono> nextDue() const { return due_; }

 private:
  enum class Progress : std::uint8_t { Idle, Asked, Failed, Catching, Done };
  void ask(model::Kind kind, kapi::Effects& out);
  void askCensus(const std::string& continue_token, kapi::Effects& out);
  void censusPage(const kapi::Outcome& outcome, Mono now, kapi::Effects& out);
  void retry(const kapi::Outcome& outcome, Mono now);
  void kindListed(model::Kind kind, const kapi::Outcome& outcome, Mono now);

  std::array<Progress, model::kKinds> kinds_{};
  std::array<kapi::Token, model::kKinds> asked_{};
  kapi::Token census_call_ = 0;
  std::string census_page_;  // continue token of the page that was asked for
  int page_size_ = kPage;    // halved when a page is too large to take
  bool census_open_ = false;
  bool census_failed_ = false;
  bool census_done_ = false;
  Census census_;
  std::optional<Census> complete_census_;
  std::vector<CatchUp> catch_ups_;
  std::optional<Mono> due_;
  std::array<std::string, model::kKinds> errors_;  // why the last list of that kind failed; Lease: the census
  std::uint64_t next_ = 1;
};

}  // namespace gs::scheduler
