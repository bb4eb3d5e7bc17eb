// Metric effects of a machine -> gs::Metrics. Knows each metric's kind, help and buckets from a table that
// its program hands in (serve/combined/metric_specs.h is the scheduler's).
// One thread (the owner's).
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/metrics.h"
#include "kapi/call.h"

namespace gs::k8s {

enum class MetricKind : std::uint8_t { Counter, Gauge, Histogram };

struct MetricSpec {
  std::string name;
  MetricKind kind{};
  std::string help;
  std::vector<double> buckets;  // of a histogram
};

class MetricSink {
 public:
  /// `metrics` must outlive it.
  MetricSink(Metrics& metrics, const std::vector<MetricSpec>& specs);

  /// A name that is not in the table, or an operation that its kind does not have,
  /// is logged once and ignored.
  void apply(const kapi::Metric& metric);

 private:
  using Handle = std::variant<Counter, Gauge, Histogram>;
  Handle* find(const kapi::Metric& metric);
  void misused(const kapi::Metric& metric);

  Metrics& metrics_;
  std::unordered_map<std::string, MetricSpec> specs_;
  std::unordered_map<std::string, Handle> handles_;  // by name and labels
  std::set<std::string> misused_;
};

}  // namespace gs::k8s
