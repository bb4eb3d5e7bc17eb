#include "cacherim/store/store_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/dns_name.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "json/value.h"

namespace gs::cacherim {
namespace {

constexpr std::string_view kCluster = "cluster-scoped";
constexpr std::string_view kNamespaceOfThatName = "cluster-scoped.namespace";  // no label: it has a dot
constexpr std::size_t kMostOfAName = 255;
constexpr std::size_t kMostOfAPath = 1024;
constexpr int kMostParts = 32;

template <class Each>
bool allParts(std::string_view text, char between, const Each& each) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    if (!each(text.substr(at, end - at))) { return false; }
    at = end + 1;
  }
  return true;
}

tl::unexpected<Error> badRecord(std::string_view what) { return fail(Code::Invalid, std::string{what}); }

/// [hex, executable, size]
json::Value fileValue(const StoredFile& file) {
  return json::Array{file.hex, file.executable, static_cast<std::int64_t>(file.size)};
}

std::optional<StoredFile> readFileValue(const json::Value& value) {
  const auto size = value.at(2).integer();
  const std::string hex{value.at(0).str()};
  const bool good = value.items().size() == 3 && value.at(1).isBool() && size && *size >= 0 &&
                    kcache::Digest::parse(std::string{kcache::Digest::kPrefix} + hex).has_value();
  if (!good) { return std::nullopt; }
  return StoredFile{hex, value.at(1).boolOr(false), static_cast<std::uint64_t>(*size)};
}

json::Value filesValue(const std::map<std::string, StoredFile>& files) {
  json::Object out;
  for (const auto& [path, file] : files) { out.append(path, fileValue(file)); }
  return out;
}

/// False: one cannot be read.
bool readFiles(const json::Value& value, std::map<std::string, StoredFile>& out) {
  for (const auto& [path, file] : value.members()) {
    auto read = readFileValue(file);
    if (!read || !isStorePath(path)) { return false; }
    out.emplace(path, std::move(*read));
  }
  return value.isObject();
}

/// Of an older version there are no hashes.
bool readPaths(const json::Value& tree, std::map<std::string, std::string>& out) {
  const auto& paths = tree["paths"].items();
  const auto& sums = tree["path_sums"].items();
  if (!sums.empty() && sums.size() != paths.size()) { return false; }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!isStorePath(paths[i].str())) { return false; }
    out.emplace(paths[i].str(), sums.empty() ? "" : sums[i].str());
  }
  return true;
}

constexpr std::string_view kSum = R"(,"sum":")";
constexpr std::string_view kSumEnd = R"("})";
constexpr std::size_t kSumDigits = 64;

/// The text's last member is the hash of all before it.
std::string withSum(std::string text) {
  text.pop_back();  // '}'
  Sha256 hash;
  hash.update(text);
  return text.append(kSum).append(hash.hex()).append(kSumEnd);
}

/// One of an older version has no sum.
bool isAsWritten(std::string_view text) {
  constexpr std::size_t kTail = kSum.size() + kSumDigits + kSumEnd.size();
  if (text.size() < kTail) { return true; }
  const std::string_view tail = text.substr(text.size() - kTail);
  if (!tail.starts_with(kSum)) { return true; }
  Sha256 hash;
  hash.update(text.substr(0, text.size() - kTail));
  return tail.substr(kSum.size()) == hash.hex() + std::string{kSumEnd};
}

}  // namespace

bool isStoreName(std::string_view name) {
  return !name.empty() && name.size() <= kMostOfAName && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
         isUtf8(name);
}

bool isStorePath(std::string_view path) {
  return path.size() <= kMostOfAPath && std::count(path.begin(), path.end(), '/') < kMostParts &&
         allParts(path, '/', isStoreName);
}

Result<CacheName> CacheName::inNamespace(std::string_view ns, std::string_view name) {
  if (!isDnsLabel(ns)) { return badRecord("a namespace has lower-case letters, digits and '-', 63 at most"); }
  if (!isDnsSubdomain(name)) {
    return badRecord("the name of a cache has lower-case letters, digits, '-' and '.', 253 at most");
  }
  return CacheName{std::string{ns == kCluster ? kNamespaceOfThatName : ns}, std::string{name}};
}

Result<CacheName> CacheName::ofCluster(std::string_view name) {
  auto out = inNamespace("any", name);
  if (out) { out->folder_ = kCluster; }
  return out;
}

Result<CacheName> CacheName::fromFolder(std::string_view folder, std::string_view name) {
  if (folder == kCluster) { return ofCluster(name); }
  return inNamespace(folder == kNamespaceOfThatName ? kCluster : folder, name);
}

std::string CacheName::ns() const {
  if (folder_ == kCluster) { return {}; }
  return std::string{folder_ == kNamespaceOfThatName ? kCluster : std::string_view{folder_}};
}

std::string treeRootBelow(const std::string& root, const kcache::Digest& image) {
  return fmt::format("{}/trees/{}/root", root, image.hex());
}

std::string layerRecordName(const kcache::Digest& layer) { return std::string{layer.hex()} + ".json"; }

tl::unexpected<Error> recordTooLarge(const std::string& name, std::size_t bytes) {
  return fail(Code::Invalid,
              fmt::format("{} would have {} bytes: it has too many files of too long names", name, bytes));
}

/// Written as it is read: of many files there is no second copy in memory.
std::string printLayer(const LayerRecord& record) {
  std::string out = fmt::format(R"({{"layer":"{}","folders":[)", record.layer.text());
  for (const std::string& folder : record.folders) {
    if (&folder != &record.folders.front()) { out += ','; }
    json::appendString(out, folder);
  }
  out += R"(],"files":{)";
  for (const auto& [path, file] : record.files) {
    if (!out.ends_with('{')) { out += ','; }
    json::appendString(out, path);
    fmt::format_to(std::back_inserter(out), R"(:["{}",{},{}])", file.hex, file.executable, file.size);
  }
  return withSum(out + "}}");
}

std::string printTree(const TreeRecord& record) {
  json::Array layers;
  for (const kcache::Digest& layer : record.layers) { layers.emplace_back(layer.text()); }
  json::Array paths;
  json::Array path_sums;  // in the order of `paths`, which older versions read
  for (const auto& [path, sum] : record.paths) {
    paths.emplace_back(path);
    path_sums.emplace_back(sum);
  }
  return withSum(json::print(json::Object{{"image", record.image.text()},
                                          {"layers", std::move(layers)},
                                          {"extras", filesValue(record.extras)},
                                          {"bytes", static_cast<std::int64_t>(record.bytes)},
                                          {"files", static_cast<std::int64_t>(record.files)},
                                          {"folders", static_cast<std::int64_t>(record.folders)},
                                          {"summary", record.summary},
                                          {"paths", std::move(paths)},
                                          {"path_sums", std::move(path_sums)}}));
}

Result<LayerRecord> parseLayer(std::string_view text) {
  if (!isAsWritten(text)) { return badRecord("a record of a layer is not as it was written"); }
  const auto value = json::parse(text);
  if (!value) { return badRecord("a record of a layer is no JSON"); }
  auto layer = kcache::Digest::parse((*value)["layer"].str());
  if (!layer) { return badRecord("a record of a layer without its digest"); }
  LayerRecord out{*layer, {}, {}};
  for (const json::Value& folder : (*value)["folders"].items()) {
    if (!isStorePath(folder.str())) { return badRecord("a record of a layer with a folder that may not be"); }
    out.folders.emplace_back(folder.str());
  }
  if (!readFiles((*value)["files"], out.files)) {
    return badRecord("a record of a layer with a file that may not be");
  }
  return out;
}

Result<TreeRecord> parseTree(std::string_view text) {
  if (!isAsWritten(text)) { return badRecord("a record of a tree is not as it was written"); }
  const auto value = json::parse(text);
  if (!value) { return badRecord("a record of a tree is no JSON"); }
  auto image = kcache::Digest::parse((*value)["image"].str());
  if (!image) { return badRecord("a record of a tree without its digest"); }
  TreeRecord out{*image, {}, {}, 0, 0, 0};
  for (const json::Value& one : (*value)["layers"].items()) {
    auto layer = kcache::Digest::parse(one.str());
    if (!layer) { return badRecord("a record of a tree with a layer that has no digest"); }
    out.layers.push_back(std::move(*layer));
  }
  if (!readFiles((*value)["extras"], out.extras)) {
    return badRecord("a record of a tree with a file that may not be");
  }
  const auto bytes = (*value)["bytes"].integer();
  const auto files = (*value)["files"].integer();
  const std::int64_t folders = (*value)["folders"].integer().value_or(0);  // not there: of an older version
  if (!bytes || !files || *bytes < 0 || *files < 0 || folders < 0) {
    return badRecord("a record of a tree without its size");
  }
  out.bytes = static_cast<std::uint64_t>(*bytes);
  out.files = static_cast<std::uint64_t>(*files);
  out.folders = static_cast<std::uint64_t>(folders);
  out.summary = (*value)["summary"].str();
  if (!readPaths(*value, out.paths)) { return badRecord("a record of a tree with a path that may not be"); }
  return out;
}

}  // namespace gs::cacherim
