// The selections of pods that mount volumes: one for all whose volumes ask for the same, while any of them
// has it. A StatefulSet whose claims are yet to be bound has one; so has one whose claims are bound to
// volumes of one zone, or without any, and that nobody shares. The volumes must outlive it, and the
// selections. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "model/pod.h"
#include "sched/doors/door.h"
#include "sched/request/volume_selection.h"
#include "sched/volumes/volumes.h"

namespace gs::sched {

class VolumeSelections {
 public:
  explicit VolumeSelections(const Volumes& volumes) : volumes_{volumes} {}

  /// Both empty: it mounts nothing that matters.
  struct Said {
    std::shared_ptr<const VolumeSelection> selection{};
    Blocked blocked{};  // why there is none; kind "": there need be none
  };
  [[nodiscard]] Said of(const model::Pod& pod);

  /// Selections that are remembered.
  [[nodiscard]] std::size_t known() const { return known_.size(); }

 private:
  class Selection;
  [[nodiscard]] std::shared_ptr<const Selection> find(VolumeAsk ask);
  void forgetUnused();

  const Volumes& volumes_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const Selection>> known_;  // by hash of what they ask
  std::size_t used_ = 0;                                                        // of these, when last counted
};

}  // namespace gs::sched
