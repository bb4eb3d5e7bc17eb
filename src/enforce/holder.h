// Whose container it is: of a pod that holds devices of ours, or of another one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "enforce/node_record.h"
#include "enforce/plan_types.h"
#include "rpc/nri/messages.h"

namespace gs::enforce {

/// The devices of "node-a:0,3/1" or "0,3/1", ascending. Error Invalid: it is neither, or of another node.
[[nodiscard]] Result<std::vector<model::DeviceId>> devicesSaid(std::string_view annotation,
                                                               std::string_view node);

/// The devices that a pod holds: by the record, and by its sandbox's annotations, which say the same. None:
/// it holds nothing, and says so. Refused: nobody can be sure. `label` is the container's.
using Held = std::optional<std::vector<model::DeviceId>>;
[[nodiscard]] tl::expected<Held, Refusal> heldBy(const rpc::nri::PodSandbox& pod, const NodeRecord& record,
                                                 const std::string& label);

}  // namespace gs::enforce
