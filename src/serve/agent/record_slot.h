// RecordSlot: the newest NodeRecord, from the agent's owner thread to those that answer the container
// runtime and the kubelet. Any thread.
#pragma once

#include <functional>
#include <string>

#include "base/mutex.h"
#include "enforce/node_record.h"

namespace gs::serve {

class RecordSlot {
 public:
  /// Until the first put() the record knows nothing but the node's name.
  explicit RecordSlot(std::string node = {});
  /// Not null. One that is there already changes nothing.
  void put(enforce::NodeRecordPtr record) GS_EXCLUDES(mutex_);
  /// Never null.
  [[nodiscard]] enforce::NodeRecordPtr get() const GS_EXCLUDES(mutex_);
  /// `changed` is called by whoever puts another record, and must not wait for anything; once this has
  /// returned the one before is not called any more. Empty: nobody.
  void onChange(std::function<void()> changed) GS_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  enforce::NodeRecordPtr record_ GS_GUARDED_BY(mutex_);
  std::function<void()> changed_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::serve
