#include "model/object.h"

#include "base/check.h"

namespace gs::model {

const Uid& Object::uid() const {
  GS_CHECK(!empty(), "the uid of nothing");
  return type_->uid(value_.get());
}

bool operator==(const Object& a, const Object& b) {
  if (a.empty() || b.empty()) { return a.empty() == b.empty(); }
  return a.type_ == b.type_ && a.type_->equal(a.value_.get(), b.value_.get());
}

}  // namespace gs::model
