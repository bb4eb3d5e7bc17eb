#include "apiserver/admission/admission.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gs::apiserver {
namespace {

Refused internalError(const std::string& why) {
  return refuse(500, "InternalError", "Internal error occurred: " + why);
}

void moveWarnings(AdmissionResponse& from, std::vector<std::string>& to) {
  std::move(from.warnings.begin(), from.warnings.end(), std::back_inserter(to));
}

}  // namespace

std::optional<AdmissionResponse> AdmissionPlugin::mutate(const AdmissionRequest&, json::Value&) {
  return AdmissionResponse{};
}

std::optional<AdmissionResponse> AdmissionPlugin::validate(const AdmissionRequest&, const json::Value&) {
  return AdmissionResponse{};
}

void AdmissionNotes::answer(AdmissionResponse response) {
  GS_CHECK(waits(), "request {} waits for no admission plugin", request_id_);
  notes_.back().response = std::move(response);
}

const AdmissionResponse* AdmissionNotes::find(Pass pass, std::size_t plugin, const AdmissionRequest& request,
                                              const json::Value& object) const {
  const auto it = std::find_if(notes_.begin(), notes_.end(), [&](const Note& n) {
    return n.pass == pass && n.plugin == plugin && n.next == request.next && n.object == object &&
           n.old == request.old;
  });
  return it == notes_.end() ? nullptr : &*it->response;
}

/// `ask` asks the plugin.
template <class Ask>
Answer<AdmissionResponse> Admission::ask(AdmissionNotes& notes, Pass pass, std::size_t plugin,
                                         const AdmissionRequest& request, const json::Value& object,
                                         Ask ask) const {
  if (const auto* known = notes.find(pass, plugin, request, object)) { return *known; }
  auto response = ask(*plugins_[plugin]);
  if (response) { return *std::move(response); }
  if (notes.requestId() == 0) {
    return internalError("an admission plugin did not answer at once, and nobody can wait for it");
  }
  notes.notes_.push_back({pass, plugin, object, request.old, request.next});
  return internalError("an admission plugin did not answer yet");
}

Done Admission::mutate(AdmissionNotes& notes, const AdmissionRequest& request, json::Value& object,
                       const Decode& decode, std::vector<std::string>& warnings) const {
  for (std::size_t i = 0; i < plugins_.size(); ++i) {
    if (auto done = mutateBy(i, notes, request, object, decode, warnings); !done) { return done; }
  }
  return {};
}

Done Admission::mutateBy(std::size_t plugin, AdmissionNotes& notes, AdmissionRequest request,
                         json::Value& object, const Decode& decode,
                         std::vector<std::string>& warnings) const {
  do {
    auto response = ask(notes, Pass::Mutating, plugin, request, object,
                        [&](AdmissionPlugin& asked) { return asked.mutate(request, object); });
    if (!response) { return tl::unexpected(response.error()); }
    moveWarnings(*response, warnings);
    if (response->refused) { return tl::unexpected(*std::move(response->refused)); }
    request.next = std::move(response->next);
    if (!response->object || object.isNull()) { continue; }
    auto decoded = decode(*std::move(response->object));
    if (!decoded) { return internalError(decoded.error().message); }
    object = *std::move(decoded);
  } while (!request.next.isNull());
  return {};
}

Done Admission::validate(AdmissionNotes& notes, const AdmissionRequest& request, const json::Value& object,
                         std::vector<std::string>& warnings) const {
  for (std::size_t i = 0; i < plugins_.size(); ++i) {
    auto response = ask(notes, Pass::Validating, i, request, object,
                        [&](AdmissionPlugin& plugin) { return plugin.validate(request, object); });
    if (!response) { return tl::unexpected(response.error()); }
    moveWarnings(*response, warnings);
    if (response->refused) { return tl::unexpected(*std::move(response->refused)); }
  }
  return {};
}

}  // namespace gs::apiserver
