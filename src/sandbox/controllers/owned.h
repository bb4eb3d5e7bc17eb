// Which objects a controller's object has: those that name it as their controller, and those without one that
// its selector finds, which it takes over. What its selector no longer finds is let go.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sandbox/controllers/client.h"

namespace gs::sandbox::controllers {

using Filter = std::function<bool(const json::Value&)>;

/// Of `resource` in the namespace of `owner`, after these changes, by name. `adopts`:
/// which may be taken over.
[[nodiscard]] std::vector<apiserver::ObjectPtr> claim(Client& client, const json::Value& owner,
                                                      const std::string& resource, const Filter& adopts);

}  // namespace gs::sandbox::controllers
