#include "kcache/kinds/state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace gs::kcache {
namespace {

struct Words {
  const char* name;
  const char* sentence;
};
/// By State.
constexpr std::array kWords{
    Words{"Pending", "Not yet complete"},
    Words{"Extracted", "The Kernel Cache has been extracted onto the host"},
    Words{"Running", "The Kernel Cache has been extracted and is in use by one or more pods"},
    Words{"Outdated", "The Kernel Cache is in use by one or more pods but newer version exists"},
    Words{"Error", "An error occurred trying to extract the Kernel Cache"},
    Words{"UnloadError", "An error occurred trying to remove the extracted Kernel Cache"},
    Words{"Downloading", "Job to extract Kernel Cache in progress"},
    Words{"Deleting", "Cache instance has been deleted but PVC is still in use by one or more pods"},
    Words{"NoNamespace", "Workload Namespace does not exist"}};

const Words& wordsOf(State state) { return kWords.at(static_cast<std::size_t>(state)); }

constexpr std::string_view kBeforeCause = ": ";
constexpr std::size_t kMostOfCause = 1024;

bool isOneOf(const std::optional<Condition>& condition, State state) {
  return condition && condition->state == state;
}

}  // namespace

const char* nameOf(State state) { return wordsOf(state).name; }

std::optional<State> stateNamed(std::string_view name) {
  for (std::size_t at = 0; at < kWords.size(); ++at) {
    if (name == kWords.at(at).name) { return static_cast<State>(at); }
  }
  return std::nullopt;
}

const char* sentenceOf(State state) { return wordsOf(state).sentence; }

std::string printableCause(std::string_view cause) {
  std::string out;
  for (std::string_view rest = cause.substr(0, kMostOfCause + 4); !rest.empty();) {
    const std::size_t length = utf8Length(rest);
    const std::string_view next = length == 0 ? "?" : rest.substr(0, length);
    if (out.size() + next.size() > kMostOfCause) { break; }
    out += next;
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string messageOf(State state, std::string_view cause) {
  if (cause.empty()) { return sentenceOf(state); }
  return fmt::format("{}{}{}", sentenceOf(state), kBeforeCause, printableCause(cause));
}

std::string_view causeIn(State state, std::string_view message) {
  const std::string_view sentence = sentenceOf(state);
  if (!message.starts_with(sentence)) { return message; }
  message.remove_prefix(sentence.size());
  if (message.starts_with(kBeforeCause)) { message.remove_prefix(kBeforeCause.size()); }
  return message;
}

Counts& Counts::operator+=(const Counts& other) {
  nodes += other.nodes;
  nodes_in_use += other.nodes_in_use;
  nodes_not_in_use += other.nodes_not_in_use;
  nodes_error += other.nodes_error;
  pods_running += other.pods_running;
  pods_outdated += other.pods_outdated;
  return *this;
}

Counts& Counts::operator-=(const Counts& other) {
  nodes -= other.nodes;
  nodes_in_use -= other.nodes_in_use;
  nodes_not_in_use -= other.nodes_not_in_use;
  nodes_error -= other.nodes_error;
  pods_running -= other.pods_running;
  pods_outdated -= other.pods_outdated;
  return *this;
}

Counts countsOf(const Entries& entries, std::string_view present) {
  Counts out{.nodes = 1};
  bool is_extracted = false;
  bool is_in_use = false;
  bool has_error = false;
  for (const auto& [digest, entry] : entries) {
    const bool is_present = digest == present;
    const auto pods = static_cast<std::int64_t>(entry.pods.size());
    (is_present ? out.pods_running : out.pods_outdated) += pods;
    is_in_use |= pods > 0 || isOneOf(entry.condition, State::Running);
    is_extracted |= is_present && isOneOf(entry.condition, State::Extracted);
    has_error |= (is_present && isOneOf(entry.condition, State::Error)) ||
                 isOneOf(entry.condition, State::UnloadError);
  }
  out.nodes_in_use = is_in_use ? 1 : 0;
  out.nodes_not_in_use = is_extracted && !is_in_use ? 1 : 0;
  out.nodes_error = has_error ? 1 : 0;
  return out;
}

}  // namespace gs::kcache
