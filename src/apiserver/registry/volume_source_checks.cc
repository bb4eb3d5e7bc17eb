// What a volume is, of pods and of PersistentVolumes.
#include <fmt/format.h>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"
#include "base/ascii.h"

namespace gs::apiserver {

void checkHostPath(const json::Value& source, const std::string& field, FieldErrors& errors) {
  const auto path = source["path"].str();
  if (path.empty()) {
    errors.push_back(fieldRequired(field + ".path"));
    return;
  }
  refuseFor(errors, field + ".path", source["path"], backstepErrors(path));
  checkKnownIfThere(
      errors, field + ".type", source["type"],
      {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"});
}

void checkNfs(const json::Value& source, const std::string& field, FieldErrors& errors) {
  for (const char* name : {"server", "path"}) {
    if (source[name].str().empty()) { errors.push_back(fieldRequired(fmt::format("{}.{}", field, name))); }
  }
  if (!source["path"].str().starts_with('/')) {
    errors.push_back(fieldInvalid(field + ".path", source["path"], "must be an absolute path"));
  }
}

void checkCsiDriverName(const json::Value& driver, const std::string& field, FieldErrors& errors) {
  constexpr std::size_t kMost = 63;
  const auto name = driver.str();
  if (name.empty()) { errors.push_back(fieldRequired(field)); }
  if (name.size() > kMost) {
    errors.push_back({field, "TooLong", fmt::format("Too long: may not be more than {} bytes", kMost)});
  }
  refuseFor(errors, field, driver, dnsSubdomainErrors(inLowerCase(name)));
}

}  // namespace gs::apiserver
