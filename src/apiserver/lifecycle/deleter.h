// How what goes by itself is deleted: the door from the controllers of this room to deletion,
// which stands above them.
#pragma once

#include "apiserver/storage/store.h"
#include "base/clock.h"

namespace gs::apiserver {

class Deleter {
 public:
  /// As a controller asks for it: in the background. What is being deleted already is left alone, and so is
  /// what may not be deleted. Finalizers and a pod's grace are waited for.
  virtual void removeByItself(const StoreKey& key, Now now) = 0;
  /// Out of the store at once, with what then has no owner left; tells the controllers. Returns its last
  /// state; null: it was not there.
  virtual ObjectPtr drop(const StoreKey& key, Now now) = 0;

 protected:
  ~Deleter() = default;
};

}  // namespace gs::apiserver
