#include "yaml/yaml.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>  // brings std::istringstream, which its parser wants

#include <algorithm>
#include <exception>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "yaml/scalar.h"

namespace gs::yaml {
namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxGrowth = 16;

/// Leaves the library's parser from inside a callback; caught in toJson.
struct Refused : std::exception {
  explicit Refused(std::string text) : message{std::move(text)} {}
  [[nodiscard]] const char* what() const noexcept override { return message.c_str(); }
  std::string message;
};

[[noreturn]] void refuse(const YAML::Mark& mark, std::string_view what) {
  throw Refused{fmt::format("YAML line {}, column {}: {}", mark.line + 1, mark.column + 1, what)};
}

/// How many levels of brackets this JSON text has.
std::size_t depthOf(std::string_view json) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') { ++i; }
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

/// Writes JSON text while the library's parser walks the YAML: no tree is built. An anchor remembers the
/// piece of the output that it names, and an alias copies it.
class Writer final : public YAML::EventHandler {
 public:
  explicit Writer(std::size_t max_out) : max_out_{max_out} {}

  std::vector<std::string> take() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // The library does not step over a stray ',' between documents: it would bring empty ones for ever.
    if (std::exchange(document_at_, mark.pos) == mark.pos) {
      refuse(mark, "something that belongs to no value");
    }
    out_.clear();
    open_.clear();
    anchors_.clear();
  }
  void OnDocumentEnd() override {
    if (out_.empty()) { out_ = "null"; }
    done_ += out_.size();
    documents_.push_back(std::move(out_));
    out_.clear();
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { scalar(mark, anchor, "?", ""); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    scalar(mark, anchor, tag, value);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) { refuse(mark, "an alias inside the value that it names"); }
    const auto [begin, size] = found->second;
    checkRoom(mark, size);
    const std::string piece = out_.substr(begin, size);
    if (open_.size() + depthOf(piece) > kMaxDepth) {
      refuse(mark, fmt::format("more than {} levels deep", kMaxDepth));
    }
    if (!atKey()) {
      beforeValue(mark);
      out_ += piece;
    } else if (piece.front() == '"') {
      key(mark, piece);
    } else if (piece.front() == '{' || piece.front() == '[') {
      refuse(mark, "a key must be a plain word, not a list or a map");
    } else {
      key(mark, quoted(piece));
    }
    afterValue();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, '[', "tag:yaml.org,2002:seq");
  }
  void OnSequenceEnd() override { close(']'); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, '{', "tag:yaml.org,2002:map");
  }
  void OnMapEnd() override { close('}'); }

 private:
  struct Level {
    char bracket = '[';
    bool empty = true;
    bool key_next = true;  // maps only
    YAML::anchor_t anchor = 0;
    std::size_t begin = 0;
    std::set<std::string> keys;
  };

  [[nodiscard]] bool atKey() const {
    return !open_.empty() && open_.back().bracket == '{' && open_.back().key_next;
  }

  void checkRoom(const YAML::Mark& mark, std::size_t more) const {
    if (done_ + out_.size() + more > max_out_) {
      refuse(mark, fmt::format("aliases make this more than {} times as large as it is written", kMaxGrowth));
    }
  }

  void beforeValue(const YAML::Mark& mark) {
    checkRoom(mark, 1);
    if (open_.empty() || open_.back().bracket == '{') { return; }
    if (!std::exchange(open_.back().empty, false)) { out_ += ','; }
  }

  void afterValue() {
    if (!open_.empty() && open_.back().bracket == '{') { open_.back().key_next = !open_.back().key_next; }
  }

  /// Gives the place of the key in out_.
  std::size_t key(const YAML::Mark& mark, const std::string& text) {
    checkRoom(mark, text.size());
    if (text == "\"<<\"") { refuse(mark, "merge keys (<<) are not supported; write the fields out"); }
    if (!open_.back().keys.insert(text).second) {
      refuse(mark, fmt::format("the key {} is there twice", text));
    }
    if (!std::exchange(open_.back().empty, false)) { out_ += ','; }
    out_ += text;
    out_ += ':';
    return out_.size() - 1 - text.size();
  }

  void scalar(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag,
              const std::string& value) {
    // The library reads the escapes \N and \_ as single bytes.
    if (!isUtf8(value)) { refuse(mark, "an escape that gives no UTF-8; write the character itself"); }
    auto text = scalarToJson(tag, value);
    if (!text) { refuse(mark, text.error().message); }
    if (atKey()) {
      if (*text == "null") { refuse(mark, "a key must not be empty or null"); }
      const std::string name = text->front() == '"' ? *text : quoted(value);
      const std::size_t begin = key(mark, name);
      if (anchor != 0) { anchors_[anchor] = {begin, name.size()}; }
    } else {
      checkRoom(mark, text->size());
      beforeValue(mark);
      if (anchor != 0) { anchors_[anchor] = {out_.size(), text->size()}; }
      out_ += *text;
    }
    afterValue();
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, char bracket,
            std::string_view own_tag) {
    if (!tag.empty() && tag != "?" && tag != "!" && tag != own_tag) {
      refuse(mark, fmt::format("the tag {} is not supported", tag));
    }
    if (atKey()) { refuse(mark, "a key must be a plain word, not a list or a map"); }
    if (open_.size() >= kMaxDepth) { refuse(mark, fmt::format("more than {} levels deep", kMaxDepth)); }
    beforeValue(mark);
    Level level;
    level.bracket = bracket;
    level.anchor = anchor;
    level.begin = out_.size();
    open_.push_back(std::move(level));
    out_ += bracket;
  }

  void close(char bracket) {
    out_ += bracket;
    const Level& level = open_.back();
    if (level.anchor != 0) { anchors_[level.anchor] = {level.begin, out_.size() - level.begin}; }
    open_.pop_back();
    afterValue();
  }

  std::size_t max_out_;
  std::size_t done_ = 0;  // bytes in documents_
  int document_at_ = -1;  // where the last document began
  std::vector<std::string> documents_;
  std::string out_;
  std::vector<Level> open_;
  std::unordered_map<YAML::anchor_t, std::pair<std::size_t, std::size_t>> anchors_;  // begin and size in out_
};

}  // namespace

Result<std::vector<std::string>> toJson(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return fail(Code::Invalid,
                fmt::format("YAML of {} bytes is over the limit of {}", text.size(), max_bytes));
  }
  // The library would take a NUL byte for a sign of UTF-16 or UTF-32.
  if (!isUtf8(text) || text.find('\0') != std::string_view::npos) {
    return fail(Code::Invalid, "YAML is not UTF-8 text");
  }
  try {
    std::istringstream in{std::string{text}};
    YAML::Parser parser{in};
    Writer writer{kMaxGrowth * text.size() + 64};
    while (parser.HandleNextDocument(writer)) {}
    return writer.take();
  } catch (const YAML::Exception& e) {
    return fail(Code::Invalid,
                fmt::format("YAML line {}, column {}: {}", e.mark.line + 1, e.mark.column + 1, e.msg));
  } catch (const std::exception& e) { return fail(Code::Invalid, e.what()); }
}

}  // namespace gs::yaml
