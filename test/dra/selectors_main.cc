// dra_selectors COUNT SEED: so many drawn selectors, each with a device and what src/cel makes of the two,
// as lines of JSON: {"expression", "device", "ok", "error"}. For compare-selectors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "cel/selector.h"
#include "json/value.h"
#include "test/dra/draw.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: dra_selectors COUNT SEED\n", stderr);
    return 2;
  }
  const std::uint64_t count = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t number = 0; number < count; ++number) {
    gs::dra::DrawnPair pair = gs::dra::draw(seed, number);
    const auto selector = gs::cel::Selector::parse(pair.expression);
    const gs::cel::Outcome outcome = selector ? selector->matches(pair.device.driver, pair.device.device)
                                              : gs::cel::Outcome{false, selector.error().message};
    const std::string line = gs::json::print(gs::json::Object{{"expression", std::move(pair.expression)},
                                                              {"device", std::move(pair.device.object)},
                                                              {"ok", outcome.matches},
                                                              {"error", outcome.error}});
    std::puts(line.c_str());
  }
  return 0;
}
