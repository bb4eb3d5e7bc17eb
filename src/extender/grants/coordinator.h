// Coordinator: what the parts of the extender hand on, since another part goes on with it. The extender puts
// the parts together. Each of these is done before it returns, and the grant may have ended then.
#pragma once

#include <utility>
#include <vector>

#include "extender/grants/grant.h"

namespace gs::extender {

class Coordinator {
 public:
  virtual ~Coordinator() = default;
  /// A node is to be found for its pod, or the one that it has: it waited until that could be decided.
  virtual void place(Caller caller) = 0;
  /// The grant's annotations are on the pod, as this version shows.
  virtual void written(Grant& grant, const model::Pod& pod) = 0;
  /// Something is known of this pod that the watch did not say.
  virtual void review(const model::Uid& uid) = 0;
  /// Its grant ended before anything of it was written: what the pod says is not of this grant.
  virtual void endedUnwritten(const model::Uid& uid) = 0;

  void placeAll(std::vector<Caller> callers) {
    for (auto& caller : callers) { place(std::move(caller)); }
  }
};

}  // namespace gs::extender
