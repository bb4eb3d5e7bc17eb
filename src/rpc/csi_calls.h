// What a CSI node driver is asked, as plain values (rpc/csi.proto has the protocol), and who answers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace gs::rpc {

struct PublishRequest {
  std::string volume_id;
  std::string target_path;
  bool has_capability = false;
  bool is_block = false;                 // the capability asks for a block device
  std::vector<std::string> mount_flags;  // of the capability
  bool read_only = false;
  std::map<std::string, std::string> context;
};

struct UnpublishRequest {
  std::string volume_id;
  std::string target_path;
};

struct StatsRequest {
  std::string volume_id;
  std::string volume_path;
};
struct VolumeStats {
  struct Amount {
    std::int64_t total = 0;
    std::int64_t used = 0;
    std::int64_t available = 0;
    friend bool operator==(const Amount&, const Amount&) = default;
  };
  Amount bytes;
  Amount inodes;
  friend bool operator==(const VolumeStats&, const VolumeStats&) = default;
};

/// Answers calls. Asked by several threads at once, and must outlive the server. An error's code becomes
/// gRPC's: Invalid INVALID_ARGUMENT, NotFound NOT_FOUND, Conflict FAILED_PRECONDITION, Unavailable
/// UNAVAILABLE, Deadline DEADLINE_EXCEEDED, Internal INTERNAL.
class CsiDriver {
 public:
  virtual ~CsiDriver() = default;
  [[nodiscard]] virtual Status publish(const PublishRequest& request) = 0;
  [[nodiscard]] virtual Status unpublish(const UnpublishRequest& request) = 0;
  [[nodiscard]] virtual Result<VolumeStats> stats(const StatsRequest& request) = 0;
  /// Why it cannot serve now; fine when it can.
  [[nodiscard]] virtual Status ready() = 0;
  /// The kubelet has registered the driver; `error`: or why not.
  virtual void registered(bool is_registered, const std::string& error) = 0;
  /// The server is to stop: calls that wait for somebody else end now. May come more than once, beside calls.
  virtual void stopping() = 0;
};

}  // namespace gs::rpc
