// Which namespace holds the GPU leases: the record on the GpuClaim CRD (R20). A pure machine,
// run once per term.
//
// Before anything is decided in a term, the CRD's annotations name our lease namespace and our term, written
// by a PATCH with resourceVersion and read back: of two leaders with different namespaces only one gets
// through, and what an earlier one left on its way misses. Another namespace there: its leader lease is
// looked at, until it was not renewed for two of its durations; renewed meanwhile: somebody else schedules
// GPUs, we stay unready and go on looking, at the record too. Then, or when nobody holds that lease, the
// record is rewritten, and that namespace's leases are taken over like an ancestor's. The record names the
// scheduler too: two of different names never share a lease namespace, so our own namespace with another name
// there keeps us unready until somebody changes it by hand (the leader lease, which is one and the same,
// cannot tell whether the other one lives). No CRD: no lease is written, asked again every 10 s. Read again
// now and then (recheck). One thread; a part of its machine's.
#pragma once

#include <optional>
#include <string>

#include "base/mutant.h"
#include "controller/parts.h"
#include "kapi/call.h"
#include "model/crd.h"

namespace gs::scheduler {

class LeaseRecord : public controller::Part {
 public:
  static constexpr Duration kRetry = std::chrono::seconds{1};
  static constexpr Duration kAbsentRetry = std::chrono::seconds{10};

  LeaseRecord(std::string lease_namespace, std::string scheduler_name, controller::Parts& parts)
      : ns_{std::move(lease_namespace)}, scheduler_{std::move(scheduler_name)}, owner_{parts.add(*this)} {}

  /// `term`: never used before.
  void start(std::string term, kapi::Effects& out);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  void reset() override {
    state_ = State::Idle;
    call_ = 0;
    due_.reset();
    next_call_.reset();
    ours_ = absent_ = came_ = false;
  }
  /// Reads it again: somebody may have replaced the CRD. Until an answer says otherwise all stays as it is.
  void recheck(Mono now) {
    if (call_ == 0) { due_ = now; }
  }
  /// The record is ours, or there is no CRD to keep it: the initial sync may pass.
  [[nodiscard]] bool settled() const { return ours() || absent_; }
  /// Leases may be written.
  [[nodiscard]] bool ours() const { return ours_ || GS_MUTANT(IgnoresRecord); }
  /// Why not, for /readyz; "" when settled.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// Nothing is wrong: it was not answered yet.
  [[nodiscard]] bool isFirstRead() const;
  /// The CRD has come since this was last asked, and the record is ours.
  [[nodiscard]] bool takeCame() { return ours() && std::exchange(came_, false); }
  [[nodiscard]] std::optional<Mono> nextDue() const override;

 private:
  enum class State : std::uint8_t { Idle, Reading, Looking, Waiting, Writing, Ours, Absent };
  void send(kapi::Call call, State state);
  void readCrd();
  void found(Mono now);
  void crdRead(const kapi::Outcome& outcome, Mono now);
  void leaderRead(const kapi::Outcome& outcome, Mono now);
  void retry(Mono at) { due_ = at; }
  void write(Mono now);

  std::string ns_;
  std::string scheduler_;
  std::uint8_t owner_;
  State state_ = State::Idle;
  bool ours_ = false;    // as last read
  bool absent_ = false;  // the CRD, as last read
  bool came_ = false;    // it was absent
  std::optional<model::Crd> crd_;
  int writes_ = 0;  // since it was last ours
  Mono not_before_{};
  std::string term_;
  std::pair<std::string, std::string> seen_;  // of the other leader: its namespace, its renewTime
  Mono silent_until_{};                       // seen unchanged until then: it is gone
  std::string trouble_;
  std::optional<Mono> due_;
  std::optional<kapi::Call> next_call_;
  kapi::Token call_ = 0;
  std::uint64_t next_ = 1;
};

}  // namespace gs::scheduler
