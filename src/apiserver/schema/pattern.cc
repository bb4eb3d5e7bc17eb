#include "apiserver/schema/pattern.h"

#include <algorithm>
#include <memory>
#include <string>

namespace gs::apiserver {
namespace {

constexpr std::size_t kMaxProgram = 20'000;
constexpr std::size_t kMaxWork =
    5 * kMaxProgram;  // what is repeated costs each time, also where it emits nothing
constexpr int kMaxRepeat = 1000;
constexpr int kMaxNesting = 100;
constexpr char32_t kLast = 0x10FFFF;

using Ranges = Pattern::Ranges;
using Op = Pattern::Op;

struct Node {
  enum class Kind { Empty, Set, Begin, End, Concat, Alternate, Repeat };
  Kind kind = Kind::Empty;
  Ranges set;
  std::vector<std::unique_ptr<Node>> parts;
  int min = 0;
  int max = -1;  // of Repeat; -1: no end
};
using NodePtr = std::unique_ptr<Node>;

NodePtr make(Node::Kind kind) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  return node;
}

NodePtr setNode(Ranges ranges) {
  auto node = make(Node::Kind::Set);
  node->set = std::move(ranges);
  return node;
}

Ranges inverted(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end());
  Ranges out;
  char32_t next = 0;
  for (const auto& [low, high] : ranges) {
    if (low > next) { out.emplace_back(next, low - 1); }
    next = std::max<char32_t>(next, high + 1);
  }
  if (next <= kLast) { out.emplace_back(next, kLast); }
  return out;
}

/// \d \w \s and their opposites; nothing for other letters.
std::optional<Ranges> classOf(char c) {
  switch (c) {
    case 'd': return Ranges{{'0', '9'}};
    case 'w': return Ranges{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 's': return Ranges{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    case 'D':
    case 'W':
    case 'S': return inverted(*classOf(static_cast<char>(c - 'A' + 'a')));
    default: return std::nullopt;
  }
}

std::optional<Ranges> namedClass(std::string_view name) {
  if (name == "alpha") { return Ranges{{'A', 'Z'}, {'a', 'z'}}; }
  if (name == "digit") { return Ranges{{'0', '9'}}; }
  if (name == "alnum") { return Ranges{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}; }
  if (name == "lower") { return Ranges{{'a', 'z'}}; }
  if (name == "upper") { return Ranges{{'A', 'Z'}}; }
  if (name == "space") { return Ranges{{'\t', '\r'}, {' ', ' '}}; }
  if (name == "xdigit") { return Ranges{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}; }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_{text} {}
  NodePtr parse() {
    NodePtr all = alternate(0);
    return text_.empty() && !failed_ ? std::move(all) : nullptr;
  }

 private:
  NodePtr fail() {
    failed_ = true;
    return make(Node::Kind::Empty);
  }
  bool take(std::string_view token) {
    if (!text_.starts_with(token)) { return false; }
    text_.remove_prefix(token.size());
    return true;
  }

  NodePtr alternate(int depth) {
    if (depth > kMaxNesting) { return fail(); }
    auto out = make(Node::Kind::Alternate);
    do { out->parts.push_back(concat(depth)); } while (!failed_ && take("|"));
    return out->parts.size() == 1 ? std::move(out->parts.front()) : std::move(out);
  }

  NodePtr concat(int depth) {
    auto out = make(Node::Kind::Concat);
    while (!failed_ && !text_.empty() && text_.front() != '|' && text_.front() != ')') {
      out->parts.push_back(repeated(depth));
    }
    return out;
  }

  NodePtr repeated(int depth) {
    NodePtr item = atom(depth);
    int min = 0;
    int max = -1;
    if (!failed_ && repeat(min, max)) {  // one only: RE2 refuses a**
      auto node = make(Node::Kind::Repeat);
      node->min = min;
      node->max = max;
      node->parts.push_back(std::move(item));
      item = std::move(node);
      take("?");  // lazy: the same texts match
    }
    return item;
  }

  bool repeat(int& min, int& max) {
    max = -1;
    if (take("*")) {
      min = 0;
      return true;
    }
    if (take("+")) {
      min = 1;
      return true;
    }
    if (take("?")) {
      min = 0;
      max = 1;
      return true;
    }
    return counted(min, max);
  }

  bool counted(int& min, int& max) {
    const std::string_view before = text_;
    if (!take("{")) { return false; }
    min = number();
    max = min;
    if (min >= 0 && take(",")) { max = text_.starts_with("}") ? -1 : number(); }
    if (min < 0 || !take("}")) {
      text_ = before;  // "{" is then a character of its own
      return false;
    }
    if (min > kMaxRepeat || max > kMaxRepeat || (max >= 0 && max < min)) { failed_ = true; }
    return true;
  }

  int number() {
    if (text_.empty() || text_.front() < '0' || text_.front() > '9') { return -1; }
    int value = 0;
    for (; !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; text_.remove_prefix(1)) {
      value = std::min(value * 10 + (text_.front() - '0'), kMaxRepeat + 1);
    }
    return value;
  }

  NodePtr atom(int depth) {
    if (take("(")) {
      if (take("?") && !take(":")) { return fail(); }
      NodePtr inner = alternate(depth + 1);
      return take(")") ? std::move(inner) : fail();
    }
    if (take("[")) { return setNode(bracket()); }
    if (take("^") || take("\\A")) { return make(Node::Kind::Begin); }
    if (take("$") || take("\\z")) { return make(Node::Kind::End); }
    if (take(".")) { return setNode(inverted({{'\n', '\n'}})); }
    if (text_.front() == '*' || text_.front() == '+' || text_.front() == '?') { return fail(); }
    return setNode(escapedOrOne());
  }

  Ranges escapedOrOne() {
    if (!take("\\")) {
      const char32_t c = takeCodePoint(text_);
      return {{c, c}};
    }
    if (text_.empty()) {
      failed_ = true;
      return {};
    }
    if (auto known = classOf(text_.front())) {
      text_.remove_prefix(1);
      return *std::move(known);
    }
    const char32_t c = escaped();
    return {{c, c}};
  }

  char32_t escaped() {
    const char c = text_.front();
    text_.remove_prefix(1);
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      default: break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || static_cast<unsigned char>(c) >= 0x80) { failed_ = true; }
    return static_cast<unsigned char>(c);
  }

  Ranges bracket() {
    const bool negated = take("^");
    Ranges out;
    bool first = true;
    while (!failed_) {
      if (text_.empty()) {
        failed_ = true;
        return {};
      }
      if (!first && take("]")) { break; }
      first = false;
      bracketItem(out);
    }
    return negated ? inverted(std::move(out)) : out;
  }

  void bracketItem(Ranges& out) {
    if (take("[:")) {
      const std::size_t end = text_.find(":]");
      const auto named = namedClass(text_.substr(0, end));
      if (!named) {
        failed_ = true;
        return;
      }
      text_.remove_prefix(end + 2);
      out.insert(out.end(), named->begin(), named->end());
      return;
    }
    Ranges low = escapedOrOne();
    const bool range = text_.size() > 1 && text_.front() == '-' && text_[1] != ']';
    if (failed_ || !range || low.size() != 1 || low[0].first != low[0].second) {
      out.insert(out.end(), low.begin(), low.end());
      return;
    }
    text_.remove_prefix(1);
    const Ranges high = escapedOrOne();
    if (failed_ || high.size() != 1 || high[0].first != high[0].second || high[0].first < low[0].first) {
      failed_ = true;
      return;
    }
    out.emplace_back(low[0].first, high[0].first);
  }

  std::string_view text_;
  bool failed_ = false;
};

class Emitter {
 public:
  std::vector<Pattern::Instruction> program;
  std::vector<Ranges> sets;
  bool too_large = false;

  void emit(const Node& node) {
    work_ += 1 + node.set.size();
    if (program.size() > kMaxProgram || work_ > kMaxWork) { too_large = true; }
    if (too_large) { return; }
    switch (node.kind) {
      case Node::Kind::Empty: return;
      case Node::Kind::Begin: add(Op::Begin); return;
      case Node::Kind::End: add(Op::End); return;
      case Node::Kind::Set:
        sets.push_back(node.set);
        program[add(Op::Char)].x = static_cast<std::uint32_t>(sets.size() - 1);
        return;
      case Node::Kind::Concat:
        for (const NodePtr& part : node.parts) { emit(*part); }
        return;
      case Node::Kind::Alternate: emitAlternate(node); return;
      case Node::Kind::Repeat: emitRepeat(node); return;
    }
  }
  std::size_t add(Op op) {
    program.push_back({op, 0, 0});
    return program.size() - 1;
  }

 private:
  [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(program.size()); }

  void emitAlternate(const Node& node) {
    std::vector<std::size_t> exits;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const std::size_t split = last ? 0 : add(Op::Split);
      if (!last) { program[split].x = here(); }
      emit(*node.parts[i]);
      if (!last) {
        exits.push_back(add(Op::Jump));
        program[split].y = here();
      }
    }
    for (const std::size_t e : exits) { program[e].x = here(); }
  }

  void emitRepeat(const Node& node) {
    const Node& item = *node.parts.front();
    for (int i = 0; i < node.min && !too_large; ++i) { emit(item); }
    if (node.max < 0) {
      const std::size_t split = add(Op::Split);
      program[split].x = here();
      emit(item);
      program[add(Op::Jump)].x = static_cast<std::uint32_t>(split);
      program[split].y = here();
      return;
    }
    std::vector<std::size_t> splits;
    for (int i = node.min; i < node.max && !too_large; ++i) {
      splits.push_back(add(Op::Split));
      program[splits.back()].x = here();
      emit(item);
    }
    for (const std::size_t s : splits) { program[s].y = here(); }
  }

  std::size_t work_ = 0;
};

}  // namespace

char32_t takeCodePoint(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (length == 1 || length > text.size()) {
    text.remove_prefix(1);
    return lead;
  }
  char32_t c = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      text.remove_prefix(1);
      return lead;
    }
    c = (c << 6U) | (byte(i) & 0x3FU);
  }
  text.remove_prefix(length);
  return c;
}

std::size_t codePoints(std::string_view text) {
  std::size_t n = 0;
  for (; !text.empty(); ++n) { (void)takeCodePoint(text); }
  return n;
}

std::optional<Pattern> Pattern::compile(std::string_view text) {
  const NodePtr root = Parser{text}.parse();
  if (root == nullptr) { return std::nullopt; }
  Emitter emitter;
  emitter.emit(*root);
  emitter.add(Op::Match);
  if (emitter.too_large) { return std::nullopt; }
  Pattern out;
  out.program_ = std::move(emitter.program);
  out.sets_ = std::move(emitter.sets);
  return out;
}

/// Adds `start` and all that is reached from it without a character. `mark` keeps each instruction once per step.
void Pattern::follow(std::vector<std::uint32_t>& threads, std::vector<std::uint32_t>& mark,
                     std::uint32_t generation, std::uint32_t start, bool at_begin, bool at_end) const {
  std::vector<std::uint32_t> reached{start};
  while (!reached.empty()) {
    const std::uint32_t pc = reached.back();
    reached.pop_back();
    if (mark[pc] == generation) { continue; }
    mark[pc] = generation;
    const Instruction& in = program_[pc];
    switch (in.op) {
      case Op::Jump: reached.push_back(in.x); break;
      case Op::Split:
        reached.push_back(in.y);
        reached.push_back(in.x);
        break;
      case Op::Begin:
        if (at_begin) { reached.push_back(pc + 1); }
        break;
      case Op::End:
        if (at_end) { reached.push_back(pc + 1); }
        break;
      case Op::Char:
      case Op::Match: threads.push_back(pc); break;
    }
  }
}

bool Pattern::matches(std::string_view text) const {
  std::vector<std::uint32_t> threads;
  std::vector<std::uint32_t> next;
  std::vector<std::uint32_t> mark(program_.size(), 0);
  std::uint32_t generation = 1;
  bool begin = true;
  follow(threads, mark, generation, 0, true, text.empty());
  while (true) {
    for (const std::uint32_t pc : threads) {
      if (program_[pc].op == Op::Match) { return true; }
    }
    if (text.empty()) { return false; }
    const char32_t c = takeCodePoint(text);
    begin = false;
    ++generation;
    next.clear();
    for (const std::uint32_t pc : threads) {
      const Ranges& set = sets_[program_[pc].x];
      const bool hit =
          std::any_of(set.begin(), set.end(), [c](const auto& r) { return r.first <= c && c <= r.second; });
      if (hit) { follow(next, mark, generation, pc + 1, begin, text.empty()); }
    }
    follow(next, mark, generation, 0, begin, text.empty());  // it may also start here
    std::swap(threads, next);
  }
}

}  // namespace gs::apiserver
