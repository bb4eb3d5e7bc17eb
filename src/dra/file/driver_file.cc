#include "dra/file/driver_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "base/dns_name.h"
#include "base/utf8.h"

namespace gs::dra {
namespace {

using json::Value;

// As the API server has them: DriverNameMaxLength, DeviceMaxIDLength, and the name of a label.
constexpr std::size_t kMostOfADriver = 63;
constexpr std::size_t kMostOfAnIdentifier = 32;
constexpr std::size_t kMostOfAResource = 63;
constexpr std::size_t kMostShown = 100;

constexpr const char* kDriverRule =
    "write the name that its ResourceSlices have: lower-case letters and digits with '-' and '.' between "
    "them; "
    "63 characters at most";
constexpr const char* kResourceRule =
    "write the name of an extended resource, such as example.com/gpu; its domain is not one of kubernetes.io";
constexpr const char* kQualifiedRule =
    "write NAME, or DOMAIN/NAME where the domain is not the driver's: a name has letters, digits and '_', no "
    "digit in front, and 32 characters at most";

std::string shown(const Value& v) {
  return v.isNull() ? "missing" : std::string{utf8Prefix(json::print(v), kMostShown)};
}

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Of a driver, or the domain of an attribute.
bool isDriverName(std::string_view text) { return text.size() <= kMostOfADriver && isDnsSubdomain(text); }

/// Of C: the name of an attribute or a capacity.
bool isIdentifier(std::string_view text) {
  return !text.empty() && text.size() <= kMostOfAnIdentifier && !isDigit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return isLetter(c) || isDigit(c) || c == '_'; });
}

/// What pods may ask for beside cpu and memory; Kubernetes counts quotas of it as requests.DOMAIN/NAME.
bool isExtendedResource(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || text.starts_with("requests.")) { return false; }
  const auto domain = text.substr(0, slash);
  const auto name = text.substr(slash + 1);
  const auto is_alnum = [](char c) { return isLetter(c) || isDigit(c); };
  return isDnsSubdomain(fmt::format("requests.{}", domain)) && !domain.ends_with("kubernetes.io") &&
         !name.empty() && name.size() <= kMostOfAResource && is_alnum(name.front()) &&
         is_alnum(name.back()) && std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alnum(c) || c == '-' || c == '_' || c == '.';
         });
}

/// Reads one driver. The first mistake is kept, with its key; reading goes on harmlessly.
class DriverReader {
 public:
  explicit DriverReader(std::string where) : where_{std::move(where)} {}

  Driver read(const Value& v) {
    Driver driver;
    if (!v.isObject()) { wrong("it", v, "write a map of fields"); }
    driver.name = text("name", v["name"], isDriverName, kDriverRule);
    if (mistake_.empty()) { where_ = "driver " + driver.name; }
    only(v, "",
         {"name", "resource", "deviceClass", "uuidAttribute", "whole", "productAttribute", "memoryCapacity"});
    driver.resource = text("resource", v["resource"], isExtendedResource, kResourceRule);
    driver.device_class = driver.name;
    if (!v["deviceClass"].isNull()) {
      driver.device_class = text("deviceClass", v["deviceClass"], isDnsSubdomain,
                                 fmt::format("write the name of a DeviceClass: {}", kDnsSubdomainRule));
    }
    driver.uuid = qualified("uuidAttribute", v["uuidAttribute"], driver);
    readWhole(v["whole"], driver);
    driver.product = qualified("productAttribute", v["productAttribute"], driver);
    driver.memory = qualified("memoryCapacity", v["memoryCapacity"], driver);
    return driver;
  }
  [[nodiscard]] const std::string& mistake() const { return mistake_; }

 private:
  void wrong(std::string_view field, const Value& seen, std::string_view rule) {
    if (mistake_.empty()) { mistake_ = fmt::format("{}: {} is {}; {}", where_, field, shown(seen), rule); }
  }

  /// It has no other members than these.
  void only(const Value& v, std::string_view field, std::initializer_list<std::string_view> names) {
    for (const auto& [name, value] : v.members()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) { continue; }
      wrong(fmt::format("{}{}{}", field, field.empty() ? "" : ".", name), value,
            fmt::format("no such field; there are {}", fmt::join(names, ", ")));
    }
  }

  std::string text(std::string_view field, const Value& v, bool (*is_fine)(std::string_view),
                   std::string_view rule) {
    if (!v.isString() || !is_fine(v.str())) { wrong(field, v, rule); }
    return std::string{v.str()};
  }

  /// {}: absent.
  model::QualifiedName qualified(std::string_view field, const Value& v, const Driver& driver) {
    if (v.isNull()) { return {}; }
    const std::string_view whole = v.str();
    const auto slash = whole.find('/');
    const bool has_domain = slash != std::string_view::npos;
    const auto domain = has_domain ? whole.substr(0, slash) : std::string_view{driver.name};
    const auto name = has_domain ? whole.substr(slash + 1) : whole;
    if (!isDriverName(domain) || !isIdentifier(name)) { wrong(field, v, kQualifiedRule); }
    return {std::string{domain}, std::string{name}};
  }

  void readWhole(const Value& v, Driver& driver) {
    if (v.isNull()) { return; }
    if (!v.isObject()) { wrong("whole", v, "write a map such as {attribute: type, value: gpu}"); }
    only(v, "whole", {"attribute", "value"});
    if (v["attribute"].isNull()) { wrong("whole.attribute", v["attribute"], kQualifiedRule); }
    driver.kind = qualified("whole.attribute", v["attribute"], driver);
    driver.whole = text(
        "whole.value", v["value"], [](std::string_view one) { return !one.empty(); },
        "write the text that the attribute of a whole GPU has; quote numbers and true");
  }

  std::string where_;
  std::string mistake_;
};

/// It takes the place of the one that is known by its name.
void put(Driver driver, Drivers& into) {
  const auto it =
      std::find_if(into.begin(), into.end(), [&](const Driver& known) { return known.name == driver.name; });
  if (it != into.end()) {
    *it = std::move(driver);
  } else {
    into.push_back(std::move(driver));
  }
}

}  // namespace

Result<Drivers> readDrivers(const Value& file) {
  if (!file["drivers"].isArray()) {
    return fail(Code::Invalid, fmt::format("drivers is {}; write a list of drivers", shown(file["drivers"])));
  }
  for (const auto& [name, value] : file.members()) {
    if (name == "drivers") { continue; }
    return fail(Code::Invalid, fmt::format("{} is {}; no such field; there is drivers", name, shown(value)));
  }
  const json::Array& entries = file["drivers"].items();
  if (entries.size() > kMostDrivers) {
    return fail(Code::Invalid, fmt::format("drivers has {} entries; write {} at most, those of drivers that "
                                           "the cluster has",
                                           entries.size(), kMostDrivers));
  }
  Drivers out = knownDrivers();
  std::set<std::string> names;
  for (const Value& v : entries) {
    DriverReader reader{fmt::format("drivers[{}]", names.size())};
    Driver driver = reader.read(v);
    if (!reader.mistake().empty()) { return fail(Code::Invalid, reader.mistake()); }
    if (!names.insert(driver.name).second) {
      return fail(Code::Invalid,
                  fmt::format("driver {}: it is there twice; write one entry for each driver", driver.name));
    }
    put(std::move(driver), out);
  }
  return out;
}

}  // namespace gs::dra
