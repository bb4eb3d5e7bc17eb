// Counters, gauges and histograms by name and labels, and their text for GET /metrics. One Metrics per
// process, made in apps and handed down; machines give metric effects instead.
//
// Asking for the same name and labels again gives the same metric. One name has one kind: asking for it as
// another kind is a bug of the caller. Handles are small, copied freely, and used by any thread while the
// Metrics lives. text() is sorted by name and labels, so that two runs can be compared.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace gs {

class Counter {
 public:
  /// `by` is not negative.
  void add(double by = 1);
  [[nodiscard]] double value() const;

 private:
  friend class Metrics;
  explicit Counter(prometheus::Counter& metric) : metric_{&metric} {}
  prometheus::Counter* metric_;
};

class Gauge {
 public:
  void set(double value);
  void add(double by);
  [[nodiscard]] double value() const;

 private:
  friend class Metrics;
  explicit Gauge(prometheus::Gauge& metric) : metric_{&metric} {}
  prometheus::Gauge* metric_;
};

class Histogram {
 public:
  void observe(double value);

 private:
  friend class Metrics;
  explicit Histogram(prometheus::Histogram& metric) : metric_{&metric} {}
  prometheus::Histogram* metric_;
};

class Metrics {
 public:
  using Labels = std::map<std::string, std::string>;

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// `help` is shown from the first call for a name.
  Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  /// `buckets`: ascending upper bounds without +Inf; those of the first call for this name and labels hold.
  Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& buckets,
                      const Labels& labels = {});
  /// Forgets one gauge (its node is gone, say). Handles to it must not be used any more;
  /// an unknown one is ignored.
  void dropGauge(const std::string& name, const Labels& labels);

  /// Prometheus text format 0.0.4.
  [[nodiscard]] std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace gs
