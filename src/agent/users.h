// Users: which pods' containers have which GPUs, for status.devices[].inUseBy of the GpuNodeStatus.
//
// Two sources are put together:
//   - The container runtime says which pods have containers (Containers). It goes on saying so when the
//     pod's object is gone, which is why it is asked.
//   - The pod's object, while it is there, says which GPUs its containers are told and which it was given.
//     Of a pod whose object we never saw, the annotations say it that the kubelet gave the runtime with the
//     pod's sandbox. Whoever edits them while containers run frees nothing. No container's environment is
//     read.
//
// GPUs by number: a number means the GPU that had it when the container was created (numberings.h),
// whichever GPU the scheduler meant, for this is about what containers have.
//   - The runtime says when that was. Where it does not, or the wall clock was set meanwhile, it was after
//     the last look but one, which did not show the container; with the first looks of a process, at any
//     time before. All GPUs that may have had the number in that time count.
//   - Once a container was seen, it keeps its GPUs by name (nameOf()), whatever becomes of numbers. A
//     container that the kubelet starts anew is another one. Before a pod has any, a number means what it
//     means now.
//   - A number or UUID that no GPU has had yet is looked up again when the numbers change. Until then it
//     means no GPU: anybody may write one on a pod of theirs, and must not hold up what others free.
//
// After a restart: the status that was published before (seed()) says which GPUs the containers of then
// have, so their numbers are not looked up. Containers that were created since have what their numbers mean
// as well. Nothing is kept over a boot of the machine.
//
// A pod is forgotten when its object is gone and two looks in a row since did not show it (the first may
// have begun before); at once while there was no look yet and seed() did not name it. While the runtime is
// silent, no user is taken away. Pure; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/numberings.h"
#include "agent/status.h"
#include "base/clock.h"
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
  /// When those containers were created, each; Wall{}: nobody says. None: the same of all of them.
  std::set<Wall> created{};
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
  /// The driver counts the GPUs so.
  void number(const std::vector<Device>& devices, Now now);
  /// What was published before a restart. Who used a GPU then does until a look says otherwise. After looks
  /// it only says which GPUs they have. `when`: their containers had been seen by then; Wall{}: not known.
  /// `is_this_boot` false: the machine has been booted since.
  void seed(const std::vector<Device>& devices, Wall when, bool is_this_boot);
  /// A pod of this node as the API has it.
  void changed(const model::Pod& pod);
  void gone(const model::Uid& uid);
  void seen(const Containers& containers, Now now);

  /// Who uses it, ascending.
  [[nodiscard]] std::vector<model::Uid> of(const Device& device) const;
  /// Somebody waits for the GPUs of a pod that ended: its containers are still there.
  [[nodiscard]] bool draining() const;
  /// Somebody uses it, or a pod that has not ended was told it, or a number that is not below its own: its
  /// containers may start with that yet.
  [[nodiscard]] bool isTold(const Device& device) const;
  /// The runtime shows containers of it, or has not been asked since a status of before a restart named it.
  [[nodiscard]] bool hasContainers(const model::Uid& uid) const;
  /// How many pods with GPUs have ended, or went, since the runtime answered first.
  [[nodiscard]] std::uint64_t ends() const { return ends_; }
  /// Pods that something is kept of.
  [[nodiscard]] std::size_t size() const { return pods_.size(); }

 private:
  /// A container, or all of a pod's of which nobody says when they were created, or those that may come.
  struct Container {
    Numberings::Span created;    // within that time
    bool is_old = false;         // those that the seed tells of: it may be one of them
    std::set<std::string> gpus;  // names
  };
  /// By PodContainers::created.
  using ContainersOfPod = std::map<Wall, Container>;
  struct Pod {
    std::set<std::string> said;  // ids and UUIDs that it was given
    ContainersOfPod containers;
    std::set<std::string> seeded;  // names of GPUs, by the status of before a restart
    bool allocated = false;        // the object said so: what its sandbox was told does not count
    bool told = false;             // the sandbox said so
    bool is_there = false;         // its object
    bool ended = false;
    bool has_containers = false;
    std::size_t looks_without = 0;  // since its object is gone, in a row
    [[nodiscard]] bool over() const { return ended || !is_there; }
    [[nodiscard]] bool hasGpus() const { return !seeded.empty() || !said.empty(); }
    [[nodiscard]] bool has(const std::string& gpu) const;
  };
  /// What it says that it was given counts from now on, of its containers too.
  void say(Pod& pod, std::set<std::string> names) const;
  void resolve(Pod& pod) const;
  void keepContainers(Pod& pod, const PodContainers& there, Now now) const;
  [[nodiscard]] Numberings::Span createdWithin(Wall created, Now now) const;
  [[nodiscard]] bool wasSet(Now now) const;
  [[nodiscard]] bool isSeedBeaten(const Pod& pod) const;
  [[nodiscard]] bool hasLooked() const { return !looks_.empty(); }
  void end(const Pod& pod) { ends_ += hasLooked() && pod.hasGpus() ? 1 : 0; }

  Numberings numberings_;
  std::map<model::Uid, Pod> pods_;    // those whose object is there, and those that may have containers
  std::set<std::string> ids_before_;  // of the status that was seeded
  Wall seeded_at_{};
  bool is_this_boot_ = true;  // of that status
  std::vector<Now> looks_;    // the last two, in their order
  std::uint64_t ends_ = 0;
};

}  // namespace gs::agent
