# One INTERFACE target carries the language standard and the warnings; every target links it.
option(WEFT_SANITIZE "Build with address and undefined-behaviour sanitizers" OFF)
set(WEFT_CUDA AUTO CACHE STRING "Build the device part: AUTO (where a CUDA toolkit is found), ON or OFF")
set(WEFT_PYTHON AUTO CACHE STRING "Build the Python module: AUTO (where Python's headers and pybind11 are found), ON or OFF")
set(WEFT_REPORT_PAGE AUTO CACHE STRING "Bundle the page of weft explore --html: AUTO (where node and npm are), ON or OFF")
option(WEFT_STATIC "Link everything but CUDA and NCCL statically, for machines that have nothing else" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(weft_options INTERFACE)
target_include_directories(weft_options INTERFACE ${PROJECT_SOURCE_DIR})
# -Wno-restrict: g++ 12 warns falsely about `"text" + std::string` (GCC bug 105651).
# In Release several files are one source, where a name that is one file's own may hide another's.
# Contraction would let the compiler fuse a*b+c on one machine and not on another: same input, same bits.
target_compile_options(weft_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic $<$<NOT:$<CONFIG:Release>>:-Wshadow>
  -Wno-restrict -ffp-contract=off>)
if(WEFT_SANITIZE)
  # The checks that are left out stand before each use of a pointer and cost a quarter of the compile time. What they
  # find, the address sanitizer finds where the memory is touched; x86 reads unaligned memory as well.
  target_compile_options(weft_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined
    -fno-sanitize=null,alignment,object-size,vptr -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(weft_options INTERFACE -fsanitize=address,undefined)
endif()

# Libraries whose files include much of the same: so many of them as one source take half of the compile time. Only for
# Release, so that every file is compiled by itself elsewhere, and must stand alone.
function(weft_is_compiled_in_batches)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# A library that takes its time in thousands of small calls an answer: as one source it lets the compiler put their
# bodies where they are called, GCC where it is told that this is worth a larger program. Only for Release, so that
# every file is compiled by itself elsewhere, and must stand alone.
function(weft_is_compiled_as_one library)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_compile_options(${library} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=inline-unit-growth=400
      --param=early-inlining-insns=40 --param=max-inline-insns-auto=60>)
  endif()
endfunction()

# What modules that other programs load are made of: the extension of Python and the device part. Calls within it stay as
# direct as in a program.
function(weft_may_be_loaded)
  foreach(library ${ARGN})
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${library} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  endforeach()
endfunction()

if(WEFT_STATIC)
  target_link_options(weft_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
