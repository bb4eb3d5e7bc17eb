#include "k8s/metric_sink.h"

#include <utility>

#include "base/log.h"

namespace gs::k8s {
namespace {

Metrics::Labels labelsOf(const kapi::Metric& metric) { return {metric.labels.begin(), metric.labels.end()}; }

std::string handleKey(const kapi::Metric& metric) {
  std::string key = metric.name;
  for (const auto& [name, value] : metric.labels) {
    key += '\0';
    key += name;
    key += '\0';
    key += value;
  }
  return key;
}

/// False: a metric of this kind has no such operation.
bool applyTo(Counter& counter, const kapi::Metric& metric) {
  if (metric.op != kapi::MetricOp::Add) { return false; }
  counter.add(metric.value);
  return true;
}
bool applyTo(Gauge& gauge, const kapi::Metric& metric) {
  if (metric.op == kapi::MetricOp::Add) {
    gauge.add(metric.value);
    return true;
  }
  if (metric.op != kapi::MetricOp::Set) { return false; }
  gauge.set(metric.value);
  return true;
}
bool applyTo(Histogram& histogram, const kapi::Metric& metric) {
  if (metric.op != kapi::MetricOp::Observe) { return false; }
  histogram.observe(metric.value);
  return true;
}

}  // namespace

MetricSink::MetricSink(Metrics& metrics, const std::vector<MetricSpec>& specs) : metrics_{metrics} {
  for (const MetricSpec& spec : specs) { specs_.emplace(spec.name, spec); }
}

MetricSink::Handle* MetricSink::find(const kapi::Metric& metric) {
  std::string key = handleKey(metric);
  if (const auto known = handles_.find(key); known != handles_.end()) { return &known->second; }
  const auto spec = specs_.find(metric.name);
  if (spec == specs_.end()) { return nullptr; }
  const auto make = [&]() -> Handle {
    switch (spec->second.kind) {
      case MetricKind::Counter: return metrics_.counter(metric.name, spec->second.help, labelsOf(metric));
      case MetricKind::Gauge: return metrics_.gauge(metric.name, spec->second.help, labelsOf(metric));
      case MetricKind::Histogram: break;
    }
    return metrics_.histogram(metric.name, spec->second.help, spec->second.buckets, labelsOf(metric));
  };
  return &handles_.emplace(std::move(key), make()).first->second;
}

void MetricSink::apply(const kapi::Metric& metric) {
  if (metric.op == kapi::MetricOp::Remove) {
    const auto spec = specs_.find(metric.name);
    if (spec == specs_.end() || spec->second.kind != MetricKind::Gauge) {
      misused(metric);
      return;
    }
    handles_.erase(handleKey(metric));
    metrics_.dropGauge(metric.name, labelsOf(metric));
    return;
  }
  Handle* handle = find(metric);
  const auto apply_to = [&](auto& known) { return applyTo(known, metric); };
  if (handle == nullptr || !std::visit(apply_to, *handle)) { misused(metric); }
}

void MetricSink::misused(const kapi::Metric& metric) {
  if (misused_.insert(metric.name).second) {
    log::error("a metric that is not in the table, or is of another kind there; ignored",
               {{"metric", metric.name}});
  }
}

}  // namespace gs::k8s
