// Any bytes: no crash, no hang; what comes out is JSON of a bounded size.
#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"
#include "yaml/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  const auto documents = gs::yaml::toJson(in);
  if (!documents) { return 0; }
  std::size_t out = 0;
  for (const std::string& text : *documents) {
    out += text.size();
    const auto v = gs::json::parse(text);
    // Numbers over the range of a double are YAML, but no value.
    if (!v && v.error().message.find("exponent overflow") == std::string::npos) { __builtin_trap(); }
  }
  if (out > 17 * size + 1000) { __builtin_trap(); }
  return 0;
}
