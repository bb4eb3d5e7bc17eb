// Small rules that many kinds share: names, numbers, addresses and paths within an object, with
// kube-apiserver's words (apimachinery's util/validation). Each adds to `errors` what is wrong with the value
// at `field`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

using Texts = std::vector<std::string>;

void append(FieldErrors& errors, FieldErrors more);
/// Invalid, once for each reason.
void refuseFor(FieldErrors& errors, const std::string& field, const json::Value& value, const Texts& reasons);
[[nodiscard]] FieldError fieldNotFound(std::string field, const json::Value& value);

/// Absent, or at least 0.
void checkNotNegative(FieldErrors& errors, const std::string& field, const json::Value& value);
/// A list of more than so many is an error; true then.
bool hasTooMany(FieldErrors& errors, const std::string& field, const json::Value& list, std::size_t most);
/// One of `known`, of which "" may be one.
void checkKnown(FieldErrors& errors, const std::string& field, const json::Value& value, const Texts& known);
/// Absent, or one of `known`.
void checkKnownIfThere(FieldErrors& errors, const std::string& field, const json::Value& value,
                       const Texts& known);
/// The same, and "" or absent is a value that is missing.
void checkKnownOrMissing(FieldErrors& errors, const std::string& field, const json::Value& value,
                         const Texts& known);

// Of a number or a percentage: "25%".
/// intstr.IntOrString{Type:1, IntVal:0, StrVal:"25%"}
[[nodiscard]] std::string goIntOrString(const json::Value& value);
/// A text is a percentage, a number at least 0.
void checkShare(FieldErrors& errors, const std::string& field, const json::Value& value);
/// A percentage is at most 100%.
void checkNotAboveAll(FieldErrors& errors, const std::string& field, const json::Value& value);

// What is wrong with a text or a number; empty when nothing.
[[nodiscard]] Texts portNumberErrors(std::int64_t port);
[[nodiscard]] Texts portNameErrors(std::string_view name);
[[nodiscard]] Texts envNameErrors(std::string_view name);
[[nodiscard]] Texts headerNameErrors(std::string_view name);
/// Of users and groups.
[[nodiscard]] Texts idErrors(std::int64_t id);
[[nodiscard]] Texts ipErrors(std::string_view ip);
/// Where even a form that Go's readers forgive is an error.
[[nodiscard]] Texts strictIpErrors(std::string_view ip);
[[nodiscard]] Texts cidrErrors(std::string_view cidr);
/// 4 or 6; 0: it is none.
[[nodiscard]] int familyOf(std::string_view ip_or_cidr);
/// No element of it is "..".
[[nodiscard]] Texts backstepErrors(std::string_view path);
/// Relative too.
[[nodiscard]] Texts descendingPathErrors(std::string_view path);
/// And it does not begin with "..", either.
[[nodiscard]] Texts keyPathErrors(std::string_view path);

/// As Go's TrimSpace leaves it.
[[nodiscard]] std::string_view withoutSpace(std::string_view text);
/// []string{"a", "b"}
[[nodiscard]] std::string goTexts(const json::Value& texts, std::string_view type = "string");

}  // namespace gs::apiserver
