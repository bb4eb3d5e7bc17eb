// Validation of metadata and names with kube-apiserver's words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// A name that something is put behind, as the one that is looked at: its dash at the end is none.
[[nodiscard]] std::string asPrefix(std::string_view name);
// What is wrong with a name; empty when nothing.
[[nodiscard]] std::vector<std::string> dnsSubdomainErrors(std::string_view name);
[[nodiscard]] std::vector<std::string> dnsLabelErrors(std::string_view name);
/// DNS-1035: of a Service, or of a version of an API.
[[nodiscard]] std::vector<std::string> serviceNameErrors(std::string_view name);
/// Of a name that stands in the path of a URL.
[[nodiscard]] std::vector<std::string> pathSegmentErrors(std::string_view name);
[[nodiscard]] std::vector<std::string> qualifiedNameErrors(std::string_view name);
[[nodiscard]] std::vector<std::string> labelValueErrors(std::string_view value);
[[nodiscard]] std::vector<std::string> configKeyErrors(std::string_view key);

[[nodiscard]] FieldErrors checkLabels(const json::Value& labels, const std::string& field);

[[nodiscard]] FieldErrors checkAnnotations(const json::Value& annotations, const std::string& field);

/// One of Kubernetes' own, which need no domain.
[[nodiscard]] bool isStandardFinalizer(std::string_view name);

enum class NameRule : std::uint8_t { Subdomain, Label, Service, PathSegment };
/// Core kinds take a finalizer without a domain only if it is one of Kubernetes' own.
enum class FinalizerRule : bool { AnyName, Core };

/// Of an object about to be stored: name, generateName, labels, annotations, owners, finalizers.
[[nodiscard]] FieldErrors checkMeta(const json::Value& meta, NameRule name_rule,
                                    FinalizerRule finalizer_rule);
/// What custom objects are warned of: finalizers that are new and name no domain.
[[nodiscard]] std::vector<std::string> finalizerWarnings(const json::Value& meta, const json::Value& old);
/// What may not change, between the stored and the new metadata.
[[nodiscard]] FieldErrors checkMetaUpdate(const json::Value& meta, const json::Value& old);

}  // namespace gs::apiserver
