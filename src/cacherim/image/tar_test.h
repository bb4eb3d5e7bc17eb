// For tests only: tar files byte by byte, so that they can have what no honest tool writes; and texts as what
// images are made of.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "cacherim/image/archive.h"

namespace gs::cacherim {

/// One header and its bytes. `type`: '0' file, '5' folder, '2' symbolic link, '1' hard link, '3' device.
inline std::string member(const std::string& name, const std::string& text = "", char type = '0',
                          const std::string& link = "", unsigned mode = 0644) {
  std::string out(512, '\0');
  const auto put = [&](std::size_t at, const std::string& field) { out.replace(at, field.size(), field); };
  put(0, name.substr(0, 100));
  put(100, fmt::format("{:07o}", mode));
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", text.size()));
  put(136, "00000000000");
  put(148, "        ");
  put(156, std::string(1, type));
  put(157, link.substr(0, 100));
  put(257, std::string{"ustar\0"
                       "00",
                       8});
  unsigned sum = 0;
  for (const char c : out) { sum += static_cast<unsigned char>(c); }
  put(148, fmt::format("{:06o}", sum) + std::string{"\0 ", 2});
  out += text;
  out.append((512 - text.size() % 512) % 512, '\0');
  return out;
}

inline std::string tar(const std::vector<std::string>& members) {
  std::string out;
  for (const std::string& one : members) { out += one; }
  return out + std::string(1024, '\0');
}

inline LayerFeed feedOf(std::string bytes) {
  return [bytes = std::move(bytes)](const ByteSink& sink) -> Status {
    for (std::size_t at = 0; at < bytes.size(); at += 1000) {
      if (!sink(std::string_view{bytes}.substr(at, 1000))) { return fail(Code::Conflict, "not wanted"); }
    }
    return {};
  };
}

inline NewEntry textEntry(const std::string& name, const std::string& text) {
  return {.name = name,
          .size = static_cast<std::int64_t>(text.size()),
          .bytes = [text](const ByteSink& sink) -> Status {
            if (sink(text)) { return {}; }
            return fail(Code::Conflict, "not wanted");
          }};
}

/// Files below `folder`, and all folders of them.
inline std::vector<NewEntry> entriesBelow(const std::string& folder,
                                          const std::map<std::string, std::string>& files) {
  std::map<std::string, NewEntry> out;
  for (const auto& [path, text] : files) {
    const std::string name = folder + '/' + path;
    for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      out[name.substr(0, at)] = {.name = name.substr(0, at), .is_folder = true};
    }
    if (!path.ends_with('/')) { out[name] = textEntry(name, text); }
  }
  std::vector<NewEntry> list;
  for (auto& [name, entry] : out) { list.push_back(entry); }
  return list;
}

/// Keeps what it takes in memory. "" is a folder's text; so it is told by its '/' at the end.
class Kept final : public LayerTaker {
 public:
  Status folder(const kcache::Placed& folder) override {
    files[folder.path + '/'];
    return {};
  }
  Status beginFile(const kcache::Placed& file, std::int64_t /*size*/) override {
    at_ = file.where == kcache::Placed::Where::Manifest ? "(manifest)" : file.path;
    files[at_].clear();
    return {};
  }
  Status piece(std::string_view bytes) override {
    files[at_] += bytes;
    return {};
  }
  Status endFile() override { return {}; }

  std::map<std::string, std::string> files;

 private:
  std::string at_;
};

inline std::string written(std::vector<NewEntry> entries, Packing packing, WrittenLayer* layer = nullptr) {
  std::string out;
  const auto done = writeLayer(std::move(entries), packing, [&](std::string_view piece) {
    out += piece;
    return true;
  });
  if (done && layer != nullptr) { *layer = *done; }
  return done ? out : "";
}

}  // namespace gs::cacherim
