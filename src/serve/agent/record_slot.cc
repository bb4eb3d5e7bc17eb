#include "serve/agent/record_slot.h"

#include <utility>

#include "base/check.h"

namespace gs::serve {
namespace {

enforce::NodeRecordPtr knowingNothing(std::string node) {
  enforce::NodeRecord out;
  out.node = std::move(node);
  return std::make_shared<const enforce::NodeRecord>(std::move(out));
}

}  // namespace

RecordSlot::RecordSlot(std::string node) : record_{knowingNothing(std::move(node))} {}

void RecordSlot::put(enforce::NodeRecordPtr record) {
  GS_CHECK(record != nullptr, "a slot without a record");
  const MutexLock lock{mutex_};
  if (record == record_) { return; }
  record_ = std::move(record);
  if (changed_) { changed_(); }
}

enforce::NodeRecordPtr RecordSlot::get() const {
  const MutexLock lock{mutex_};
  return record_;
}

void RecordSlot::onChange(std::function<void()> changed) {
  const MutexLock lock{mutex_};
  changed_ = std::move(changed);
}

}  // namespace gs::serve
