#include "models/machine/gemm_choices_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/models/error_of.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// A folder with a table and a cache of its own.
class GemmChoicesFile : public testing::Test {
 protected:
  GemmChoicesFile() {
    std::string name = testing::TempDir() + "weft_kernels_XXXXXX";
    folder = mkdtemp(name.data());
    setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  }
  ~GemmChoicesFile() override {
    unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder);
  }

  /// A table of one shape, so long that it is worth compiling.
  void write_table(int tile_m) const {
    std::ofstream(table()) << "weft.gemm_kernels/1\nkernel " << tile_m << "x128x64 1x1 4 1\n512 256:1024\n#"
                           << std::string(1 << 20, '-') << '\n';
  }
  fs::path table() const { return folder / "a.gemm_kernels.txt"; }
  fs::path compiled() const { return folder / "a.gemm_kernels.bin"; }
  std::vector<fs::path> cached() const {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / "cache/weft", error)) files.push_back(entry.path());
    return files;
  }
  int tile_m() const { return read_gemm_choices(table()).find({256, 512, 1024}).value().tile_m; }

  /// Lets the kernel in a compiled table have another tile: an answer that no text gives tells where it is from.
  static void change_tile(const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::int32_t tile_n = 128, tile_m = 32;
    const auto place = bytes.find(std::string(reinterpret_cast<const char*>(&tile_n), sizeof tile_n));
    file.seekp(static_cast<std::streamoff>(place - sizeof tile_m));
    file.write(reinterpret_cast<const char*>(&tile_m), sizeof tile_m);
  }

  fs::path folder;
};

TEST_F(GemmChoicesFile, IsReadAsTextWhereItIsSmall) {
  std::ofstream(table()) << "weft.gemm_kernels/1\nkernel 64x128x64 1x1 4 1\n512 256:1024\n";
  EXPECT_EQ(tile_m(), 64);
  EXPECT_TRUE(cached().empty());
}

TEST_F(GemmChoicesFile, IsMappedWhereItsCompiledFormLiesBesideIt) {
  write_table(64);
  compile_gemm_choices(table(), compiled());
  EXPECT_EQ(tile_m(), 64);
  change_tile(compiled());
  EXPECT_EQ(tile_m(), 32);
  EXPECT_TRUE(cached().empty());
}

TEST_F(GemmChoicesFile, IsReadWhereItsCompiledFormWasMadeOfAnotherText) {
  write_table(64);
  compile_gemm_choices(table(), compiled());
  write_table(96);
  EXPECT_EQ(tile_m(), 96);
}

TEST_F(GemmChoicesFile, IsReadWhereItsCompiledFormIsNotWhole) {
  write_table(64);
  compile_gemm_choices(table(), compiled());
  change_tile(compiled());
  fs::resize_file(compiled(), fs::file_size(compiled()) - 1);
  EXPECT_EQ(tile_m(), 64);
}

TEST_F(GemmChoicesFile, IsCompiledIntoTheCacheWhenItIsFirstRead) {
  write_table(64);
  EXPECT_EQ(tile_m(), 64);
  ASSERT_EQ(cached().size(), 1u);
  change_tile(cached().front());
  EXPECT_EQ(tile_m(), 32);
  write_table(96);
  EXPECT_EQ(tile_m(), 96);
  EXPECT_EQ(cached().size(), 2u);
}

TEST_F(GemmChoicesFile, IsCompiledAgainWhereTheCacheHoldsSomethingElse) {
  write_table(64);
  EXPECT_EQ(tile_m(), 64);
  std::ofstream(cached().at(0)) << "no table";
  EXPECT_EQ(tile_m(), 64);
  change_tile(cached().at(0));
  EXPECT_EQ(tile_m(), 32);
}

TEST_F(GemmChoicesFile, IsReadWhereTheCacheCannotBeWritten) {
  write_table(64);
  std::ofstream(folder / "cache") << "a file where the folder should be";
  EXPECT_EQ(tile_m(), 64);
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "", 1);
  EXPECT_EQ(tile_m(), 64);
}

TEST_F(GemmChoicesFile, IsNamedWithTheLineThatIsWrong) {
  EXPECT_THAT(error_of([&] { read_gemm_choices(table()); }),
              StartsWith(table().string() + ": expected a readable file"));
  std::ofstream(table()) << "weft.gemm_kernels/1\nkernel\n";
  EXPECT_THAT(error_of([&] { read_gemm_choices(table()); }), StartsWith(table().string() + ": line 2: expected"));
}

}  // namespace
}  // namespace weft
