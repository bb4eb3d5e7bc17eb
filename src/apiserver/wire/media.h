// Content negotiation: what a peer wants to read (Accept) and what it sent (Content-Type and bytes),
// as values. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

/// One part of an Accept header: "application/json;as=Table;v=v1;g=meta.k8s.io".
struct MediaRange {
  std::string type;  // lower case, without parameters
  std::string as;
  std::string version;
  std::string group;
};
[[nodiscard]] std::vector<MediaRange> parseAccept(std::string_view header);

enum class Form : std::uint8_t { Json, Table, Nothing };
struct Wanted {
  Form form = Form::Json;
  std::string table_version = "v1";
};
/// The first part that we can answer; parts that we do not know are passed over. Nothing: none (406).
[[nodiscard]] Wanted wantedForm(const std::vector<MediaRange>& accept);

struct ReadBody {
  json::Value value;
  std::string bad;    // why it could not be read, in Go's words
  std::string shown;  // the bytes as the real server shows them in a message; only where `value` is no object
};
/// `type` is the Content-Type. Empty bytes: null and no error. Error 415: not a form that we read.
[[nodiscard]] Answer<ReadBody> readBody(std::string_view type, std::string_view bytes);

/// "application/json; charset=utf-8" -> "application/json"
[[nodiscard]] std::string mediaType(std::string_view header);

}  // namespace gs::apiserver
