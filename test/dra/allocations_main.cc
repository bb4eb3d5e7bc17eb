// dra_allocations COUNT SEED: so many drawn cases of claims and a node, each with what src/dra/claims makes
// of it, as lines of JSON: {"slices", "classes", "claims", "taken", "unserved", "verdict", "why", "results"}.
// For compare-allocations. Fails where what is not served is not refused, or not by its name.
//
// Kubernetes takes the first devices that will do and we the last. So devices are given here in the reverse
// order: then both have to choose the same.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dra/claims/claim_plan.h"
#include "json/value.h"
#include "kapi/decode.h"
#include "test/dra/draw_case.h"

namespace gs::dra {
namespace {

constexpr std::uint64_t kSteps = 20'000'000;

struct Answer {
  std::string verdict;  // fits, no, error, refused
  std::string why;
  json::Array results;
};

/// As the allocator of Kubernetes sees pools: those that are not whole, or name a device twice, give nothing.
struct Node {
  std::vector<model::ResourceSlice> slices;
  std::vector<Candidate> devices;
  std::string trouble;

  explicit Node(const DrawnCase& drawn) {
    std::set<model::DeviceName> taken;
    for (const json::Value& one : drawn.taken) {
      taken.insert({std::string{one["driver"].str()}, std::string{one["pool"].str()},
                    std::string{one["device"].str()}});
    }
    for (const json::Value& one : drawn.slices) { slices.push_back(kapi::decodeResourceSlice(one)); }
    std::map<std::pair<std::string, std::string>, std::int64_t> parts;
    std::map<model::DeviceName, int> named;
    std::set<std::pair<std::string, std::string>> odd;
    for (const model::ResourceSlice& slice : slices) {
      ++parts[{slice.driver, slice.pool}];
      for (const model::SliceDevice& device : slice.devices) {
        if (++named[{slice.driver, slice.pool, device.name}] > 1) { odd.insert({slice.driver, slice.pool}); }
      }
    }
    for (const model::ResourceSlice& slice : slices) {
      const std::pair id{slice.driver, slice.pool};
      if (odd.contains(id) || parts[id] != slice.slices) {
        trouble = fmt::format("pool {} of {} is not whole", slice.pool, slice.driver);
        continue;
      }
      for (const model::SliceDevice& device : slice.devices) {
        const model::DeviceName name{slice.driver, slice.pool, device.name};
        devices.push_back({name, &device, taken.contains(name)});
      }
    }
    std::reverse(devices.begin(), devices.end());
  }
};

json::Array resultsOf(const Picked& picked) {
  json::Array out;
  for (const auto& claim : picked.results) {
    json::Array of;
    for (const model::AllocatedDevice& one : claim) {
      of.push_back(json::Object{{"request", one.request},
                                {"driver", one.device.driver},
                                {"pool", one.device.pool},
                                {"device", one.device.device}});
    }
    out.emplace_back(std::move(of));
  }
  return out;
}

/// Whether they fit depends on no order, unless a fault is met on the way: the same devices from their other
/// end have to say so too.
std::string verdictOf(const ClaimPlan& plan, const Node& node, const Picked& picked) {
  std::vector<Candidate> devices = node.devices;
  std::reverse(devices.begin(), devices.end());
  std::uint64_t steps = kSteps;
  const Picked other = plan.pick(devices, steps, node.trouble);
  const auto decided = [](const Picked& one) { return one.lack != Lack::Fault && one.lack != Lack::Steps; };
  if (decided(picked) && decided(other) && picked.fits() != other.fits()) { return "depends on the order"; }
  if (picked.fits()) { return "fits"; }
  return picked.lack == Lack::Fault ? "error" : picked.lack == Lack::Steps ? "undecided" : "no";
}

Answer answerTo(const DrawnCase& drawn) {
  Classes classes;
  for (const json::Value& one : drawn.classes) {
    auto made = std::make_shared<const model::DeviceClass>(kapi::decodeDeviceClass(one));
    classes[made->key.name] = made;
  }
  std::vector<model::ResourceClaim> claims;
  for (const json::Value& one : drawn.claims) { claims.push_back(kapi::decodeResourceClaim(one)); }
  std::vector<const model::ResourceClaim*> all;
  for (const model::ResourceClaim& one : claims) { all.push_back(&one); }
  const auto plan = ClaimPlan::read(all, classes);
  if (!plan) { return {drawn.unserved.empty() ? "error" : "refused", plan.error().message, {}}; }
  const Node node{drawn};
  std::uint64_t steps = kSteps;
  Picked picked = plan->pick(node.devices, steps, node.trouble);
  return {verdictOf(*plan, node, picked), picked.why, resultsOf(picked)};
}

/// False: it is asked for, and not refused by its name. (What comes before it in the claims may be refused.)
bool refusedByName(const DrawnCase& drawn, const Answer& answer) {
  const bool other = answer.why.find("there is no DeviceClass") != std::string::npos ||
                     answer.why.find("need more than 32 devices") != std::string::npos;
  return drawn.unserved.empty() ||
         (answer.verdict == "refused" && (other || answer.why.find(drawn.unserved) != std::string::npos));
}

/// With the devices that we do not serve: so nobody may give them.
json::Array takenOf(const DrawnCase& drawn) {
  json::Array out = drawn.taken;
  for (const json::Value& one : drawn.slices) {
    const model::ResourceSlice slice = kapi::decodeResourceSlice(one);
    for (const model::SliceDevice& device : slice.devices) {
      if (device.unsupported.empty()) { continue; }
      out.push_back(json::Object{{"driver", slice.driver}, {"pool", slice.pool}, {"device", device.name}});
    }
  }
  return out;
}

int run(std::uint64_t count, std::uint64_t seed) {
  for (std::uint64_t number = 0; number < count; ++number) {
    DrawnCase drawn = drawCase(seed, number);
    Answer answer = answerTo(drawn);
    const bool named = refusedByName(drawn, answer);
    json::Array taken = takenOf(drawn);

    const std::string line = json::print(json::Object{{"slices", std::move(drawn.slices)},
                                                      {"classes", std::move(drawn.classes)},
                                                      {"claims", std::move(drawn.claims)},
                                                      {"taken", std::move(taken)},
                                                      {"unserved", drawn.unserved},
                                                      {"verdict", answer.verdict},
                                                      {"why", answer.why},
                                                      {"results", std::move(answer.results)}});
    std::puts(line.c_str());
    if (!named) {
      std::fprintf(stderr, "case %llu: %s is not refused by its name\n",
                   static_cast<unsigned long long>(number + 1), drawn.unserved.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace gs::dra

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: dra_allocations COUNT SEED\n", stderr);
    return 2;
  }
  return gs::dra::run(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
}
