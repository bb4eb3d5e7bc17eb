#include "apiserver/wire/media.h"

#include <fmt/format.h>

#include "apiserver/wire/go_json.h"
#include "apiserver/wire/protobuf_body.h"
#include "base/ascii.h"
#include "yaml/yaml.h"

namespace gs::apiserver {
namespace {

constexpr std::size_t kMaxRanges = 32;
constexpr std::size_t kMaxShown = 1024;  // bytes of a bad body that a message shows

std::string lowerTrim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) { text.remove_suffix(1); }
  return inLowerCase(text);
}

template <class Each>
void splitAt(std::string_view text, char at, Each each) {
  for (;;) {
    const auto end = text.find(at);
    each(text.substr(0, end));
    if (end == std::string_view::npos) { return; }
    text.remove_prefix(end + 1);
  }
}

MediaRange parseRange(std::string_view part) {
  MediaRange range;
  bool first = true;
  splitAt(part, ';', [&](std::string_view piece) {
    if (first) { range.type = lowerTrim(piece); }
    first = false;
    const auto eq = piece.find('=');
    if (eq == std::string_view::npos) { return; }
    const std::string key = lowerTrim(piece.substr(0, eq));
    std::string value{piece.substr(eq + 1)};
    std::erase(value, ' ');
    if (key == "as") { range.as = value; }
    if (key == "v") { range.version = value; }
    if (key == "g") { range.group = value; }
  });
  return range;
}

std::string shownBytes(std::string_view bytes) {
  if (bytes.empty()) { return "<empty>"; }
  std::string out;
  for (const char c : bytes.substr(0, kMaxShown)) {
    out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return bytes.size() > kMaxShown ? out + " ..." : out;
}

ReadBody readJson(std::string_view bytes) {
  auto value = json::parse(bytes);
  if (value && value->isObject()) { return {*std::move(value), {}, {}}; }
  if (value) { return {*std::move(value), {}, shownBytes(bytes)}; }
  const std::string why = goJsonError(bytes);
  return {{}, why.empty() ? value.error().message : why, shownBytes(bytes)};
}

ReadBody readYaml(std::string_view bytes) {
  const auto documents = yaml::toJson(bytes);
  if (!documents) {
    return {
        {}, fmt::format("error converting YAML to JSON: {}", documents.error().message), shownBytes(bytes)};
  }
  if (documents->empty()) { return {{}, "unexpected end of JSON input", shownBytes({})}; }
  return readJson(documents->front());
}

}  // namespace

std::string mediaType(std::string_view header) { return lowerTrim(header.substr(0, header.find(';'))); }

std::vector<MediaRange> parseAccept(std::string_view header) {
  std::vector<MediaRange> out;
  splitAt(header, ',', [&](std::string_view part) {
    if (out.size() < kMaxRanges) { out.push_back(parseRange(part)); }
  });
  return out;
}

Wanted wantedForm(const std::vector<MediaRange>& accept) {
  for (const MediaRange& range : accept) {
    const bool json = range.type == "application/json" || range.type == "application/*" ||
                      range.type == "*/*" || range.type.empty();
    if (json && range.as.empty()) { return {Form::Json, {}}; }
    if (json && range.as == "Table" && range.group == "meta.k8s.io" &&
        (range.version == "v1" || range.version == "v1beta1")) {
      return {Form::Table, range.version};
    }
  }
  return {Form::Nothing, {}};
}

Answer<ReadBody> readBody(std::string_view type, std::string_view bytes) {
  const std::string media = mediaType(type);
  if (bytes.empty()) { return ReadBody{}; }
  if (media == kProtobuf) {
    auto read = readProtobuf(bytes);
    if (!read) { return tl::unexpected(read.error()); }
    return ReadBody{*std::move(read), {}, {}};
  }
  const bool yaml = media == "application/yaml" || media == "application/apply-patch+yaml";
  if (yaml) { return bytes.front() == '{' ? readJson(bytes) : readYaml(bytes); }
  if (media.empty() || media == "application/json" || media.ends_with("-patch+json") ||
      media == "application/x-www-form-urlencoded") {
    return readJson(bytes);
  }
  return refuse(415, "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

}  // namespace gs::apiserver
