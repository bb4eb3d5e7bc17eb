#include "extender/protocol/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/ascii.h"
#include "extender/protocol/json_check.h"
#include "json/value.h"

namespace gs::extender {
namespace {

using json::Cursor;

constexpr std::size_t kUsualName = 16;      // bytes of a name in a list of names
constexpr std::size_t kUsualNodes = 8'192;  // of a large cluster

/// As Go matches a key with a field.
bool isKey(std::string_view key, std::string_view field) { return equalInAnyCase(key, field); }

/// Reads one body: the first thing that is wrong is kept, and what comes after it is not read.
class Reader {
 public:
  Reader(json::Scanner& scanner, std::string& body) : scanner_{scanner}, body_{body} {}

  /// The members of the body's object, to `member`.
  Status read(const Cursor::Member& member) {
    if (body_.find_first_not_of(" \t\r\n") == std::string::npos) { return fail(Code::Invalid, "EOF"); }
    const Status scanned = scanner_.scan(body_, [&](Cursor& root) { object(root, "the body", member); });
    if (!scanned) { return whyNoJson(scanned); }
    return wrong_.empty() ? Status{} : fail(Code::Invalid, wrong_);
  }

  // What a value must be. null is as if the key were not there.

  void object(Cursor& value, std::string_view what, const Cursor::Member& member) {
    if (value.isNull()) { return; }
    const bool is = value.members([&](std::string_view key, Cursor& inner) {
      if (wrong_.empty()) { member(key, inner); }
    });
    if (!is) { mismatch(what, "an object"); }
  }
  void array(Cursor& value, std::string_view what, const Cursor::Item& item) {
    if (value.isNull()) { return; }
    const bool is = value.items([&](Cursor& inner) {
      if (wrong_.empty()) { item(inner); }
    });
    if (!is) { mismatch(what, "an array"); }
  }
  /// The JSON of an object; "" for null.
  std::string_view objectBytes(Cursor& value, std::string_view what) {
    if (value.isNull()) { return {}; }
    const std::string_view bytes = value.raw();
    if (!bytes.starts_with('{')) { mismatch(what, "an object"); }
    checkSize(bytes, what);
    return bytes;
  }
  /// Of an object that will be read whole.
  void checkSize(std::string_view object, std::string_view what) {
    if (object.size() <= kMostObject || !wrong_.empty()) { return; }
    wrong_ = fmt::format("{} is larger than {} MiB; no API server stores such an object", what,
                         kMostObject >> 20U);
  }
  /// One more, of nodes say: false when there are `most` already.
  bool mayAdd(std::size_t there, std::size_t most, std::string_view what) {
    if (there >= most && wrong_.empty()) { wrong_ = fmt::format("more than {} {}", most, what); }
    return there < most;
  }
  /// A text without escapes, as it stands in the body.
  std::string_view text(Cursor& value, std::string_view what) {
    if (value.isNull()) { return {}; }
    std::string_view bytes = value.raw();
    if (bytes.size() < 2 || bytes.front() != '"' || bytes.find('\\') != std::string_view::npos) {
      mismatch(what, "a plain string");
      return {};
    }
    bytes.remove_prefix(1);
    bytes.remove_suffix(1);
    return bytes;
  }
  std::int64_t integer(Cursor& value, std::string_view what) {
    if (value.isNull()) { return 0; }
    const std::string_view bytes = value.raw();
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), n);
    if (error != std::errc{} || end != bytes.data() + bytes.size()) { mismatch(what, "an integer"); }
    return n;
  }

 private:
  void mismatch(std::string_view what, const char* type) {
    if (wrong_.empty()) { wrong_ = fmt::format("{} is not {}", what, type); }
  }
  /// Of what the scanner refused, in Go's words where it was cut off.
  [[nodiscard]] Status whyNoJson(const Status& scanned) const {
    constexpr std::size_t kShown = 20;
    const JsonCheck check = checkJson(body_);
    switch (check.kind) {
      case JsonCheck::Kind::Whole: return scanned;
      case JsonCheck::Kind::CutOff:
        return fail(Code::Invalid,
                    fmt::format("unexpected EOF: the body is cut off after {} bytes", body_.size()));
      case JsonCheck::Kind::Wrong: break;
    }
    return fail(Code::Invalid,
                fmt::format("the body is no JSON: at byte {} stands '{}' where {} was expected", check.at,
                            std::string_view{body_}.substr(check.at, kShown), check.expected));
  }

  json::Scanner& scanner_;
  std::string& body_;
  std::string wrong_;
};

model::Revision revisionOf(std::string_view text) {
  model::Revision n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() ? n : 0;
}

/// A v1.Node: its name and how new it is; the rest is passed over.
NodeArg nodeObject(Reader& reader, Cursor& value) {
  NodeArg node;
  reader.object(value, "a node", [&](std::string_view key, Cursor& metadata) {
    if (!isKey(key, "metadata")) { return; }
    reader.object(metadata, "a node's metadata", [&](std::string_view field, Cursor& inner) {
      if (isKey(field, "name")) { node.name = reader.text(inner, "a node's name"); }
      if (isKey(field, "resourceVersion")) {
        node.revision = revisionOf(reader.text(inner, "a node's resourceVersion"));
      }
    });
  });
  node.object = value.seen();
  reader.checkSize(node.object, "a node");
  return node;
}

bool mayAddNode(Reader& reader, std::size_t there) {
  return reader.mayAdd(there, kMostNodes, "nodes; no cluster has so many");
}

/// A Volcano NodeInfo.
NodeArg nodeInfo(Reader& reader, Cursor& value) {
  NodeArg node;
  std::string_view name;
  reader.object(value, "a NodeInfo", [&](std::string_view key, Cursor& inner) {
    if (isKey(key, "Name")) { name = reader.text(inner, "a NodeInfo's Name"); }
    if (isKey(key, "Node") && !inner.isNull()) { node = nodeObject(reader, inner); }
  });
  if (node.name.empty()) { node.name = name; }
  return node;
}

void task(Reader& reader, Cursor& value, TaskArgs& out) {
  reader.object(value, "task", [&](std::string_view key, Cursor& inner) {
    if (isKey(key, "Pod")) { out.pod = reader.objectBytes(inner, "task.Pod"); }
    if (isKey(key, "NodeName")) { out.on_node = reader.text(inner, "task.NodeName"); }
  });
}

/// One of the two maps of ExtenderPreemptionArgs: of Victims with whole pods, or of MetaVictims.
std::vector<VictimsArg> victimsOf(Reader& reader, Cursor& value, bool meta) {
  std::vector<VictimsArg> out;
  std::unordered_map<std::string, std::size_t> positions;  // of names
  std::size_t at = 0;
  std::size_t names = 0;
  std::size_t pods = 0;
  const auto add = [&](Cursor& uid) {
    if (!reader.mayAdd(pods++, kMostVictims, "victims; no cluster has so many pods")) { return; }
    auto& uids = out[at].uids;
    if (!reader.mayAdd(uids.size(), kMostVictimsOfNode,
                       "victims of one node; no kubelet runs so many pods")) {
      return;
    }
    uids.push_back(reader.text(uid, "a victim's UID"));
  };
  const auto pod = [&](Cursor& victim) {
    reader.object(victim, "a victim", [&](std::string_view key, Cursor& inner) {
      if (meta && isKey(key, "UID")) { add(inner); }
      if (meta || !isKey(key, "metadata")) { return; }
      reader.object(inner, "a victim's metadata", [&](std::string_view field, Cursor& uid) {
        if (isKey(field, "uid")) { add(uid); }
      });
    });
  };
  reader.object(value, "the map of victims", [&](std::string_view node, Cursor& victims) {
    if (!mayAddNode(reader, names++)) { return; }
    const auto [known, fresh] = positions.try_emplace(std::string{node}, out.size());
    if (fresh) { out.emplace_back(); }
    at = known->second;
    out[at] = {std::string{node}, {}, 0};
    reader.object(victims, "a node's victims", [&](std::string_view key, Cursor& inner) {
      if (isKey(key, "Pods")) {
        out[at].uids.clear();
        reader.array(inner, "a node's Pods", pod);
      }
      if (isKey(key, "NumPDBViolations")) {
        out[at].pdb_violations = reader.integer(inner, "a node's NumPDBViolations");
      }
    });
  });
  return out;
}

}  // namespace

Result<FilterArgs> readFilterArgs(json::Scanner& scanner, std::string& body) {
  Reader reader{scanner, body};
  FilterArgs out;
  std::vector<NodeArg> by_name;
  const auto list = [&](std::string_view key, Cursor& items) {
    if (!isKey(key, "items")) { return; }
    reader.array(items, "Nodes.items", [&](Cursor& node) {
      if (mayAddNode(reader, out.nodes.size())) { out.nodes.push_back(nodeObject(reader, node)); }
    });
  };
  const Status read = reader.read([&](std::string_view key, Cursor& value) {
    if (isKey(key, "Pod")) {
      out.pod = reader.objectBytes(value, "Pod");
    } else if (isKey(key, "Nodes") && !value.isNull()) {
      out.with_objects = true;
      out.nodes.clear();
      reader.object(value, "Nodes", list);
      out.nodes_object = value.seen();
    } else if (isKey(key, "NodeNames") && !value.isNull()) {
      out.by_name = true;
      by_name.clear();
      by_name.reserve(std::min(body.size() / kUsualName, kUsualNodes));
      reader.array(value, "NodeNames", [&](Cursor& name) {
        if (!mayAddNode(reader, by_name.size())) { return; }
        by_name.push_back({reader.text(name, "a name in NodeNames"), {}, 0});
      });
    }
  });
  if (!read) { return tl::unexpected(read.error()); }
  if (out.by_name) { out.nodes = std::move(by_name); }
  return out;
}

Result<PreemptArgs> readPreemptArgs(json::Scanner& scanner, std::string& body) {
  Reader reader{scanner, body};
  PreemptArgs out;
  const Status read = reader.read([&](std::string_view key, Cursor& value) {
    const bool meta = isKey(key, "NodeNameToMetaVictims");
    if (isKey(key, "Pod")) { out.pod = reader.objectBytes(value, "Pod"); }
    if ((meta || isKey(key, "NodeNameToVictims")) && !value.isNull()) {
      out.victims = victimsOf(reader, value, meta);
    }
  });
  return read ? Result<PreemptArgs>{std::move(out)} : tl::unexpected(read.error());
}

Result<BindArgs> readBindArgs(json::Scanner& scanner, std::string& body) {
  Reader reader{scanner, body};
  BindArgs out;
  const Status read = reader.read([&](std::string_view key, Cursor& value) {
    if (isKey(key, "PodName")) { out.pod.name = reader.text(value, "PodName"); }
    if (isKey(key, "PodNamespace")) { out.pod.ns = reader.text(value, "PodNamespace"); }
    if (isKey(key, "PodUID")) { out.uid = model::Uid{reader.text(value, "PodUID")}; }
    if (isKey(key, "Node")) { out.node = model::NodeName{reader.text(value, "Node")}; }
  });
  return read ? Result<BindArgs>{std::move(out)} : tl::unexpected(read.error());
}

Result<TaskArgs> readTaskArgs(json::Scanner& scanner, std::string& body) {
  Reader reader{scanner, body};
  TaskArgs out;
  const Status read = reader.read([&](std::string_view key, Cursor& value) {
    if (isKey(key, "task")) { task(reader, value, out); }
    if (isKey(key, "node") && !value.isNull()) { out.nodes = {nodeInfo(reader, value)}; }
    if (isKey(key, "nodes")) {
      reader.array(value, "nodes", [&](Cursor& node) {
        if (mayAddNode(reader, out.nodes.size())) { out.nodes.push_back(nodeInfo(reader, node)); }
      });
    }
  });
  return read ? Result<TaskArgs>{std::move(out)} : tl::unexpected(read.error());
}

}  // namespace gs::extender
