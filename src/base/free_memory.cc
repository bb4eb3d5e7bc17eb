#include "base/free_memory.h"

#include <malloc.h>

namespace gs {

void giveFreeMemoryBack() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace gs
