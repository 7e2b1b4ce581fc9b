# SPDX-License-Identifier: Apache-2.0
# The three functions that every folder's CMake file uses, and the one shared precompiled header.

separate_arguments(echelon_llvm_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})

set(echelon_sanitize "")
if(ECHELON_ASAN)
  set(echelon_sanitize -fsanitize=address,undefined -fno-omit-frame-pointer)
elseif(ECHELON_TSAN)
  set(echelon_sanitize -fsanitize=thread -fno-omit-frame-pointer)
endif()
if(echelon_sanitize)
  add_compile_options(${echelon_sanitize})
  add_link_options(${echelon_sanitize})
endif()

function(echelon_settings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -fdata-sections -ffunction-sections)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
endfunction()

# Compiler-side settings: MLIR and generated headers are system includes.
function(echelon_mlir_settings target)
  echelon_settings(${target})
  target_compile_definitions(${target} PRIVATE ${echelon_llvm_definitions})
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${CMAKE_BINARY_DIR})
endfunction()

# echelon_library(NAME sources... [DEPENDS tablegen targets...] [LINK libraries...] [NO_PCH])
function(echelon_library name)
  cmake_parse_arguments(arg "NO_PCH" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  echelon_mlir_settings(${name})
  if(NOT arg_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM EchelonPch)
  endif()
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# echelon_passes(PHASE): passes.td -> passes.h.inc, target Echelon<Phase>PassesGen
function(echelon_passes name)
  set(LLVM_TARGET_DEFINITIONS passes.td)
  mlir_tablegen(passes.h.inc -gen-pass-decls -name=${name})
  add_public_tablegen_target(Echelon${name}PassesGen)
endfunction()

file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
add_library(EchelonPch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
echelon_mlir_settings(EchelonPch)
target_precompile_headers(EchelonPch PRIVATE ${CMAKE_SOURCE_DIR}/tools/cmake/pch.h)
