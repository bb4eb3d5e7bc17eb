// Devices by id, as this scheduler gives them: what it writes on the pods of the claim, map and plain doors,
// and reads back. scheduler/ answers in this convention, with leases beside it, and may ask here;
// others ask the table (door.h).
#pragma once

#include "model/annotations.h"
#include "sched/doors/door.h"

namespace gs::sched {

/// The devices that a bound pod's annotation gives it; nullopt when it has none or it names another node.
[[nodiscard]] std::optional<std::vector<int>> allocatedIds(const model::Pod& pod);
/// What the pod's containers were told, when that is UUIDs; else empty.
[[nodiscard]] std::vector<std::string> toldUuids(const model::Pod& pod);
/// The reservation that its Binding was made for, "" where it does not say.
[[nodiscard]] const std::string& reservationOf(const model::Pod& pod);
/// It was bound for GPUs that its node counts and nobody names: a reservation without ids.
[[nodiscard]] bool wasGivenACount(const model::Pod& pod);

// For doors whose answers are these.
inline constexpr std::array<const char*, 3> kExactKeys{model::kAllocatedKey, model::kVisibleDevicesKey,
                                                       model::kReservationKey};
void addExact(const model::Pod& pod, Holdings& holdings);
/// Without ids only the reservation: leases of an earlier decision that still land are not the pod's then.
[[nodiscard]] Annotations exactAnnotations(const Decision& decision);

}  // namespace gs::sched
