#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "base/check.h"
#include "base/mutex.h"

namespace gs {

void Counter::add(double by) { metric_->Increment(by); }
double Counter::value() const { return metric_->Value(); }
void Gauge::set(double value) { metric_->Set(value); }
void Gauge::add(double by) { metric_->Increment(by); }
double Gauge::value() const { return metric_->Value(); }
void Histogram::observe(double value) { metric_->Observe(value); }

struct Metrics::Families {
  template <class T>
  using ByName = std::map<std::string, prometheus::Family<T>*>;

  Mutex mutex;
  ByName<prometheus::Counter> counters GS_GUARDED_BY(mutex);
  ByName<prometheus::Gauge> gauges GS_GUARDED_BY(mutex);
  ByName<prometheus::Histogram> histograms GS_GUARDED_BY(mutex);
  prometheus::Registry registry;

  template <class T, class Builder>
  prometheus::Family<T>& family(ByName<T>& known, Builder build, const std::string& name,
                                const std::string& help) GS_REQUIRES(mutex) {
    auto& found = known[name];
    if (found == nullptr) {
      const auto kinds = counters.count(name) + gauges.count(name) + histograms.count(name);
      GS_CHECK(kinds == 1, "metric {} is used as two different kinds", name);
      found = &build().Name(name).Help(help).Register(registry);
    }
    return *found;
  }
};

Metrics::Metrics() : families_{std::make_unique<Families>()} {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
  MutexLock lock{families_->mutex};
  return Counter{families_->family(families_->counters, prometheus::BuildCounter, name, help).Add(labels)};
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  MutexLock lock{families_->mutex};
  return Gauge{families_->family(families_->gauges, prometheus::BuildGauge, name, help).Add(labels)};
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& buckets, const Labels& labels) {
  MutexLock lock{families_->mutex};
  auto& family = families_->family(families_->histograms, prometheus::BuildHistogram, name, help);
  return Histogram{family.Add(labels, buckets)};
}

void Metrics::dropGauge(const std::string& name, const Labels& labels) {
  MutexLock lock{families_->mutex};
  const auto family = families_->gauges.find(name);
  if (family == families_->gauges.end() || !family->second->Has(labels)) { return; }
  family->second->Remove(&family->second->Add(labels));
}

std::string Metrics::text() const {
  auto collected = families_->registry.Collect();
  std::sort(collected.begin(), collected.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& family : collected) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer{}.Serialize(collected);
}

}  // namespace gs
