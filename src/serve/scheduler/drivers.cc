#include "serve/scheduler/drivers.h"

#include <fmt/format.h>

#include "base/files.h"
#include "dra/file/driver_file.h"
#include "json/value.h"
#include "yaml/yaml.h"

namespace gs::serve {
namespace {

tl::unexpected<Error> badFile(std::string_view what) {
  return fail(Code::Invalid, fmt::format("--dra-drivers: {}", what));
}

}  // namespace

Result<dra::Drivers> readDrivers(const std::string& path) {
  if (path.empty()) { return dra::knownDrivers(); }
  const auto text = readFile(path, kMostOfADriverFile);
  if (!text && text.error().code == Code::Invalid) {
    return badFile(
        fmt::format("{}; write a list of {} drivers at most", text.error().message, dra::kMostDrivers));
  }
  if (!text) { return badFile(text.error().message); }
  const auto documents = yaml::toJson(*text);
  if (!documents) { return badFile(path + ": " + documents.error().message); }
  if (documents->size() != 1) {
    return badFile(fmt::format("{} has {} documents; write one", path, documents->size()));
  }
  const auto value = json::parse(documents->front());
  if (!value) { return badFile(path + ": " + value.error().message); }
  auto drivers = dra::readDrivers(*value);
  if (!drivers) { return badFile(path + ": " + drivers.error().message); }
  return drivers;
}

}  // namespace gs::serve
