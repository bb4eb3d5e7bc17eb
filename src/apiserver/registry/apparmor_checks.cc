// AppArmor profiles of pods: in the field, and in the annotation where kubelets before 1.30 look for them.
#include <fmt/format.h>

#include <utility>

#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

/// With a container's name behind it.
constexpr std::string_view kAppArmorNote = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kLocalProfile = "localhost/";

/// As an annotation says it; "": it does not.
std::string noteOfProfile(const Value& profile) {
  const auto type = profile["type"].str();
  if (type == "RuntimeDefault") { return "runtime/default"; }
  if (type == "Unconfined") { return "unconfined"; }
  const Value& file = profile["localhostProfile"];
  return type == "Localhost" && !file.isNull() ? fmt::format("{}{}", kLocalProfile, file.str())
                                               : std::string{};
}

/// Null: the annotation says none that is valid.
Value profileOfNote(std::string_view note) {
  if (note == "runtime/default") { return json::Object{{"type", "RuntimeDefault"}}; }
  if (note == "unconfined") { return json::Object{{"type", "Unconfined"}}; }
  if (!note.starts_with(kLocalProfile)) { return {}; }
  Value profile =
      json::Object{{"type", "Localhost"}, {"localhostProfile", note.substr(kLocalProfile.size())}};
  FieldErrors errors;
  checkAppArmorProfile(profile, "", errors);
  return errors.empty() ? profile : Value{};
}

std::string noteKey(const Value& container) {
  return fmt::format("{}{}", kAppArmorNote, container["name"].str());
}

bool isOfWindows(const Value& pod) { return pod["spec"]["os"]["name"].str() == "windows"; }

bool hasContainer(const Value& spec, std::string_view name) {
  for (const char* part : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Value& c : spec[part].items()) {
      if (c["name"].str() == name) { return true; }
    }
  }
  return false;
}

void checkLocalProfile(const Value& name, const std::string& field, FieldErrors& errors) {
  constexpr std::size_t kMost = 4095;
  if (name.isNull()) {
    errors.push_back(fieldRequired(field, "must be set when AppArmor type is Localhost"));
    return;
  }
  const auto inner = withoutSpace(name.str());
  if (inner.size() != name.str().size()) {
    errors.push_back(fieldInvalid(field, name, "must not be padded with whitespace"));
  } else if (inner.empty()) {
    errors.push_back(fieldRequired(field, "must be set when AppArmor type is Localhost"));
  }
  if (name.str().size() > kMost) {
    errors.push_back({field, "TooLong", fmt::format("Too long: may not be more than {} bytes", kMost)});
  }
}

/// A profile that stands in an annotation too is the same there. `at`: where the field is.
void checkSameProfile(std::string_view note, const Value& profile, const std::string& at,
                      FieldErrors& errors) {
  const auto type = profile["type"].str();
  if (type == "Localhost") {
    if (!note.starts_with(kLocalProfile)) {
      errors.push_back(fieldForbidden(at + ".type", "apparmor type in annotation and field must match"));
    } else if (note != noteOfProfile(profile)) {
      errors.push_back(
          fieldForbidden(at + ".localhostProfile", "apparmor profile in annotation and field must match"));
    }
  } else if ((type == "RuntimeDefault" || type == "Unconfined") && note != noteOfProfile(profile)) {
    errors.push_back(fieldForbidden(at + ".type", "apparmor type in annotation and field must match"));
  }
}

/// From the annotation to the field, or the other way.
void settleContainer(Value& notes, const Value& of_pod, Value& container) {
  const Value own = container["securityContext"]["appArmorProfile"];
  const std::string key = noteKey(container);
  const Value* note = notes.find(key);
  if (note == nullptr) {
    const std::string text = noteOfProfile(own.isNull() ? of_pod : own);
    if (!text.empty()) { notes.set(key, text); }
  } else if (own.isNull()) {
    const Value profile = profileOfNote(note->str());
    if (profile.isNull() || profile == of_pod) { return; }
    container.child("securityContext").set("appArmorProfile", profile);
  }
}

}  // namespace

bool isAppArmorNote(std::string_view key) { return key.starts_with(kAppArmorNote); }

void checkAppArmorProfile(const json::Value& profile, const std::string& field, FieldErrors& errors) {
  if (!profile.isObject()) { return; }
  const auto type = profile["type"].str();
  const Value& name = profile["localhostProfile"];
  if (type == "Localhost") {
    checkLocalProfile(name, field + ".localhostProfile", errors);
  } else if (type == "RuntimeDefault" || type == "Unconfined") {
    if (name.isNull()) { return; }
    errors.push_back(
        fieldInvalid(field + ".localhostProfile", name, "can only be set when AppArmor type is Localhost"));
  } else if (type.empty()) {
    errors.push_back(fieldRequired(field + ".type", "type is required when appArmorProfile is set"));
  } else {
    checkKnown(errors, field + ".type", profile["type"], {"Localhost", "RuntimeDefault", "Unconfined"});
  }
}

void checkAppArmorNotes(const json::Value& pod, const std::string& field, FieldErrors& errors) {
  for (const auto& [key, value] : pod["metadata"]["annotations"].members()) {
    if (!isAppArmorNote(key)) { continue; }
    const std::string at = fmt::format("{}[{}]", field, key);
    const std::string_view name = std::string_view{key}.substr(kAppArmorNote.size());
    if (!hasContainer(pod["spec"], name)) {
      errors.push_back(fieldInvalid(at, Value{name}, "container not found"));
    }
    const auto note = value.str();
    const bool fine =
        note.empty() || note == "runtime/default" || note == "unconfined" || note.starts_with(kLocalProfile);
    if (fine) { continue; }
    errors.push_back(
        fieldInvalid(at, value, fmt::format("invalid AppArmor profile name: {}", goQuote(note))));
  }
}

void checkAppArmorMatches(const json::Value& pod, const std::string& spec_field, FieldErrors& errors) {
  if (isOfWindows(pod)) { return; }
  const Value& of_pod = pod["spec"]["securityContext"]["appArmorProfile"];
  for (const char* part : {"initContainers", "containers"}) {
    const auto& containers = pod["spec"][part].items();
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const Value& own = containers[i]["securityContext"]["appArmorProfile"];
      const Value* note = pod["metadata"]["annotations"].find(noteKey(containers[i]));
      if (note == nullptr) { continue; }
      checkSameProfile(note->str(), own.isNull() ? of_pod : own,
                       fmt::format("{}.{}[{}].securityContext.appArmorProfile", spec_field, part, i), errors);
    }
  }
}

void settleAppArmor(json::Value& pod) {
  if (isOfWindows(pod) || !pod["spec"].isObject()) { return; }
  const Value of_pod = pod["spec"]["securityContext"]["appArmorProfile"];
  Value notes = pod["metadata"]["annotations"];
  for (const char* part : {"initContainers", "containers"}) {
    eachObject(pod.child("spec"), part, [&](Value& container) { settleContainer(notes, of_pod, container); });
  }
  if (!notes.isNull()) { pod.child("metadata").set("annotations", std::move(notes)); }
}

}  // namespace gs::apiserver
