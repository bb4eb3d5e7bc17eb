// Memory that was freed goes back to the system.
//
// The C library keeps what lies below anything that is still there, for as long as that is: after work that
// took hundreds of MB a process may have them for ever. Takes some milliseconds for each GB. Any thread.
#pragma once

namespace gs {

void giveFreeMemoryBack();

}  // namespace gs
