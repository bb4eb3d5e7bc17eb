// Verifier: reads what is in the store again, tree by tree, and notes files whose bytes are not what they
// should be, and folders that are not there (Store::noteDamage()). Disks forget, and so do people who write
// into a store: a kernel that is not the image's must not be there unseen, nor for good.
//
// Each file is read once in a pass, however many trees have it (by its inode, and what its bytes were). After
// the last tree the first follows. step() reads some bytes; how often it is called is the caller's business.
// The store's turn is taken for moments only: files are read by their open folders, and one that goes
// meanwhile is passed over. One thread; the store outlives it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/hash.h"
#include "cacherim/keeper/fetch.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {

class Verifier {
 public:
  explicit Verifier(SharedStore& store);

  /// Reads no more than about so many bytes; a look at a file counts as kLook of them, and what the records
  /// say of it as kEntry. How many it read; 0, once after each pass: it is over.
  std::uint64_t step(std::uint64_t bytes);
  /// Of all steps.
  [[nodiscard]] std::uint64_t verified() const { return verified_; }

 private:
  static constexpr std::uint64_t kLook = 4096;
  static constexpr std::uint64_t kEntry = 256;
  static constexpr std::size_t kPiece = std::size_t{128} << 10;
  struct Tree {
    kcache::Digest image;
    Fd root;
    TreeContent content;
    std::set<std::string>::const_iterator next_folder;
    StoredFiles::const_iterator next;
  };
  /// The first half of a file's SHA-256, in digits: nobody finds two files with one.
  using Half = std::array<char, 32>;
  struct File {
    Fd fd;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    Sha256 hash;
  };

  [[nodiscard]] bool nextTree();
  void takeTree(Fd root, TreeContent content);
  void lookAtFolder();
  /// False: there is nothing to read of it.
  [[nodiscard]] bool beginFile();
  /// How many bytes; 0: it is read.
  [[nodiscard]] std::uint64_t readSome();
  void endFile();
  void damaged(std::uint64_t inode);
  [[nodiscard]] static Half halfOf(const std::string& hex);

  SharedStore& store_;
  const Disk disk_;                     // the store's
  std::optional<kcache::Digest> last_;  // tree
  std::optional<Tree> tree_;
  std::optional<File> file_;            // of it, that is being read
  bool is_over_ = false;                // the pass, and nobody was told
  bool is_broken_ = false;              // the disk did not give all of it
  std::map<std::uint64_t, Half> read_;  // by inode, in this pass: what is in it, and was right for one tree
  std::string piece_ = std::string(kPiece, '\0');
  std::uint64_t verified_ = 0;
};

}  // namespace gs::cacherim
