// A coordination.k8s.io Lease as a value: both the GPU leases (R19) and election records are read through it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace gs::model {

/// The most holders of one lease.
inline constexpr std::size_t kMaxSharers = 64;

/// One entry of `gpu.scheduling/holders`: a pod that shares the device.
struct ShareHolder {
  Uid uid;
  ObjectKey pod;
  std::int64_t milli = 0;
  std::int64_t mib = 0;
  ReservationId reservation;
  std::string devices;  // the whole reservation, "<node>:<ids>"
  friend auto operator<=>(const ShareHolder&, const ShareHolder&) = default;
};

struct Lease {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  Wall created{};
  bool managed = false;  // label gpu.scheduling/managed=true
  std::string holder;    // spec.holderIdentity
  // From annotations; format 0 = none of ours (an ancestor's lease)
  int format = 0;
  NodeName node;
  int gpu = -1;
  std::string uuid;
  ObjectKey pod;  // format 0: from the lease's namespace and label
  Uid pod_uid;
  ReservationId reservation;
  std::string devices;
  /// The election's part of the record (controller/election.h); zero on GPU leases.
  struct Record {
    std::int64_t duration_s = 0;
    std::int64_t transitions = 0;
    std::string acquire_time;  // RFC 3339 with microseconds, compared only for change
    std::string renew_time;
    std::string address{};    // gpu.scheduling/address: where its holder listens, "" not said
    std::string scheduler{};  // gpu.scheduling/lease-namespace-scheduler: whose it is, "" not said
    std::string container{};  // gpu.scheduling/holder-container: where its holder runs, "" not said
    friend bool operator==(const Record&, const Record&) = default;
  } record;
  std::vector<ShareHolder> holders;  // non-empty only for a shared lease; sorted by uid
  /// "" or why its annotations cannot be read, or not all of them. Such a lease still holds its device when
  /// node and gpu are known.
  std::string malformed;
  /// Another version wrote it, in its format: what is not found in it may stand elsewhere in it.
  bool other_format = false;
  /// Of a shared one that is malformed: the whole object as JSON. Who leaves it changes nothing else in it.
  std::string as_written;

  [[nodiscard]] bool shared() const { return holder == "shared"; }
  /// The pods that hold it, ascending where it is shared; none when it names nobody.
  [[nodiscard]] std::vector<Uid> uids() const;
  /// What it says of one of them, shared or not.
  [[nodiscard]] std::optional<ShareHolder> partOf(const Uid& who) const;
  [[nodiscard]] bool names(const Uid& who) const { return partOf(who).has_value(); }
  /// It has annotations of ours, of whatever format.
  [[nodiscard]] bool isOurs() const { return format > 0; }
  /// It is for another GPU than this one; false while one of them says no UUID.
  [[nodiscard]] bool isOfAnother(const std::string& gpu) const {
    return !uuid.empty() && !gpu.empty() && uuid != gpu;
  }
  friend bool operator==(const Lease&, const Lease&) = default;

 private:
  [[nodiscard]] Uid soleHolder() const;
};

}  // namespace gs::model
