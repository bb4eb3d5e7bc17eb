#include "model/vcuda.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "model/annotations.h"

namespace gs::model {
namespace {

constexpr std::size_t kMaxContainerIndex = 10'000;  // far more than a pod can have

/// As Go's strconv: digits, nothing around them; a sign is read where the type has one.
template <class Number>
std::optional<Number> numberOf(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') { text.remove_prefix(1); }
  Number n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional{n} : std::nullopt;
}

/// "0,1"; nullopt: some word is no number. Numbers that no device can have are left out.
std::optional<std::vector<int>> idsOf(std::string_view text) {
  std::vector<int> ids;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != std::string_view::npos;
    const auto id = numberOf<std::int64_t>(text.substr(0, comma));
    if (!id) { return std::nullopt; }
    if (*id >= 0 && *id <= kMaxDeviceId) { ids.push_back(static_cast<int>(*id)); }
    text.remove_prefix(more ? comma + 1 : text.size());
  }
  return ids;
}

/// The container that an ids key is about. gpu-manager makes the key of the number: "07" is nobody's.
std::optional<std::size_t> containerOf(std::string_view key) {
  const auto digits = key.substr(std::string_view{kVcudaIdsKey}.size());
  const bool is_plain = digits == "0" || (!digits.empty() && digits[0] >= '1' && digits[0] <= '9');
  const auto index = is_plain ? numberOf<std::size_t>(digits) : std::nullopt;
  return index && *index <= kMaxContainerIndex ? index : std::nullopt;
}

/// The ids that are written of each container below `containers`. Calls fn(container, ids), in no order.
/// Those of a few are looked up: a pod may have thousands of such annotations of containers that it does not
/// have. Looking up those of thousands takes milliseconds: they are walked over.
template <class Fn>
void eachIds(const Annotations& annotations, std::size_t containers, const Fn& fn) {
  constexpr std::size_t kFew = 64;
  for (std::size_t i = 0; containers <= kFew && i < containers; ++i) {
    const auto it = annotations.find(kVcudaIdsKey + std::to_string(i));
    auto ids = it == annotations.end() ? std::nullopt : idsOf(it->second);
    if (ids) { fn(i, *std::move(ids)); }
  }
  if (containers <= kFew) { return; }
  for (auto it = annotations.lower_bound(kVcudaIdsKey);
       it != annotations.end() && it->first.starts_with(kVcudaIdsKey); ++it) {
    const auto container = containerOf(it->first);
    if (!container || *container >= containers) { continue; }
    if (auto ids = idsOf(it->second)) { fn(*container, *std::move(ids)); }
  }
}

const std::string* valueOf(const Annotations& annotations, const char* key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? nullptr : &it->second;
}

std::int64_t saturatingSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) { return sum; }
  return b > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

VcudaLimits sumOf(const std::vector<ShareAmounts>& containers) {
  VcudaLimits sum;
  for (const ShareAmounts& container : containers) {
    const VcudaLimits one = vcudaOf(container);
    sum.cores = saturatingSum(sum.cores, one.cores);
    sum.memory = saturatingSum(sum.memory, one.memory);
  }
  return sum;
}

bool isVcudaAssigned(const Annotations& annotations) {
  const auto* assigned = valueOf(annotations, kVcudaAssignedKey);
  return assigned != nullptr && *assigned != "false";
}

namespace {

VcudaNote withoutIds(const Annotations& annotations) {
  VcudaNote note;
  if (const auto* node = valueOf(annotations, kVcudaNodeKey)) { note.node = NodeName{*node}; }
  if (const auto* time = valueOf(annotations, kVcudaTimeKey)) { note.time = numberOf<std::uint64_t>(*time); }
  note.assigned = isVcudaAssigned(annotations);
  return note;
}

}  // namespace

std::vector<std::vector<int>> vcudaIds(const Annotations& annotations, std::size_t containers) {
  std::vector<std::vector<int>> all(containers);
  eachIds(annotations, containers,
          [&](std::size_t container, std::vector<int> ids) { all[container] = std::move(ids); });
  return all;
}

VcudaNote readVcudaNote(const Annotations& annotations, std::size_t containers) {
  VcudaNote note = withoutIds(annotations);
  eachIds(annotations, containers, [&](std::size_t container, std::vector<int> ids) {
    note.ids[static_cast<int>(container)] = std::move(ids);
  });
  return note;
}

VcudaNote readVcudaNote(const Annotations& annotations) {
  return readVcudaNote(annotations, kMaxContainerIndex + 1);
}

Annotations printVcudaNote(const VcudaNote& note) {
  Annotations out{{kVcudaNodeKey, note.node.text}, {kVcudaAssignedKey, "false"}};
  if (note.time) { out[kVcudaTimeKey] = std::to_string(*note.time); }
  for (const auto& [container, ids] : note.ids) {
    out[kVcudaIdsKey + std::to_string(container)] = printIds(ids);
  }
  return out;
}

std::vector<std::string> vcudaKeys(const Annotations& annotations, const Annotations& but) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : annotations) {
    const bool ours = key == kVcudaNodeKey || key == kVcudaTimeKey || key == kVcudaAssignedKey ||
                      key.starts_with(kVcudaIdsKey);
    if (ours && !but.contains(key)) { keys.push_back(key); }
  }
  return keys;
}

bool wasPredicated(const Annotations& annotations) {
  return std::any_of(annotations.begin(), annotations.end(), [](const auto& annotation) {
    const auto has = [&](const char* key) { return annotation.first.find(key) != std::string::npos; };
    return has(kVcudaAssignedKey) || has(kVcudaTimeKey) || has(kVcudaIdsKey);
  });
}

}  // namespace gs::model
