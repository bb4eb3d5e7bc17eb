// The bytes of a file, piece by piece.
#pragma once

#include <string>

#include "cacherim/image/image_source.h"

namespace gs::cacherim {

/// Errors: NotFound; Unavailable; Conflict, the sink said no. They name the file.
[[nodiscard]] Status readFileTo(const std::string& path, const ByteSink& sink);

/// As readFileTo(), of a blob: Error Invalid when the bytes are not those of its descriptor. `read` hands
/// them out, and `name` is for people.
using ReadTo = std::function<Status(const ByteSink& sink)>;
[[nodiscard]] Status checkedTo(const kcache::Descriptor& blob, const std::string& name, const ReadTo& read,
                               const ByteSink& sink);

}  // namespace gs::cacherim
