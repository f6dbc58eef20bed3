#include "models/machine/gemm_choices_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "models/base/input_error.hpp"
#include "models/machine/gemm_choices_text.hpp"
#include "tests/compressed.hpp"
#include "tests/models/error_of.hpp"

namespace weft {
namespace gemm_choices_file_test {

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

  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write_bytes(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static void put(std::string& bytes, std::size_t place, auto number) {
    bytes.replace(place, sizeof number, reinterpret_cast<const char*>(&number), sizeof number);
  }

  // Of a compiled file: the last eight bytes of its header are the kernels' checksum.
  static constexpr std::size_t header_bytes = 48, kernel_bytes = 28, shape_bytes = 16;

  /// As whoever wrote the one kernel would have written the checksum.
  static void write_sealed(const fs::path& path, std::string bytes) {
    const std::string kernel = bytes.substr(header_bytes, kernel_bytes);
    put(bytes, header_bytes - sizeof(std::uint64_t), std::uint64_t{XXH3_64bits(kernel.data(), kernel.size())});
    write_bytes(path, bytes);
  }
  /// Lets the kernel in a compiled table have another tile: an answer that no text gives tells where it is from.
  static void change_tile(const fs::path& path) {
    std::string bytes = bytes_of(path);
    put(bytes, header_bytes, std::int32_t{32});
    write_sealed(path, bytes);
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

TEST_F(GemmChoicesFile, MayBeCompressed) {
  write_table(64);
  const fs::path gz = folder / "a.gemm_kernels.txt.gz";
  write_bytes(gz, tests::compressed(bytes_of(table())));
  EXPECT_EQ(to_text(read_gemm_choices(gz)), to_text(read_gemm_choices(table())));
  write_bytes(gz, "weft.gemm_kernels/1\n");
  EXPECT_THROW(read_gemm_choices(gz), InputError);
}

TEST_F(GemmChoicesFile, IsMappedWhereItIsCompressed) {
  std::string comment;
  for (std::mt19937_64 random; comment.size() < (1 << 20);) comment += std::to_string(random());
  const std::string text = "weft.gemm_kernels/1\nkernel 64x128x64 1x1 4 1\n512 256:1024\n#" + comment + "\n";
  const fs::path gz = folder / "a.gemm_kernels.txt.gz";
  write_bytes(gz, tests::compressed(text));
  compile_gemm_choices(gz, compiled());
  change_tile(compiled());
  EXPECT_EQ(read_gemm_choices(gz).find({256, 512, 1024}).value().tile_m, 32);
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

TEST_F(GemmChoicesFile, IsNeverAnsweredFromADamagedCompiledForm) {
  write_table(64);
  compile_gemm_choices(table(), compiled());
  change_tile(compiled());
  const std::string whole = bytes_of(compiled());
  ASSERT_EQ(whole.size(), header_bytes + kernel_bytes + shape_bytes);
  ASSERT_EQ(tile_m(), 32);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    write_bytes(compiled(), damaged);
    if (i < header_bytes + kernel_bytes)
      EXPECT_EQ(tile_m(), 64) << "byte " << i;
    else
      EXPECT_THAT(error_of([&] { tile_m(); }), HasSubstr("without damage")) << "byte " << i;
  }
}

TEST_F(GemmChoicesFile, IsRefusedWhereAShapeOfItsCompiledFormHasAKernelFromOutsideOfIt) {
  write_table(64);
  compile_gemm_choices(table(), compiled());
  change_tile(compiled());
  std::string bytes = bytes_of(compiled());
  GemmTable::Shape shape{};
  std::memcpy(&shape, bytes.data() + bytes.size() - sizeof shape, sizeof shape);
  shape.kernel = 1;
  shape.check = check_of(shape);
  put(bytes, bytes.size() - sizeof shape, shape);
  write_bytes(compiled(), bytes);
  EXPECT_THAT(error_of([&] { tile_m(); }), HasSubstr("each kernel it names"));
}

// 2^62 kernels of 28 bytes are none where products overflow.
TEST_F(GemmChoicesFile, IsReadWhereItsCompiledFormCountsMoreThanItHolds) {
  write_table(64);
  compile_gemm_choices(table(), compiled());
  std::string bytes = bytes_of(compiled());
  put(bytes, 24, std::uint64_t{1} << 62);
  bytes.erase(header_bytes, kernel_bytes);
  write_sealed(compiled(), bytes);
  EXPECT_EQ(tile_m(), 64);
}

TEST_F(GemmChoicesFile, WithAnotherChecksumIsRefused) {
  write_table(64);
  const std::string checksum = table_checksum(bytes_of(table()));
  EXPECT_EQ(checksum.size(), 16u);
  EXPECT_EQ(read_gemm_choices(table(), checksum).size(), 1u);
  write_table(96);
  EXPECT_THAT(error_of([&] { read_gemm_choices(table(), checksum); }),
              StartsWith(table().string() + ": expected a table with the checksum " + checksum + ", got one with "));
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

TEST_F(GemmChoicesFile, IsCompiledAgainWhereTheCacheIsDamaged) {
  write_table(64);
  EXPECT_EQ(tile_m(), 64);
  const std::string whole = bytes_of(cached().at(0));
  std::string damaged = whole;
  damaged[header_bytes] ^= 1;
  write_bytes(cached().at(0), damaged);
  EXPECT_EQ(tile_m(), 64);
  EXPECT_EQ(bytes_of(cached().at(0)), whole);
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

}  // namespace gemm_choices_file_test
}  // namespace weft
