#include "webhook/pod_mutation.h"

#include <fmt/format.h>

#include <vector>

#include "admission/json_patch.h"
#include "base/utf8.h"
#include "model/annotations.h"
#include "model/map.h"
#include "model/resources.h"

namespace gs::webhook {
namespace {

using admission::JsonPatch;
using json::Object;
using json::Value;
using json::View;

constexpr const char* kVisible = model::kToldVariable;
constexpr const char* kOrder = "CUDA_DEVICE_ORDER";
constexpr const char* kGpuPath = "nvidia.com~1gpu";  // as a JSON pointer writes it

constexpr std::size_t kMostContainers = 1'000;

/// What the entry CUDA_VISIBLE_DEVICES is to be.
class Entry {
 public:
  [[nodiscard]] static Entry literal(std::string_view value) {
    return Entry{Object{{"name", kVisible}, {"value", value}}, true};
  }
  [[nodiscard]] static Entry reference() {
    const std::string path = model::toldPath();
    return Entry{Object{{"name", kVisible}, {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", path}}}}}},
                 false};
  }
  [[nodiscard]] const Value& value() const { return value_; }
  /// Its value alone can take the place of the one that is there.
  [[nodiscard]] bool fitsInto(const View& old) const {
    return is_literal_ && old.find("value") && !old.find("valueFrom");
  }
  [[nodiscard]] bool is(const View& old) const {
    if (is_literal_) {
      // A server leaves an empty value out.
      const bool has_value = old["value"].isString() || !old.find("value");
      return has_value && old["value"].str() == value_["value"].str() && !old.find("valueFrom");
    }
    // A server adds apiVersion to a fieldRef.
    return old["valueFrom"]["fieldRef"]["fieldPath"].str() ==
               value_["valueFrom"]["fieldRef"]["fieldPath"].str() &&
           !old.find("value");
  }

 private:
  Entry(Object value, bool is_literal) : value_{std::move(value)}, is_literal_{is_literal} {}
  Value value_;
  bool is_literal_;
};

Value orderEntry(const std::string& order) { return Object{{"name", kOrder}, {"value", order}}; }

void injectInto(JsonPatch& patch, const std::string& container_path, const View& container,
                const Entry& entry, const std::string& order) {
  const std::string env_path = container_path + "/env";
  const View env = container["env"];
  std::vector<std::size_t> visible;  // where it stands
  bool has_order = order.empty();
  std::size_t at = 0;
  for (const View e : env.items()) {
    const std::string_view name = e["name"].str();
    if (name == kVisible) { visible.push_back(at); }
    has_order = has_order || name == kOrder;
    ++at;
  }
  if (at == 0) {
    json::Array all{entry.value()};
    if (!has_order) { all.push_back(orderEntry(order)); }
    return patch.add(env_path, std::move(all));
  }
  if (visible.empty()) {
    patch.add(env_path + "/-", entry.value());
  } else if (const View old = env.at(visible.front()); !entry.is(old)) {
    const std::string path = fmt::format("{}/{}", env_path, visible.front());
    if (entry.fitsInto(old)) {
      patch.replace(path + "/value", entry.value()["value"]);
    } else {
      patch.replace(path, entry.value());
    }
  }
  for (std::size_t i = visible.size(); i > 1; --i) {
    patch.remove(fmt::format("{}/{}", env_path, visible[i - 1]));
  }
  if (!has_order) { patch.add(env_path + "/-", orderEntry(order)); }
}

void injectIntoAll(JsonPatch& patch, const View& pod, const Entry& entry, const std::string& order) {
  for (const char* list : {"initContainers", "containers"}) {
    std::size_t i = 0;
    for (const View container : pod["spec"][list].items()) {
      injectInto(patch, fmt::format("/spec/{}/{}", list, i++), container, entry, order);
    }
  }
}

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

/// The API server cuts warnings off.
std::string_view shown(std::string_view text) { return utf8Prefix(text, 63); }

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

}  // namespace

admission::Verdict mutatePod(const View& pod, std::string_view ns, const PodRules& rules,
                             const LimitOf& limit_of) {
  admission::Verdict out;
  const View annotations = pod["metadata"]["annotations"];
  const auto claim = annotations.find(model::kClaimKey);
  const auto map = annotations.find(model::kMapKey);
  if (!claim && !map) { return out; }
  const std::string_view scheduler = pod["spec"]["schedulerName"].str();
  if (rules.schedulers.find(scheduler) == rules.schedulers.end()) {
    if (claim) {
      out.warnings.push_back(
          fmt::format("annotation {} is read on pods with spec.schedulerName {} only; this pod "
                      "has '{}', so it gets no GPUs by its claim",
                      model::kClaimKey, *rules.schedulers.begin(), shown(scheduler)));
    }
    return out;
  }
  if (claim && map) {
    out.warnings.push_back(
        fmt::format("the pod asks for GPUs by annotation {} and by annotation {}: it gets none; delete it "
                    "and create it again without one of them",
                    model::kClaimKey, model::kMapKey));
    return out;
  }
  const std::size_t containers = containersOf(pod);
  if (containers > kMostContainers) {
    out.warnings.push_back(tooMuch(fmt::format("{} containers, more than {}", containers, kMostContainers)));
    return out;
  }
  JsonPatch patch;
  if (claim) {
    injectIntoAll(patch, pod, Entry::reference(), rules.device_order);
    const auto count = limit_of ? limit_of(ns, claim->str()) : std::nullopt;
    if (count) { limitTo(patch, pod, *count); }
  } else {
    const auto gpus = mappedGpus(pod, map->str());
    if (!gpus) { return out; }  // why it waits, its scheduler says
    injectIntoAll(patch, pod, Entry::literal(*gpus), rules.device_order);
  }
  if (patch.isTooLong()) {
    out.warnings.push_back(
        tooMuch(fmt::format("entries of env that take more than {} bytes to put right", JsonPatch::kMost)));
    return out;
  }
  out.patch = std::move(patch).text();
  return out;
}

}  // namespace gs::webhook
