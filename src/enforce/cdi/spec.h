// A file of the Container Device Interface (CDI): which devices a vendor offers to containers of this node,
// and what a container gets with each (its edits). JSON or YAML; container runtimes read both as YAML.
//
// What the runtimes' library refuses is refused here too: a key that it does not know (in any case of
// letters, as Go reads them), a version below what the file uses, a name against the grammar, a device
// without edits or twice. So a file that is good here is good there, for library 1.1.0; an older one may know
// less. Bounded besides, as no library is: bytes, entries of a list, length of a text.
// Pure: the caller reads the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "enforce/cdi/name.h"

namespace gs::enforce::cdi {

inline constexpr std::size_t kMostSpecBytes = std::size_t{1} << 20;  // of a file
inline constexpr std::size_t kMostSpecJson = 4 * kMostSpecBytes;     // of it with its aliases written out
inline constexpr std::size_t kMostEntries = 4096;                    // of any list of it
inline constexpr std::size_t kMostText = std::size_t{16} << 10;      // bytes of any text in it

struct DeviceNode {
  std::string path;        // in the container
  std::string host_path;   // "": it is the same on the host
  std::string type;        // "c", "b", "u", "p"; "": whatever is on the host
  std::int64_t major = 0;  // 0: whatever is on the host
  std::int64_t minor = 0;
  std::optional<std::uint32_t> file_mode;
  std::string permissions;  // of "rwm"; "": all
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  [[nodiscard]] const std::string& onHost() const { return host_path.empty() ? path : host_path; }
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

struct Mount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;
  std::string type;
  friend bool operator==(const Mount&, const Mount&) = default;
};

enum class HookKind : std::uint8_t {
  Prestart,
  CreateRuntime,
  CreateContainer,
  StartContainer,
  Poststart,
  Poststop
};

struct Hook {
  HookKind kind{};
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<std::int64_t> timeout;  // seconds
  friend bool operator==(const Hook&, const Hook&) = default;
};

/// What a container is given.
struct Edits {
  std::vector<std::string> env;  // "K=V"
  std::vector<DeviceNode> device_nodes;
  std::vector<Mount> mounts;
  std::vector<Hook> hooks;
  std::vector<std::uint32_t> additional_gids;
  std::vector<std::string> net_devices;  // the names that they have on the host
  bool has_intel_rdt = false;
  friend bool operator==(const Edits&, const Edits&) = default;
};

struct Device {
  std::string name;
  Edits edits;
  friend bool operator==(const Device&, const Device&) = default;
};

struct Spec {
  std::string file;  // its path, for messages
  std::string version;
  Kind kind;
  std::vector<Device> devices;  // at least one; each name once
  Edits edits;                  // of who gets any of its devices, once
  friend bool operator==(const Spec&, const Spec&) = default;
};

/// Error Invalid: begins with `file`, names the field and the value, and says what to write. Of several YAML
/// documents the first one counts, as in the runtimes.
[[nodiscard]] Result<Spec> readSpec(std::string file, std::string_view text);

}  // namespace gs::enforce::cdi
