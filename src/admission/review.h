// AdmissionReview, the question of an API server to a webhook and its answer (admission.k8s.io, v1 and
// v1beta1; both have the same fields as far as they are read here).
//
// The answer names the version of the question, its uid, and nothing else of it: the API server reads no
// more. A question without a request, of another kind or version, or without a uid is none.
// What is read looks into the Document that it was read from. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/document.h"

namespace gs::admission {

struct Review {
  std::string_view version;  // "admission.k8s.io/v1"
  std::string_view uid;
  std::string_view group;      // of the object's kind, "" for core
  std::string_view kind;       // "Pod"
  std::string_view operation;  // "CREATE", "UPDATE" ..; "" was not said
  std::string_view subresource;
  std::string_view ns;
  std::string_view user;  // who asks
  json::View object;
  json::View old_object;
};

/// Error Invalid: what of it is none of ours, and what would be.
[[nodiscard]] Result<Review> readReview(const json::View& body);

struct Verdict {
  bool allowed = true;
  std::string message{};                // why not
  std::string patch{};                  // a JSON patch (RFC 6902) as text; "": nothing is changed
  std::vector<std::string> warnings{};  // shown to whoever asked; the API server takes 256 bytes of each
};

/// The body of the answer. Warnings have spaces in it in place of characters for which an API server drops
/// them without a word.
[[nodiscard]] std::string printAnswer(const Review& review, const Verdict& verdict);
/// To what is no question.
[[nodiscard]] std::string printRefusal(std::string_view why);

}  // namespace gs::admission
