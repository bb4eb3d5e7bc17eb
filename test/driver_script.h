// What the drivers' libraries for tests have in common (nvml/fake_nvml.cc, rocm/fake_rocm_smi.cc): a script,
// a line for each thing, words with KEY=VALUE in it, which says what hardware there is, and which calls hang
// or fail.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace driver_script {

/// KEY=VALUE ...; "_" is a space.
struct Words {
  std::map<std::string, std::string> said;
  std::string text(const char* key, const char* preset = "") const {
    const auto it = said.find(key);
    return it == said.end() ? preset : it->second;
  }
  std::uint64_t number(const char* key, std::uint64_t preset = 0) const {
    const auto it = said.find(key);
    return it == said.end() ? preset : std::strtoull(it->second.c_str(), nullptr, 10);
  }
  bool has(const char* key) const { return said.count(key) != 0; }
};

inline Words wordsOf(std::istringstream& line) {
  Words out;
  for (std::string word; line >> word;) {
    const auto at = word.find('=');
    std::string value = at == std::string::npos ? "" : word.substr(at + 1);
    for (char& c : value) {
      if (c == '_') { c = ' '; }
    }
    out.said[word.substr(0, at)] = value;
  }
  return out;
}

/// Which calls do not come back, and what is answered to others.
struct Troubles {
  std::set<std::string> hangs;
  std::map<std::string, int> fails;
};

/// The file that the environment names. `take`: gets the first word of each line, and the rest.
inline Troubles readScript(const char* variable,
                           const std::function<void(const std::string&, std::istringstream&)>& take) {
  Troubles out;
  const char* path = std::getenv(variable);
  std::ifstream file{path == nullptr ? "" : path};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string first;
    words >> first;
    take(first, words);
    if (first == "hang") {
      words >> first;
      out.hangs.insert(first);
    }
    if (first == "fail") {
      std::int64_t code = 0;  // of 32 bits, signed or not
      words >> first >> code;
      out.fails[first] = static_cast<int>(code);
    }
  }
  return out;
}

/// What a script makes of a call: it hangs while the script says so, or fails as was read before.
inline int enter(const char* variable, const char* call, const std::map<std::string, int>& fails) {
  const auto ignore = [](const std::string&, std::istringstream&) {};
  while (readScript(variable, ignore).hangs.count(call) != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  const auto it = fails.find(call);
  return it == fails.end() ? 0 : it->second;
}

}  // namespace driver_script
