// Containers: which containers of this node have which devices, as far as we answered for them or were told
// of them: so which devices are free for one more. Containers without devices are not kept.
// What leases hold is the record's business; a device is free when both say so.
// Bounded: a node has some thousand containers. Pure, single thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "enforce/plan_types.h"
#include "model/ids.h"

namespace gs::enforce {

/// What one container has.
struct Has {
  model::Uid pod;
  std::vector<model::DeviceId> devices;
  std::vector<Move> moves;  // of the devices those that we gave in the place of a plugin's
  friend bool operator==(const Has&, const Has&) = default;
};

class Containers {
 public:
  static constexpr std::size_t kMost = 16384;

  /// Replaces what was known of that container. False: there are too many, and it is not kept.
  bool set(const std::string& id, Has has);
  /// It stopped, was removed, or never came to be. Unknown ones: nothing happens.
  void remove(const std::string& id);
  void clear();

  /// A container has some of it; of another pod than `but`, unless that is empty.
  [[nodiscard]] std::optional<std::string> userOf(model::DeviceId id, const model::Uid& but = {}) const;
  /// We gave some of it to a container of another pod in the place of what the plugin gave that: the plugin
  /// does not know, and may hand it out again.
  [[nodiscard]] bool isLent(model::DeviceId id, const model::Uid& but) const;
  /// What another container of this pod has in its place: all containers of a pod are given the same again.
  [[nodiscard]] std::optional<model::DeviceId> movedTo(model::DeviceId from, const model::Uid& pod) const;
  [[nodiscard]] const std::map<std::string, Has>& all() const { return by_id_; }
  [[nodiscard]] std::size_t size() const { return by_id_.size(); }

 private:
  std::map<std::string, Has> by_id_;
};

}  // namespace gs::enforce
