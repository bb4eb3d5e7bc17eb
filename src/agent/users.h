// Which pods' containers have which GPUs: status.devices[].inUseBy.
//
// Two things are put together. The container runtime says whose containers there are (Containers); it goes on
// saying so when the pod's object is gone, and that is the point. The pod's object, while it was there, said
// which GPUs the pod has (its allocation); of a pod that we never saw, the annotations that the kubelet gave
// the runtime with the pod's sandbox do. What is written there while its containers run is somebody's edit,
// and frees nothing. No container's environment is read.
// What a pod has is kept by the GPUs' names (nameOf()): an id means the GPU that had it when the pod was
// first seen, whatever ids do later. What was published before a restart (seed()) says which GPU that was.
// Names that no GPU has had yet are looked up again when numbers come. Until then they are nobody's: anybody
// may write some on a pod of theirs, and must not hold up what others free.
// A pod is forgotten when its object is gone and two looks since have not named it (one may have begun
// before); at once while there has been no look, and so nobody who could name it.
// The runtime's silence takes nobody away. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/status.h"
#include "base/result.h"
#include "model/ids.h"
#include "model/pod.h"

namespace gs::agent {

/// What the runtime says of one pod whose containers may use GPUs: one of them is created or running, or its
/// sandbox is ready, so that one may come. (Containers that have exited hold nothing.)
struct PodContainers {
  /// Which GPUs its sandbox's annotations say that it was given; ids or UUIDs with commas. nullopt: nothing.
  std::optional<std::string> visible;
  /// It has a sandbox and no container. Of a pod that has ended, or whose object is gone, that is nobody.
  bool sandbox_only = false;
  friend bool operator==(const PodContainers&, const PodContainers&) = default;
};
/// Of a pod with these annotations (the values of model/annotations.h; what cannot be read is nothing).
[[nodiscard]] PodContainers containersWith(const std::map<std::string, std::string>& annotations);
/// The annotations that containersWith() reads.
[[nodiscard]] std::set<std::string> annotationsThatSay();

/// All of them, in one look, by pod uid.
struct Containers {
  std::map<model::Uid, PodContainers> pods;
  friend bool operator==(const Containers&, const Containers&) = default;
};
/// Error: it did not answer; what it said before goes on to count.
using ContainersLook = Result<Containers>;

class Users {
 public:
  /// From now on ids are these.
  void number(const std::vector<Device>& devices);
  [[nodiscard]] bool isNumbered() const { return !names_.empty(); }
  /// Who used them when they were published last, before a restart: they do until a look says otherwise, and
  /// have these GPUs whatever their ids mean now. After looks, only the latter. Comes before number().
  void seed(const std::vector<Device>& devices);
  /// A pod of this node as the API has it.
  void changed(const model::Pod& pod);
  void gone(const model::Uid& uid);
  void seen(const Containers& containers);

  /// Who uses it, ascending.
  [[nodiscard]] std::vector<model::Uid> of(const Device& device) const;
  /// Somebody waits for the GPUs of a pod that ended: its containers are still there.
  [[nodiscard]] bool draining() const;
  /// How many pods with GPUs have ended, or went, since the runtime answered first.
  [[nodiscard]] std::uint64_t ends() const { return ends_; }
  /// Pods that something is kept of.
  [[nodiscard]] std::size_t size() const { return pods_.size(); }

 private:
  struct Pod {
    std::set<std::string> said;  // ids and UUIDs that are not looked up yet
    std::set<std::string> gpus;  // names
    bool allocated = false;      // the object said so: what its sandbox was told does not count
    bool told = false;           // the sandbox said so
    bool seeded = false;         // the status of before a restart said so
    bool is_there = false;       // its object
    bool ended = false;
    bool has_containers = false;
    int looks_without = 0;  // since its object is gone, in a row
    [[nodiscard]] bool over() const { return ended || !is_there; }
    [[nodiscard]] bool hasGpus() const { return !gpus.empty() || !said.empty(); }
  };
  void resolve(Pod& pod) const;
  void give(Pod& pod, std::set<std::string> names) const;
  void giveAsBefore(Pod& pod, const std::set<std::string>& names) const;
  void end(const Pod& pod) { ends_ += has_looked_ && pod.hasGpus() ? 1 : 0; }

  std::map<std::string, std::string> names_;  // by id, by UUID, by the UUID of a partition
  std::map<model::Uid, Pod> pods_;  // those whose object is there, and those that may have containers
  std::map<std::string, std::string> before_;  // ids of the status that was seeded, and whose they were
  bool has_looked_ = false;
  std::uint64_t ends_ = 0;
};

}  // namespace gs::agent
