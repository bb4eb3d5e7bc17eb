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
  add(found.taken, "not free");
  add(found.tainted, "tainted");
  add(found.unserved, "not served (" + found.unserved_why + ")");
  return out;
}

/// "needs 2 devices of class gpu.nvidia.com, 1 is free (of 8 that match 7 are not free)"
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

/// Too few devices for this request, of whose first way so many were found.
Picked briefly(const Plan& plan, const Request& request, const Found& first, std::string why) {
  Picked out{Lack::Devices, {}, std::move(why)};
  const Way& way = request.ways.front();
  const std::string asks =
      fmt::format("request {} of claim {} needs", request.name, plan.claims[request.claim]);
  if (request.ways.size() > 1) {
    out.brief =
        fmt::format("{} devices in one of {} ways and finds too few for each", asks, request.ways.size());
  } else if (way.all) {
    out.brief = fmt::format("{} all devices of class {} and {}", asks, way.device_class,
                            first.matching == 0 ? "none matches" : "not all are free");
  } else if (first.matching == 0) {
    out.brief = fmt::format("{} devices of class {} and none matches", asks, way.device_class);
  } else {
    out.brief = fmt::format("{} {} {} of class {}", asks, way.count, way.count == 1 ? "device" : "devices",
                            way.device_class);
    out.need = way.count;
    out.have = first.free();
  }
  return out;
}

}  // namespace

Picked whyNot(const Plan& plan, View& view, Steps& steps) {
  for (const Request& request : plan.requests) {
    std::string ways;
    bool served = false;
    Found first;
    for (const Way& way : request.ways) {
      const Found found = findFor(way, view, steps);
      if (&way == &request.ways.front()) { first = found; }
      served = served || servesAlone(way, found);
      ways += fmt::format("{}request {} of claim {} {}", ways.empty() ? "" : "; ", way.name,
                          plan.claims[request.claim], shortOf(way, found));
    }
    if (steps.out()) { break; }
    if (!served) { return briefly(plan, request, first, std::move(ways)); }
  }
  if (steps.out()) {
    const std::string text = "no choice of free devices serves the claims";
    return {Lack::Together, {}, text, text};
  }
  const std::string constraints = constraintsOf(plan);
  const std::string together =
      constraints.empty() ? "each request finds devices, but they are not enough for all of them"
                          : "each request finds devices, but no choice of them serves all and meets ";
  return {Lack::Together,
          {},
          together + constraints,
          constraints.empty() ? together : together + "the constraints of the claims"};
}

}  // namespace gs::dra
