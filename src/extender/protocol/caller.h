// One who asked the machine, until it is answered.
#pragma once

#include "extender/protocol/request.h"

namespace gs::extender {

struct Caller {
  RequestId request_id = 0;
  Request request;
  Mono until{};       // nobody waits for the answer any more
  Answer answer{};    // once it is known what it will be
  int conflicts = 0;  // of its Binding
};

}  // namespace gs::extender
