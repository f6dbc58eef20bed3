#include "tests/compressed.hpp"

#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>

namespace weft::tests {

std::string compressed(const std::string& text) {
  namespace io = boost::iostreams;
  std::string bytes;
  io::filtering_ostream out;
  out.push(io::gzip_compressor());
  out.push(io::back_inserter(bytes));
  io::copy(io::array_source(text.data(), text.size()), out);
  return bytes;
}

}  // namespace weft::tests
