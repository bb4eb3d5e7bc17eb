// Effects of several machines as those of one, in their order.
#pragma once

#include <iterator>

#include "kapi/call.h"

namespace gs::kapi {

inline void append(Effects& to, Effects more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace gs::kapi
