// What goes with files that are replaced as a whole (base/files.h).
#pragma once

#include <string>

#include "base/files.h"
#include "base/result.h"
#include "net/socket.h"

namespace gs::sandbox {

/// Fails where replaceFile() would: error Unavailable.
[[nodiscard]] Status tryReplacing(const std::string& path);
/// What `path` names in the end, so that replacing it leaves symbolic links as they are.
[[nodiscard]] std::string behindLinks(std::string path);
/// Holds the file `path`.lock for as long as the descriptor lives; the file stays, empty,
/// or two could hold it.
/// Error Invalid: another process holds it; Unavailable: it cannot be written.
[[nodiscard]] Result<net::Fd> lockBeside(const std::string& path);

}  // namespace gs::sandbox
