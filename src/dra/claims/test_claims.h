// Nodes and claims as a table of a test writes them down. Included by tests only.
//
// A node: "gpu-0 numa=0; gpu-1 numa=0 taken; nic-0 taint=broken:NoSchedule; gpu-2 part". Driver and pool are
// "d" and "p", attributes are whole numbers; `kind` is what stands before the '-'. "part" is not served.
// A claim: "g=gpu*2 n=nic*1 match:numa"; several: "g=gpu*1; h=gpu*all". A request is name=class*count; ways
// of firstAvailable have names: "g=big:gpu*4|small:gpu*1". Behind it ~key tolerates that taint, ?numa==1
// selects. Constraints: match:numa, distinct:numa, match:numa@g,h/way. The first claim is "ns/0".
// Classes: gpu, nic: of that kind; any; odd: those whose attribute `odd` is 1, an error without it.
#pragma once

#include <charconv>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dra/claims/claim_plan.h"

namespace gs::dra {

/// The parts between separators; none of "".
[[nodiscard]] inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    if (at != 0) { out.emplace_back(text.substr(0, at)); }
    text = at == std::string_view::npos ? "" : text.substr(at + 1);
  }
  return out;
}

/// "numa=1" -> numa, 1; "taken" -> taken, "".
[[nodiscard]] inline std::pair<std::string, std::string> halves(std::string_view text, char at) {
  const std::size_t place = text.find(at);
  if (place == std::string_view::npos) { return {std::string{text}, ""}; }
  return {std::string{text.substr(0, place)}, std::string{text.substr(place + 1)}};
}

[[nodiscard]] inline std::int64_t numberIn(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

struct TestNode {
  std::deque<model::SliceDevice> devices;
  std::vector<Candidate> candidates;

  explicit TestNode(std::string_view text) {
    for (const std::string& one : split(text, ';')) {
      const auto words = split(one, ' ');
      model::SliceDevice& device = devices.emplace_back();
      device.name = words.front();
      device.attributes[{"d", "kind"}] = halves(device.name, '-').first;
      Candidate candidate{{"d", "p", device.name}, &device};
      for (const std::string& word : words) {
        const auto [key, value] = halves(word, '=');
        if (key == "taken") {
          candidate.taken = true;
        } else if (key == "part") {
          device.unsupported = "consumesCounters";
        } else if (key == "list") {
          device.attributes[{"d", value}] = std::monostate{};
        } else if (key == "taint" || key == "laid") {
          const auto [name, effect] = halves(value, ':');
          (key == "taint" ? device.taints : candidate.laid).push_back({name, "v", effect});
        } else if (!value.empty()) {
          device.attributes[{"d", key}] = numberIn(value);
        }
      }
      candidates.push_back(std::move(candidate));
    }
  }
};

[[nodiscard]] inline const Classes& testClasses() {
  static const Classes kClasses = [] {
    Classes out;
    for (const auto& [name, selector] : {std::pair{"gpu", "device.attributes['d'].kind == 'gpu'"},
                                         {"nic", "device.attributes['d'].kind == 'nic'"},
                                         {"odd", "device.attributes['d'].odd == 1"},
                                         {"any", ""},
                                         {"lists", "[1, 2].exists(x, x == 1)"}}) {
      model::DeviceClass made;
      made.key.name = name;
      if (*selector != '\0') { made.selectors.emplace_back(selector); }
      out[name] = std::make_shared<const model::DeviceClass>(std::move(made));
    }
    return out;
  }();
  return kClasses;
}

/// "gpu*2~key?numa==1"
[[nodiscard]] inline model::DeviceSubRequest testWay(std::string_view text) {
  model::DeviceSubRequest out;
  const auto [rest, selector] = halves(text, '?');
  if (!selector.empty()) { out.selectors = {"device.attributes['d']." + selector}; }
  const auto [asked, tolerated] = halves(rest, '~');
  if (!tolerated.empty()) { out.tolerations = {{tolerated, "", "", true}}; }
  const auto [name, count] = halves(asked, '*');
  out.device_class = name;
  out.all = count == "all";
  out.count = out.all ? 0 : numberIn(count);
  return out;
}

[[nodiscard]] inline model::DeviceConstraint testConstraint(std::string_view kind, std::string_view rest) {
  model::DeviceConstraint out;
  const auto [attribute, requests] = halves(rest, '@');
  (kind == "match" ? out.match : out.distinct) = {"d", attribute};
  out.requests = split(requests, ',');
  return out;
}

[[nodiscard]] inline std::vector<model::ResourceClaim> testClaims(std::string_view text) {
  std::vector<model::ResourceClaim> out;
  for (const std::string& one : split(text, ';')) {
    model::ResourceClaim& claim = out.emplace_back();
    claim.key = {"ns", std::to_string(out.size() - 1)};
    for (const std::string& word : split(one, ' ')) {
      const auto [kind, attribute] = halves(word, ':');
      if (kind == "match" || kind == "distinct") {
        claim.constraints.push_back(testConstraint(kind, attribute));
      } else if (word != "empty") {
        const auto [name, ways] = halves(word, '=');
        model::DevicesRequest& request = claim.requests.emplace_back();
        request.name = name;
        for (const std::string& way : split(ways, '|')) {
          const auto [before, behind] = halves(way, ':');
          request.ways.push_back(testWay(behind.empty() ? before : behind));
          if (!behind.empty()) { request.ways.back().name = before; }
        }
      }
    }
  }
  return out;
}

[[nodiscard]] inline Result<ClaimPlan> testPlan(const std::vector<model::ResourceClaim>& claims) {
  std::vector<const model::ResourceClaim*> all;
  for (const auto& claim : claims) { all.push_back(&claim); }
  return ClaimPlan::read(all, testClasses());
}

/// "g:gpu-1 g:gpu-0; h:gpu-2", or what is said instead.
[[nodiscard]] inline std::string textOf(const Picked& picked) {
  if (!picked.fits()) { return picked.why; }
  std::string out;
  for (const auto& claim : picked.results) {
    std::string of;
    for (const auto& one : claim) { of += (of.empty() ? "" : " ") + one.request + ":" + one.device.device; }
    out += (out.empty() ? "" : "; ") + (of.empty() ? "nothing" : of);
  }
  return out;
}

}  // namespace gs::dra
