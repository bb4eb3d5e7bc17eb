#include "dra/claims/why.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace gs::dra {
namespace {

/// The devices that a way means, whoever has them.
struct Found {
  std::size_t matching = 0;
  std::size_t taken = 0;
  std::size_t tainted = 0;
  std::size_t unserved = 0;
  std::string unserved_why;  // of one of these
  [[nodiscard]] std::size_t free() const { return matching - taken - tainted - unserved; }
};

Found findFor(const Way& way, View& view, Steps& steps) {
  Found out;
  for (std::size_t place = 0; place < view.size(); ++place) {
    if (view.ask(way.matcher, place, steps) != View::Match::Yes) { continue; }
    const Candidate& one = view.at(place);
    ++out.matching;
    if (one.taken) {
      ++out.taken;
    } else if (!one.device->unsupported.empty()) {
      ++out.unserved;
      out.unserved_why = one.device->unsupported;
    } else if (view.tainted(way, place)) {
      ++out.tainted;
    }
  }
  return out;
}

bool servesAlone(const Way& way, const Found& found) {
  return way.all ? found.matching > 0 && found.free() == found.matching : found.free() >= way.count;
}

std::string ofThem(const Found& found) {
  std::string out;
  const auto add = [&out](std::size_t count, std::string_view what) {
    if (count != 0) {
      out += fmt::format("{}{} {} {}", out.empty() ? "" : ", ", count, count == 1 ? "is" : "are", what);
    }
  };
  add(found.taken, "in use");
  add(found.tainted, "tainted");
  add(found.unserved, "not served (" + found.unserved_why + ")");
  return out;
}

/// "needs 2 devices of class gpu.nvidia.com, 1 is free (of 8 that match 7 are in use)"
std::string shortOf(const Way& way, const Found& found) {
  if (found.matching == 0) {
    return fmt::format("needs {} of class {}, none matches", way.all ? "all devices" : "devices",
                       way.device_class);
  }
  const std::string more = fmt::format(" (of {} that match {})", found.matching, ofThem(found));
  if (way.all) {
    return fmt::format("needs all devices of class {}, {} of them {} free{}", way.device_class, found.free(),
                       found.free() == 1 ? "is" : "are", more);
  }
  return fmt::format("needs {} {} of class {}, {} {} free{}", way.count,
                     way.count == 1 ? "device" : "devices", way.device_class, found.free(),
                     found.free() == 1 ? "is" : "are", found.free() == found.matching ? "" : more);
}

std::string constraintsOf(const Plan& plan) {
  std::string out;
  for (const Rule& rule : plan.rules) {
    out += fmt::format("{}{} {}/{} of claim {}", out.empty() ? "" : ", ",
                       rule.distinct ? "distinctAttribute" : "matchAttribute", rule.attribute.domain,
                       rule.attribute.name, plan.claims[rule.claim]);
  }
  return out;
}

}  // namespace

Picked whyNot(const Plan& plan, View& view, Steps& steps) {
  for (const Request& request : plan.requests) {
    std::string ways;
    bool served = false;
    for (const Way& way : request.ways) {
      const Found found = findFor(way, view, steps);
      served = served || servesAlone(way, found);
      ways += fmt::format("{}request {} of claim {} {}", ways.empty() ? "" : "; ", way.name,
                          plan.claims[request.claim], shortOf(way, found));
    }
    if (steps.out()) { break; }
    if (!served) { return {Lack::Devices, {}, std::move(ways)}; }
  }
  if (steps.out()) { return {Lack::Together, {}, "no choice of free devices serves the claims"}; }
  const std::string constraints = constraintsOf(plan);
  return {Lack::Together,
          {},
          constraints.empty()
              ? "each request finds devices, but they are not enough for all of them"
              : "each request finds devices, but no choice of them serves all and meets " + constraints};
}

}  // namespace gs::dra
