// Ledger::dump(): one line per fact, nodes by name, everything below them sorted.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sched/ledger/derive.h"
#include "sched/ledger/ledger.h"

namespace gs::sched {
namespace {

constexpr std::uint8_t bitOf(Source source) { return static_cast<std::uint8_t>(source); }

std::string resourcesText(const model::Resources& r) {
  std::string out = fmt::format("cpu={}m memory={} ephemeral={}", r.cpu_milli, r.memory, r.ephemeral);
  for (const auto& [name, amount] : r.extended) {
    fmt::format_to(std::back_inserter(out), " {}={}", name, amount);
  }
  return out;
}

std::string sourcesText(std::uint8_t sources) {
  std::vector<const char*> names;
  if ((sources & bitOf(Source::Lease)) != 0) { names.push_back("lease"); }
  if ((sources & bitOf(Source::BoundPod)) != 0) { names.push_back("bound"); }
  if ((sources & bitOf(Source::Reservation)) != 0) { names.push_back("reservation"); }
  if ((sources & bitOf(Source::Draining)) != 0) { names.push_back("draining"); }
  if ((sources & bitOf(Source::Claim)) != 0) { names.push_back("claim"); }
  return fmt::format("{}", fmt::join(names, ","));
}

std::string amountText(const Amount& a) {
  return a.shared ? fmt::format("shared milli={} mib={}", a.milli, a.mib) : "exclusive";
}

void dumpFacts(const NodeState& n, std::string& out) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "node {} exists={} status={} stale={} enforcer={} enforces={}\n", n.node.name.text,
                 n.exists, n.has_status, n.agent_stale, enforcerName(n.enforcer), n.enforces);
  if (!n.exists) { return; }
  fmt::format_to(to, "  ready={} unschedulable={} pods={} shares={}x{}MiB {}\n", n.node.ready,
                 n.node.unschedulable, n.node.allocatable_pods, n.share_devices, n.share_mib,
                 resourcesText(n.node.allocatable));
  for (const auto& [key, value] : n.node.labels) { fmt::format_to(to, "  label {}={}\n", key, value); }
  for (const auto& t : n.node.taints) { fmt::format_to(to, "  taint {}={}:{}\n", t.key, t.value, t.effect); }
  for (const auto& feature : n.node.features) { fmt::format_to(to, "  feature {}\n", feature); }
  std::set<model::TermId> closed_to;
  for (const auto& terms : n.closed_to) {
    for (const auto& [term, pods] : *terms) { closed_to.insert(term); }
  }
  for (const auto& term : closed_to) { fmt::format_to(to, "  closed to {:016x}\n", term); }
}

std::string portText(const model::HostPort& port) {
  return fmt::format("{}:{}/{}", port.ip, port.port, port.protocol);
}

void dumpDevice(const DeviceState& d, std::uint8_t without, std::string& out) {
  const auto to = std::back_inserter(out);
  std::string holders;
  for (const auto& h : d.holders) {
    const auto sources = static_cast<std::uint8_t>(h.sources & ~without);
    if (sources == 0) { continue; }
    fmt::format_to(std::back_inserter(holders), "    holder {} by {}:", h.uid.text, sourcesText(sources));
    for (const std::size_t at : {1U, 2U, 0U, 3U, 4U}) {
      if ((sources >> at & 1U) != 0) {
        fmt::format_to(std::back_inserter(holders), " {}", amountText(h.said[at]));
      }
    }
    holders += '\n';
  }
  if (!d.listed && holders.empty()) { return; }
  const model::Device& f = d.facts;
  if (!d.listed) {
    fmt::format_to(to, "  device {} not listed\n", f.id);
  } else {
    fmt::format_to(
        to, "  device {} uuid={} model={} memory={} health={} reason={} island={} gbps={} partitioned={}",
        f.id, f.uuid, f.model, f.memory_mib, model::healthName(f.health), f.health_reason, f.island,
        f.bandwidth_gbps, f.partitioned);
    for (const auto& link : f.links) { fmt::format_to(to, " {}:{}", link.to, link.gbps); }
    for (const auto& uid : f.in_use_by) { fmt::format_to(to, " in-use-by={}", uid.text); }
    out += '\n';
  }
  out += holders;
}

void dumpFlight(const InFlight& flight, std::uint8_t without, std::string& out) {
  if ((bitOf(flight.source) & without) != 0) { return; }
  fmt::format_to(std::back_inserter(out), "  in flight {} by {}:", flight.uid.text,
                 sourcesText(bitOf(flight.source)));
  for (const auto& pick : flight.picks) {
    fmt::format_to(std::back_inserter(out), " {}/{}/{}->{}", pick.asked.whole, pick.asked.milli,
                   pick.asked.mib, fmt::join(pick.ids, ","));
  }
  out += '\n';
}

/// Of pods that have so many by their number, as if the sources of `without` had said nothing.
std::int64_t anonymousOf(const NodeState& n, const std::map<model::Uid, std::int64_t>& counted,
                         std::uint8_t without) {
  std::int64_t anonymous = 0;
  for (const auto& [uid, devices] : counted) {
    std::int64_t named = 0;
    for (const auto& d : n.devices) {
      named += std::count_if(d.holders.begin(), d.holders.end(), [&, &pod = uid](const Holder& h) {
        return h.uid == pod && isNamedBy(d, h, without);
      });
    }
    anonymous += std::max<std::int64_t>(0, devices - named);
  }
  return anonymous;
}

}  // namespace

void Ledger::dumpNode(NodeIndex i, std::uint8_t without, std::string& out) const {
  const NodeState& n = *nodes_[i];
  const Uses& uses = uses_[i];
  const bool with_draining = (bitOf(Source::Draining) & without) == 0;
  std::string body;
  std::map<model::Uid, std::int64_t> by_number;
  for (const auto& [uid, devices] : draining_[i]) {
    if (!with_draining) { break; }
    by_number[uid] = devices;
    fmt::format_to(std::back_inserter(body), "  draining {}: {}\n", uid.text, devices);
  }
  NodeState counted;  // the sums of what is shown
  for (auto it = uses.begin(); it != uses.end(); ++it) {
    const auto& [key, use] = *it;
    if ((bitOf(key.source) & without) != 0) { continue; }
    const char* source = key.source == Source::BoundPod ? "bound" : "reservation";
    fmt::format_to(std::back_inserter(body), "  pod {} {} {} counted={} charge={}:{}", key.uid.text, source,
                   resourcesText(use.resources), use.counted, use.charge.ns, use.charge.milli);
    for (const auto& port : use.ports) { fmt::format_to(std::back_inserter(body), " {}", portText(port)); }
    body += '\n';
    const auto next = std::next(it);
    const bool overruled =
        next != uses.end() && next->first.uid == key.uid;  // BoundPod comes after Reservation
    if (!overruled) {
      counted.used += use.resources;
      counted.used_pods += 1;
      countPorts(counted, use.ports, +1);
      auto& devices = by_number[key.uid];
      devices = std::max(devices, use.counted);
    }
  }
  if ((bitOf(Source::Reservation) & without) == 0) {
    counted.used = n.used;
    counted.used_pods = n.used_pods;
    counted.ports = n.ports;
  }
  for (const auto& d : n.devices) { dumpDevice(d, without, body); }
  for (const auto& flight : n.in_flight) { dumpFlight(flight, without, body); }
  if (body.empty() && !n.exists && !n.has_status && !n.agent_stale) { return; }
  dumpFacts(n, out);
  fmt::format_to(std::back_inserter(out), "  used pods={} anonymous={} {}\n", counted.used_pods,
                 anonymousOf(n, by_number, without), resourcesText(counted.used));
  for (const auto& [port, pods] : counted.ports) {
    fmt::format_to(std::back_inserter(out), "  port {} pods={}\n", portText(port), pods);
  }
  out += body;
}

std::string Ledger::dump(bool with_reservations) const {
  return with_reservations ? dumpWithout({}) : dumpWithout({Source::Reservation});
}

std::string Ledger::dumpWithout(std::initializer_list<Source> sources) const {
  std::uint8_t without = 0;
  for (const Source source : sources) { without = static_cast<std::uint8_t>(without | bitOf(source)); }
  const std::map<model::NodeName, NodeIndex> by_name{index_.begin(), index_.end()};
  std::string out;
  for (const auto& [name, i] : by_name) { dumpNode(i, without, out); }
  return out;
}

}  // namespace gs::sched
