// A Namespace as far as we read it: the labels by which a namespaceSelector means it.
#pragma once

#include "model/ids.h"
#include "model/label_selector.h"

namespace gs::model {

struct Namespace {
  ObjectKey key;  // without a namespace of its own
  Uid uid;
  Revision revision = 0;
  Labels labels;
  friend bool operator==(const Namespace&, const Namespace&) = default;
};

}  // namespace gs::model
