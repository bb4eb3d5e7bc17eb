// CDI devices as an NRI adjustment, for runtimes that inject no CDI devices by NRI (containerd before 2.1,
// CRI-O before 1.34): what their files say is written out.
//
// As the runtimes' library applies them: the file's own edits once, before those of its first device; then
// each device in order. A device node, a mount or a variable that comes twice counts as the last one says
// (NRI refuses two of one name). What a file leaves to the host (type, numbers and mode of a device node)
// comes from a map that the caller fills. What NRI cannot say is told apart, for the caller to refuse or to
// log: groups, network interfaces, intelRdt, device nodes that are not to be read and written.
// Unlike there, a device node without uid and gid belongs to root: NRI of those runtimes does not tell as
// whom a container runs.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "enforce/cdi/index.h"
#include "rpc/nri/messages.h"

namespace gs::enforce::cdi {

/// A device node of the host, as lstat() has it.
struct NodeStat {
  std::string type;  // "c", "b", "p"
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::uint32_t file_mode = 0;  // its permission bits
  friend bool operator==(const NodeStat&, const NodeStat&) = default;
};
/// By the path on the host; what is not there has no entry.
using Stats = std::map<std::string, NodeStat>;

/// The paths on the host of which writtenOut() wants to know; each once.
[[nodiscard]] std::vector<std::string> nodesToStat(const std::vector<Entry>& devices);

/// What the files say and NRI has no field for.
struct Untold {
  std::vector<std::uint32_t> additional_gids;  // ascending, without 0
  std::vector<std::string> net_devices;        // names on the host
  std::vector<std::string> narrow_nodes;  // paths of device nodes: NRI lets every one be read and written
  bool intel_rdt = false;
  [[nodiscard]] bool empty() const { return *this == Untold{}; }
  /// For people; "" when empty.
  [[nodiscard]] std::string sentence() const;
  friend bool operator==(const Untold&, const Untold&) = default;
};

struct WrittenOut {
  rpc::nri::Adjustment adjustment;  // devices, mounts, env and hooks; nothing is removed
  Untold untold;
};

/// Error Invalid: the file asks for what no runtime can do by NRI; NotFound: a device node is not on the
/// host. Names the file and the path.
[[nodiscard]] Result<WrittenOut> writtenOut(const std::vector<Entry>& devices, const Stats& stats);

}  // namespace gs::enforce::cdi
