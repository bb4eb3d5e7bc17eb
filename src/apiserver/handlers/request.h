// What the API server in memory is asked and what it answers: HTTP without text.
#pragma once

#include <string>
#include <vector>

#include "apiserver/meta/answer.h"
#include "json/value.h"

namespace gs::apiserver {

struct Request {
  std::string method;  // GET POST PUT PATCH DELETE
  std::string target;  // path and query
  std::string content_type = "application/json";
  json::Value body{};
  std::string bad_body{};    // why the bytes could not be read, in Go's words; then `body` is null
  std::string shown_body{};  // and what a message shows of them
  std::string user{};        // who it comes from, unchecked; "": nobody says
  std::string user_agent{};  // owns what is written, where the query names no fieldManager; "": nobody does
};

struct Response {
  int code = 200;
  json::Value body{};
  std::string text{};  // when set: answered as plain text instead of `body`
  std::vector<std::string> warnings{};
};

[[nodiscard]] Response toResponse(const ApiError& error);

}  // namespace gs::apiserver
