#include "test/dra/draw_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "cel/selector.h"
#include "test/dra/draw.h"
#include "test/dra/words.h"

namespace gs::dra {
namespace {

constexpr std::array kDrivers{"d", "e"};
constexpr std::array kPools{"p", "q"};
constexpr std::array kClasses{"any", "some", "few", "odd"};
constexpr std::array kRequests{"r", "s", "t"};
constexpr std::array kWays{"x", "y", "z"};
constexpr std::array kKeys{"k", "l"};
constexpr std::array kValues{"", "v"};
constexpr std::array kEffects{"NoSchedule", "NoExecute", "None"};

json::Object attributeOf(const char* type, json::Value value) {
  return json::Object{{type, std::move(value)}};
}

class CaseDrawing {
 public:
  CaseDrawing(Rng rng, std::uint64_t seed) : rng_{std::move(rng)}, seed_{seed} {}

  DrawnCase draw() {
    crowded_ = rng_.chance(30);
    slices();
    for (const char* name : kClasses) { out_.classes.push_back(deviceClass(name)); }
    for (std::uint64_t n = rng_.chance(60) ? 1 : 2 + rng_.below(2), i = 0; i < n; ++i) {
      out_.claims.push_back(claim(i));
    }
    return std::move(out_);
  }

 private:
  // --- the node

  void slices() {
    for (const char* driver : kDrivers) {
      for (const char* pool : kPools) {
        if (rng_.chance(crowded_ ? 50 : 70)) { poolOf(driver, pool); }
      }
    }
  }

  void poolOf(const std::string& driver, const std::string& pool) {
    const std::uint64_t count = 1 + rng_.below(2);
    const std::uint64_t missing = rng_.chance(2) ? 1 : 0;
    std::vector<std::string> names;
    for (std::uint64_t n = 0; n < 12; ++n) { names.push_back(fmt::format("dev-{}", n)); }
    for (std::uint64_t n = 0; n < count; ++n) {
      json::Array devices;
      for (std::uint64_t of = rng_.below(crowded_ ? 3 : 6); of > 0; --of) {
        const std::size_t at = rng_.below(names.size());
        devices.push_back(device(driver, pool, names[at]));
        if (rng_.below(300) != 0) {
          names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
        }  // else twice
      }
      out_.slices.push_back(
          json::Object{{"metadata", json::Object{{"name", fmt::format("{}-{}-{}", driver, pool, n)}}},
                       {"spec", json::Object{{"driver", driver},
                                             {"pool", json::Object{{"name", pool},
                                                                   {"generation", 1},
                                                                   {"resourceSliceCount", count + missing}}},
                                             {"nodeName", "a"},
                                             {"devices", std::move(devices)}}}});
    }
  }

  json::Object device(const std::string& driver, const std::string& pool, const std::string& name) {
    if (rng_.chance(15)) {
      out_.taken.push_back(json::Object{{"driver", driver}, {"pool", pool}, {"device", name}});
    }
    json::Object made{
        {"name", name},
        {"attributes", attributes(driver)},
        {"capacity", json::Object{{"memory", json::Object{{"value", rng_.chance(50) ? "10Gi" : "20Gi"}}}}}};
    if (rng_.chance(15)) {
      json::Array taints;
      for (std::uint64_t n = 1 + rng_.below(2); n > 0; --n) {
        taints.push_back(json::Object{
            {"key", oneOf(rng_, kKeys)}, {"value", oneOf(rng_, kValues)}, {"effect", oneOf(rng_, kEffects)}});
      }
      made.set("taints", std::move(taints));
    }
    if (rng_.chance(4)) { made.set("allowMultipleAllocations", true); }
    return made;
  }

  /// Of its driver's domain, written short or whole, and of "d", which is another's then.
  json::Object attributes(const std::string& driver) {
    json::Object made;
    const auto add = [&](const char* name, json::Object value) {
      const bool absent = rng_.chance(10);
      const std::string domain = rng_.chance(80) ? "d" : driver;
      const std::string key = domain == driver && rng_.chance(50) ? name : domain + "/" + name;
      if (!absent) { made.set(key, std::move(value)); }
    };
    add("numa", attributeOf("int", rng_.below(2)));
    add("model", attributeOf("string", rng_.chance(70) ? "big" : "small"));
    add("version", attributeOf("version", rng_.chance(50) ? "1.0.0" : rng_.chance(50) ? "1.0.0+b" : "2.0.0"));
    add("ready", attributeOf("bool", rng_.chance(80)));
    add("mixed", rng_.chance(50)   ? attributeOf("int", rng_.below(3))
                 : rng_.chance(50) ? attributeOf("string", rng_.below(2) == 0 ? "0" : "1")
                                   : attributeOf("bool", rng_.chance(50)));
    return made;
  }

  // --- what is asked for

  json::Array selectorsOf(json::Array expressions) {
    json::Array made;
    for (json::Value& one : expressions) {
      made.push_back(json::Object{{"cel", json::Object{{"expression", std::move(one)}}}});
    }
    return made;
  }

  std::string guarded(const std::string& name, const std::string& test) {
    return fmt::format("'{0}' in device.attributes['d'] && device.attributes['d'].{0}{1}", name, test);
  }

  std::string selector() {
    switch (rng_.below(12)) {
      case 0:
      case 9:
      case 10: return "true";
      case 11: return guarded("model", " == 'big'");
      case 1: return rng_.chance(50) ? "device.driver == 'd'" : "device.driver in ['d', 'e']";
      case 2: return guarded("numa", rng_.chance(50) ? " == 0" : " <= 1");
      case 3: return guarded("model", ".startsWith('b')");
      case 4:
        return "!(" + guarded("ready", "") +
               ") || device.capacity[device.driver].memory.isGreaterThan(quantity('5Gi'))";
      case 5: return guarded("version", ".isLessThan(semver('2.0.0'))");
      case 6:
        return rng_.chance(50) ? "device.attributes['d'].mixed != 1" : "device.attributes['d'].numa == 0";
      case 7: return "has(device.attributes['d'].mixed)";
      default: return drawnSelector();
    }
  }

  /// As compare-selectors draws them, if it is served. Of few: Kubernetes takes milliseconds to compile one.

  std::string drawnSelector() {
    for (int tries = 0; tries < 5; ++tries) {
      std::string text = dra::draw(seed_, rng_.below(500)).expression;
      if (text.size() < 300 && cel::Selector::parse(text)) { return text; }
    }
    return "device.driver != ''";
  }

  json::Object deviceClass(const std::string& name) {
    json::Array expressions;
    if (name == "some") { expressions = {selector()}; }
    if (name == "few") { expressions = {selector(), selector()}; }
    if (name == "odd") {
      expressions = {rng_.chance(10) ? "device.attributes['d'].ready" : "device.driver == 'd'"};
    }
    return json::Object{{"metadata", json::Object{{"name", name}}},
                        {"spec", json::Object{{"selectors", selectorsOf(std::move(expressions))}}}};
  }

  json::Object way() {
    json::Object made{{"deviceClassName", rng_.below(400) == 0 ? "missing" : oneOf(rng_, kClasses)}};
    if (rng_.chance(7)) {
      made.set("allocationMode", "All");
    } else {
      made.set("allocationMode", "ExactCount");
      made.set("count", rng_.below(300) == 0 ? 33 : rng_.chance(60) ? 1 : 1 + rng_.below(crowded_ ? 5 : 3));
    }
    if (rng_.chance(25)) {
      json::Array expressions{selector()};
      if (rng_.chance(20)) { expressions.emplace_back(selector()); }
      made.set("selectors", selectorsOf(std::move(expressions)));
    }
    if (rng_.chance(25)) { made.set("tolerations", tolerations()); }
    return made;
  }

  json::Array tolerations() {
    json::Array made;
    for (std::uint64_t n = 1 + rng_.below(2); n > 0; --n) {
      json::Object one{{"operator", rng_.chance(50) ? "Exists" : "Equal"}};
      if (rng_.chance(70)) { one.set("key", oneOf(rng_, kKeys)); }
      if (rng_.chance(50)) { one.set("effect", oneOf(rng_, kEffects)); }
      if (*one.find("operator") == json::Value{"Equal"}) { one.set("value", oneOf(rng_, kValues)); }
      made.push_back(std::move(one));
    }
    return made;
  }

  json::Object request(const std::string& name) {
    if (!rng_.chance(30)) {
      json::Object exactly = way();
      plant(exactly, true);
      return json::Object{{"name", name}, {"exactly", std::move(exactly)}};
    }
    json::Array ways;
    for (std::uint64_t n = 1 + rng_.below(3), i = 0; i < n; ++i) {
      json::Object one = way();
      plant(one, false);
      one.set("name", kWays[i]);
      ways.push_back(std::move(one));
    }
    return json::Object{{"name", name}, {"firstAvailable", std::move(ways)}};
  }

  /// Now and then what is not served.
  void plant(json::Object& way, bool exactly) {
    if (!out_.unserved.empty() || rng_.below(300) != 0) { return; }
    if (*way.find("deviceClassName") == json::Value{"missing"}) { return; }
    if (exactly && rng_.chance(50)) {
      way.set("adminAccess", true);
      out_.unserved = "adminAccess";
    } else if (rng_.chance(50)) {
      way.set("capacity", json::Object{{"requests", json::Object{{"memory", "1Gi"}}}});
      out_.unserved = "capacity";
    } else {
      way.set("selectors", selectorsOf({"[1, 2].exists(x, x == 1)"}));
      out_.unserved = ".exists()";
    }
  }

  json::Object constraint(const json::Array& requests) {
    constexpr std::array kAttributes{"d/numa",  "d/model", "d/version", "d/mixed",
                                     "d/ready", "e/numa",  "d/none"};
    const std::size_t which = rng_.chance(50) ? rng_.below(2) : rng_.below(kAttributes.size());
    json::Object made{{rng_.chance(75) ? "matchAttribute" : "distinctAttribute", kAttributes[which]}};
    if (rng_.chance(60)) { return made; }
    json::Array named;
    for (const json::Value& one : requests) {
      if (rng_.chance(50)) { continue; }
      std::string name{one["name"].str()};
      const auto& ways = one["firstAvailable"].items();
      if (!ways.empty() && rng_.chance(60)) {
        name += "/" + std::string{ways[rng_.below(ways.size())]["name"].str()};
      }
      named.emplace_back(std::move(name));
    }
    if (!named.empty()) { made.set("requests", std::move(named)); }
    return made;
  }

  json::Object claim(std::uint64_t number) {
    if (number > 0 && rng_.chance(25)) {  // as from one template
      json::Value again = out_.claims.back();
      again.child("metadata").set("name", fmt::format("claim-{}", number));
      return again.members();
    }
    json::Array requests;
    for (std::uint64_t n = rng_.chance(3) ? 0 : rng_.chance(60) ? 1 : 2 + rng_.below(2), i = 0; i < n; ++i) {
      const bool as_before = i > 0 && rng_.chance(25);
      json::Object one = as_before ? requests.back().members() : request(kRequests[i]);
      one.set("name", kRequests[i]);
      requests.push_back(std::move(one));
    }
    json::Array constraints;
    for (std::uint64_t n = rng_.chance(40) ? (rng_.chance(70) ? 1 : 2) : 0; n > 0; --n) {
      constraints.push_back(constraint(requests));
    }
    return json::Object{
        {"metadata", json::Object{{"namespace", "ns"}, {"name", fmt::format("claim-{}", number)}}},
        {"spec", json::Object{{"devices", json::Object{{"requests", std::move(requests)},
                                                       {"constraints", std::move(constraints)}}}}}};
  }

  Rng rng_;
  std::uint64_t seed_;
  bool crowded_ = false;
  DrawnCase out_;
};

/// How many choices there may be for one way.
double choicesOf(double devices, const json::Value& way) {
  double out = 1;
  const double count = way["allocationMode"].str() == "All" ? 0 : static_cast<double>(way["count"].intOr(0));
  for (double n = 0; n < std::min(count, devices); ++n) { out *= (devices - n) / (n + 1); }
  return out;
}

/// How many choices the allocator of Kubernetes may have to try, which knows few shortcuts.
double choicesOf(const DrawnCase& drawn) {
  double devices = 0;
  for (const json::Value& slice : drawn.slices) {
    devices += static_cast<double>(slice["spec"]["devices"].items().size());
  }
  double out = 1;
  for (const json::Value& claim : drawn.claims) {
    for (const json::Value& request : claim["spec"]["devices"]["requests"].items()) {
      double ways = request["exactly"].isObject() ? choicesOf(devices, request["exactly"]) : 0;
      for (const json::Value& way : request["firstAvailable"].items()) { ways += choicesOf(devices, way); }
      out *= ways;
    }
  }
  return out;
}

}  // namespace

DrawnCase drawCase(std::uint64_t seed, std::uint64_t number) {
  constexpr double kMostChoices = 50'000;
  Rng rng{seed * 1'000'003 + number};
  DrawnCase out = CaseDrawing{rng.split(), seed}.draw();
  while (choicesOf(out) > kMostChoices) { out = CaseDrawing{rng.split(), seed}.draw(); }
  return out;
}

}  // namespace gs::dra
