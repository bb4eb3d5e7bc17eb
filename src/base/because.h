// because: an error of one call is that of the next. Who has something to add makes an error of its own, with
// fail().
#pragma once

#include <utility>

#include "base/result.h"

namespace gs {

[[nodiscard]] inline tl::unexpected<Error> because(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace gs
