#include "apiserver/handlers/call.h"

#include <utility>

namespace gs::apiserver {
namespace {

const char* optionsKind(const std::string& method) {
  if (method == "DELETE") { return "DeleteOptions"; }
  return method == "POST" ? "CreateOptions" : method == "PUT" ? "UpdateOptions" : "PatchOptions";
}

}  // namespace

Response toResponse(const ApiError& error) {
  if (error.text) { return {error.code, {}, error.message + "\n"}; }
  return {error.code, statusBody(error)};
}

Done readOptions(Call& call) {
  const std::string dry = call.query("dryRun");
  const std::string checking = call.query("fieldValidation");
  const std::string& method = call.request.method;
  FieldErrors errors;
  if (!dry.empty() && dry != "All") {
    errors.push_back(fieldNotSupported("dryRun", json::Value{dry}, {"All"}));
  }
  if (!checking.empty() && checking != "Ignore" && checking != "Strict" && checking != "Warn") {
    errors.push_back(
        fieldNotSupported("fieldValidation", json::Value{checking}, {"", "Ignore", "Strict", "Warn"}));
  }
  if (!errors.empty() && method != "GET") {
    return invalidKind(optionsKind(method), "meta.k8s.io", "", errors);
  }
  call.dry_run = dry == "All";
  call.checking = checking == "Strict"   ? Checking::Strict
                  : checking == "Ignore" ? Checking::Ignore
                                         : Checking::Warn;
  return {};
}

}  // namespace gs::apiserver
