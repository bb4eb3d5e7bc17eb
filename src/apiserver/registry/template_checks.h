// What the kinds with a pod template have in common: their selector and their template. Go values in messages
// as Go prints them.
#pragma once

#include <initializer_list>
#include <string>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// v1.LabelSelector{MatchLabels:map[string]string{"app":"a"}, ...}
[[nodiscard]] std::string goSelector(const json::Value& selector);
/// map[string]string{"app":"a"}
[[nodiscard]] std::string goLabels(const json::Value& labels);

/// What is wrong with a label selector, which is `field`.
[[nodiscard]] FieldErrors checkRequirements(const json::Value& selector, const std::string& field);
/// Adds what is wrong with `spec.selector`. `owner` "deployment": an empty selector is an error of it; "": it
/// may be empty.
/// False: what it selects cannot be said.
[[nodiscard]] bool checkSelector(const json::Value& selector, const char* owner, FieldErrors& errors);
/// The selector must select what the template makes; a missing one selects nothing.
void checkSelects(const json::Value& spec, FieldErrors& errors);
/// Labels and annotations of the template.
void checkTemplateMeta(const json::Value& pod_template, FieldErrors& errors);
/// Each of these members of `object`, which is `field`, is absent or at least 0.
void checkCounts(const json::Value& object, const char* field, std::initializer_list<const char*> names,
                 FieldErrors& errors);

// Of Jobs (job_policy_checks.cc), in `spec`.
void checkFailurePolicy(const json::Value& spec, FieldErrors& errors);
void checkSuccessPolicy(const json::Value& spec, FieldErrors& errors);

}  // namespace gs::apiserver
