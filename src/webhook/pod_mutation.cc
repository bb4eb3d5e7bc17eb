#include "webhook/pod_mutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "admission/json_patch.h"
#include "base/mutant.h"
#include "base/utf8.h"
#include "model/annotations.h"
#include "model/map.h"
#include "model/resources.h"
#include "webhook/pod_gate.h"

namespace gs::webhook {
namespace {

using admission::JsonPatch;
using json::Object;
using json::Value;
using json::View;

constexpr const char* kVisible = model::kToldVariable;
constexpr const char* kOrder = model::kOrderVariable;
constexpr const char* kGpuPath = "nvidia.com~1gpu";  // as a JSON pointer writes it

constexpr std::size_t kMostContainers = 1'000;

/// Variables by which a container is shown some of its node's GPUs, which it then counts from 0.
constexpr std::array kPickers{"NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                              "GPU_DEVICE_ORDINAL"};

/// An entry of env as it is to be.
class Entry {
 public:
  [[nodiscard]] static Entry literal(const char* name, std::string_view value) {
    return Entry{Object{{"name", name}, {"value", value}}};
  }
  [[nodiscard]] static Entry reference() {
    const std::string path = model::toldPath();
    return Entry{
        Object{{"name", kVisible}, {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", path}}}}}}};
  }
  [[nodiscard]] const Value& value() const { return value_; }
  [[nodiscard]] std::string_view name() const { return value_["name"].str(); }
  /// It says the same, under whatever name.
  [[nodiscard]] bool saysAs(const View& other) const {
    if (!value_.find("valueFrom")) {
      // A server leaves an empty value out.
      const bool has_value = other["value"].isString() || !other.find("value");
      return has_value && other["value"].str() == value_["value"].str() && !other.find("valueFrom");
    }
    // A server adds apiVersion to a fieldRef.
    return other["valueFrom"]["fieldRef"]["fieldPath"].str() ==
               value_["valueFrom"]["fieldRef"]["fieldPath"].str() &&
           !other.find("value");
  }

 private:
  explicit Entry(Object value) : value_{std::move(value)} {}
  Value value_;
};
using Entries = std::vector<Entry>;

Entries entriesOf(Entry visible, const std::string& order) {
  Entries out{std::move(visible)};
  if (!order.empty()) { out.push_back(Entry::literal(kOrder, order)); }
  return out;
}

/// What stands at `path` under the name of `wanted` says what that says.
void putRight(JsonPatch& patch, const std::string& path, const View& old, const Entry& wanted) {
  if (wanted.saysAs(old)) { return; }
  if (wanted.value().find("value") && old.find("value") && !old.find("valueFrom")) {
    return patch.replace(path + "/value", wanted.value()["value"]);
  }
  patch.replace(path, wanted.value());
}

/// `first` become the first entries of the container's env, and the only ones of their names.
void injectInto(JsonPatch& patch, const std::string& env_path, const View& env, const Entries& first) {
  if (env.items().size() == 0) {
    json::Array all;
    for (const Entry& entry : first) { all.push_back(entry.value()); }
    return patch.add(env_path, std::move(all));
  }
  std::size_t right = 0;           // of `first`, these stand as they should
  std::vector<std::size_t> to_go;  // others of their names
  std::size_t at = 0;
  for (const View e : env.items()) {
    const std::string_view name = e["name"].str();
    if (at == right && right < first.size() && name == first[right].name()) {
      putRight(patch, fmt::format("{}/{}", env_path, at), e, first[right++]);
    } else if (std::any_of(first.begin(), first.end(), [&](const Entry& f) { return name == f.name(); })) {
      to_go.push_back(at);
    }
    ++at;
  }
  for (auto i = to_go.rbegin(); i != to_go.rend(); ++i) { patch.remove(fmt::format("{}/{}", env_path, *i)); }
  for (; right < first.size(); ++right) {
    const std::string place = GS_MUTANT(AppendsVariables) ? "-" : fmt::format("{}", right);
    patch.add(fmt::format("{}/{}", env_path, place), first[right].value());
  }
}

/// Of several entries of a name the last counts; null: there is none.
View lastOf(const View& env, std::string_view name) {
  View out;
  for (const View e : env.items()) {
    if (e["name"].str() == name) { out = e; }
  }
  return out;
}

/// The API server cuts warnings off.
std::string_view shown(std::string_view text) { return utf8Prefix(text, 63); }

/// "container a", "container a and 2 more": the first of those that do something, and how many more.
class Doers {
 public:
  void add(const View& container, std::string what) {
    if (count_++ > 0) { return; }
    first_ = shown(container["name"].str());
    what_ = std::move(what);
  }
  [[nodiscard]] bool any() const { return count_ > 0; }
  [[nodiscard]] std::string text() const {
    const char* verb = count_ > 1 ? "set" : "sets";
    const std::string more = count_ > 1 ? fmt::format(" and {} more", count_ - 1) : "";
    return fmt::format("container {}{} {} {}", first_, more, verb, what_);
  }

 private:
  std::string first_;
  std::string what_;  // of the first
  std::size_t count_ = 0;
};

/// `NAME="value"`, `NAME by valueFrom`
std::string setting(const View& entry) {
  const std::string_view name = entry["name"].str();
  return entry.find("valueFrom") ? fmt::format("{} by valueFrom", name)
                                 : fmt::format("{}=\"{}\"", name, utf8Prefix(entry["value"].str(), 16));
}

/// What a variable by which a container is shown some GPUs does to what it is told.
enum class Picks : std::uint8_t { Nothing, TheSame, Others };

/// 0 to n-1: so they are counted too where only those are shown.
bool isFromZero(const Entry& told) {
  const auto ids =
      told.value().find("value") ? model::parseMapGpus(told.value()["value"].str()) : fail(Code::Invalid, "");
  return ids && (ids->empty() || ids->back() == static_cast<int>(ids->size()) - 1);
}

Picks picksOf(const View& entry, const Entry& told) {
  if (!entry.isObject()) { return Picks::Nothing; }
  const bool is_same =
      told.saysAs(entry) || (!entry.find("valueFrom") && entry["value"].str() == "$(CUDA_VISIBLE_DEVICES)");
  if (is_same) { return isFromZero(told) ? Picks::Nothing : Picks::TheSame; }
  if (entry.find("valueFrom")) { return Picks::Others; }
  constexpr std::array kHarmless{"", "all", "none", "void"};
  const bool is_harmless =
      std::find(kHarmless.begin(), kHarmless.end(), entry["value"].str()) != kHarmless.end();
  return is_harmless ? Picks::Nothing : Picks::Others;
}

/// The containers of a pod are told their GPUs, one after the other.
class Injection {
 public:
  Injection(Entry visible, const PodRules& rules)
      : rules_{rules}, first_{entriesOf(std::move(visible), rules.device_order)} {}

  void into(const char* list, std::size_t index, const View& container) {
    const View env = container["env"];
    injectInto(patch, fmt::format("/spec/{}/{}/env", list, index), env, first_);
    const View own = lastOf(env, kVisible);
    if (own.isObject() && !first_.front().saysAs(own)) { visible_.add(container, setting(own)); }
    const View order = lastOf(env, kOrder);
    if (first_.size() > 1 && order.isObject() && !first_.back().saysAs(order)) {
      orders_.add(container, setting(order));
    }
    for (const char* name : kPickers) {
      const Picks picks = picksOf(lastOf(env, name), first_.front());
      if (picks == Picks::Nothing) { continue; }
      (picks == Picks::Others ? pickers_ : same_).add(container, name);
      break;
    }
  }
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> out;
    if (visible_.any()) {
      out.push_back(fmt::format("{}, replaced by the GPUs that the pod gets; leave it out", visible_.text()));
    }
    if (orders_.any()) {
      out.push_back(
          fmt::format("{}, replaced by \"{}\": ids in {} are of that order, and would mean other "
                      "pods' GPUs; leave it out",
                      orders_.text(), utf8Prefix(rules_.device_order, 16), kVisible));
    }
    if (pickers_.any()) {
      out.push_back(
          fmt::format("{}: the GPUs that it shows are counted from 0, so the ids in {} may mean "
                      "other pods' GPUs; leave it out",
                      pickers_.text(), kVisible));
    }
    if (same_.any()) {
      out.push_back(
          fmt::format("{} to what {} says: where that is ids and not UUIDs, it is shown those GPUs counted "
                      "from 0, and the ids then mean others, or none; leave it out",
                      same_.text(), kVisible));
    }
    return out;
  }

  JsonPatch patch;

 private:
  const PodRules& rules_;
  Entries first_;
  Doers visible_;
  Doers orders_;
  Doers pickers_;
  Doers same_;
};

bool asksForGpus(const View& pod) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const View container : pod["spec"][list].items()) {
      const View resources = container["resources"];
      if (resources["limits"].find(model::kNvidiaGpu) || resources["requests"].find(model::kNvidiaGpu)) {
        return true;
      }
    }
  }
  return false;
}

/// To its first container: who asks elsewhere already is left alone.
void limitTo(JsonPatch& patch, const View& pod, std::int64_t count) {
  const View first = pod["spec"]["containers"].at(0);
  if (!first.isObject() || asksForGpus(pod)) { return; }
  const Value amount = std::to_string(count);
  const std::string path = "/spec/containers/0/resources";
  if (!first["resources"].isObject()) {
    patch.add(path, Object{{"limits", Object{{model::kNvidiaGpu, amount}}}});
  } else if (!first["resources"]["limits"].isObject()) {
    patch.add(path + "/limits", Object{{model::kNvidiaGpu, amount}});
  } else {
    patch.add(path + "/limits/" + kGpuPath, amount);
  }
}

std::size_t containersOf(const View& pod) {
  return pod["spec"]["initContainers"].items().size() + pod["spec"]["containers"].items().size();
}

std::string tooMuch(const std::string& what) {
  return fmt::format("the pod has {}: its containers are left as they are, and are not told their GPUs by {}",
                     what, kVisible);
}

/// What the map says of this pod, as it stands there; nullopt: nothing that its scheduler would give it.
std::optional<std::string> mappedGpus(const View& pod, std::string_view map) {
  const View meta = pod["metadata"];
  const auto ordinal = model::ordinalOf(meta["name"].str(), meta["generateName"].str());
  auto entry = ordinal ? model::readMap(map, *ordinal).entry : std::nullopt;
  if (!entry || !model::parseMapGpus(entry->gpus)) { return std::nullopt; }
  return std::move(entry->gpus);
}

/// What its containers are told; nullopt: they are left as they are, and `out` says why where nobody else
/// does.
std::optional<Entry> toldOf(const View& pod, const PodRules& rules, admission::Verdict& out) {
  const View annotations = pod["metadata"]["annotations"];
  const auto claim = annotations.find(model::kClaimKey);
  const auto map = annotations.find(model::kMapKey);
  if (!claim && !map) { return std::nullopt; }
  const std::string_view scheduler = pod["spec"]["schedulerName"].str();
  if (rules.schedulers.find(scheduler) == rules.schedulers.end()) {
    if (claim) {
      out.warnings.push_back(
          fmt::format("annotation {} is read on pods with spec.schedulerName {} only; this pod "
                      "has '{}', so it gets no GPUs by its claim",
                      model::kClaimKey, *rules.schedulers.begin(), shown(scheduler)));
    }
    return std::nullopt;
  }
  if (claim && map) {
    out.warnings.push_back(
        fmt::format("the pod asks for GPUs by annotation {} and by annotation {}: it gets none; delete it "
                    "and create it again without one of them",
                    model::kClaimKey, model::kMapKey));
    return std::nullopt;
  }
  const std::size_t containers = containersOf(pod);
  if (containers > kMostContainers) {
    out.warnings.push_back(tooMuch(fmt::format("{} containers, more than {}", containers, kMostContainers)));
    return std::nullopt;
  }
  if (claim) { return Entry::reference(); }
  const auto given = annotations.find(model::kVisibleDevicesKey);
  if (given && !pod["spec"]["nodeName"].str().empty()) {  // its map may have been edited since
    return Entry::literal(kVisible, given->str());
  }
  const auto gpus = mappedGpus(pod, map->str());
  return gpus ? std::optional{Entry::literal(kVisible, *gpus)}
              : std::nullopt;  // why it waits, its scheduler says
}

/// `gate`: the pod's, as a patch of its own.
void finish(Injection&& injection, JsonPatch&& gate, admission::Verdict& out) {
  if (injection.patch.isTooLong()) {
    out.warnings.push_back(
        tooMuch(fmt::format("entries of env that take more than {} bytes to put right", JsonPatch::kMost)));
    out.patch = std::move(gate).text();
    return;
  }
  out.warnings = injection.warnings();
  out.patch = std::move(injection.patch).text();
}

}  // namespace

admission::Verdict mutatePod(const View& pod, std::string_view ns, const PodRules& rules,
                             const LimitOf& limit_of) {
  admission::Verdict out;
  JsonPatch gate;
  const bool is_gated = rules.gate && isToHaveGate(pod, rules.schedulers);
  if (Status fine = is_gated ? addGate(gate, pod) : Status{}; !fine) {
    out.allowed = false;
    out.message = fine.error().message;
    return out;
  }
  auto told = toldOf(pod, rules, out);
  if (!told) {
    out.patch = std::move(gate).text();
    return out;
  }
  Injection injection{*std::move(told), rules};
  if (is_gated) { static_cast<void>(addGate(injection.patch, pod)); }  // it can have one, as seen
  for (const char* list : {"initContainers", "containers"}) {
    std::size_t i = 0;
    for (const View container : pod["spec"][list].items()) { injection.into(list, i++, container); }
  }
  const auto claim = pod["metadata"]["annotations"].find(model::kClaimKey);
  const auto count = claim && limit_of ? limit_of(ns, claim->str()) : std::nullopt;
  if (count) { limitTo(injection.patch, pod, *count); }
  finish(std::move(injection), std::move(gate), out);
  return out;
}

admission::Verdict mutateLateContainers(const View& pod, const View& old, const PodRules& rules) {
  admission::Verdict out;
  auto told = toldOf(pod, rules, out);
  if (!told) { return {}; }  // what is odd about the pod was said when it was created
  constexpr const char* kList = "ephemeralContainers";
  std::set<std::string_view> there;
  for (const View container : old["spec"][kList].items()) { there.insert(container["name"].str()); }
  Injection injection{*std::move(told), rules};
  std::size_t i = 0;
  for (const View container : pod["spec"][kList].items()) {
    if (!there.contains(container["name"].str())) { injection.into(kList, i, container); }
    ++i;
  }
  finish(std::move(injection), {}, out);
  return out;
}

}  // namespace gs::webhook
