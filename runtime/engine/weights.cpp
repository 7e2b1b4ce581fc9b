// SPDX-License-Identifier: Apache-2.0
//
// Where weights come from.
#include "runtime/engine/weights.h"

#include "runtime/base/suggest.h"
#include "runtime/base/text.h"
#include "runtime/engine/initial_values.h"
#include "runtime/io/input_check.h"
#include "runtime/observe/console.h"

#include <cmath>
#include <climits>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace echelon::runtime {

namespace {

std::string binaryDirectory() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0)
    return ".";
  return directoryOf(std::string(path, static_cast<size_t>(length)));
}

bool isDirectory(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Where weights file `index` is to be opened.
std::string weightFilePath(const ech_program &program, uint32_t index,
                           const std::string &weights) {
  std::string recorded = program.weight_files[index].path;
  if (isDirectory(weights))
    return weights + "/" + fileNameOf(recorded);
  bool isOnly = program.weight_file_count == 1;
  if (!weights.empty() &&
      (isOnly || fileNameOf(weights) == fileNameOf(recorded)))
    return weights;
  if (recorded[0] == '/')
    return recorded;
  return binaryDirectory() + "/" + recorded;
}

Result<std::vector<MappedFile>> openWeightFiles(const ech_program &program,
                                                const std::string &weights) {
  std::vector<MappedFile> files;
  if (!weights.empty() && program.weight_file_count > 1 &&
      !isDirectory(weights)) {
    std::vector<std::string> names;
    bool isKnown = false;
    for (uint32_t i = 0; i < program.weight_file_count; ++i) {
      names.push_back(fileNameOf(program.weight_files[i].path));
      isKnown |= names.back() == fileNameOf(weights);
    }
    if (!isKnown)
      return failure(
          ECH_EXIT_USAGE,
          "--weights '%s' is none of the program's %u weights files%s; a "
          "folder that holds all of them is fine, too",
          weights.c_str(), program.weight_file_count,
          suggestion(fileNameOf(weights), {names.begin(), names.end()})
              .c_str());
  }
  for (uint32_t i = 0; i < program.weight_file_count; ++i) {
    std::string path = weightFilePath(program, i, weights);
    Result<MappedFile> file = MappedFile::open(path);
    if (!file.isOk()) {
      Status status = file.status();
      status.message = "weights file: " + status.message +
                       "; pass --weights with its new place";
      return status;
    }
    files.push_back(std::move(file.value()));
  }
  return files;
}

Status readFromFile(const ech_variable &variable, const MappedFile &file,
                    float *target) {
  uint64_t end = 0;
  if (__builtin_add_overflow(variable.file_offset, variable.file_bytes, &end) ||
      end > file.size())
    return failure(ECH_EXIT_INPUT,
                   "weights file '%s' has %llu bytes, but tensor '%s' ends at "
                   "%llu: truncated, or not the file that was compiled",
                   file.path().c_str(),
                   static_cast<unsigned long long>(file.size()), variable.name,
                   static_cast<unsigned long long>(end));
  const uint8_t *bytes = file.data() + variable.file_offset;
  uint64_t hash = xxh64(bytes, variable.file_bytes);
  if (hash != variable.file_hash)
    return failure(ECH_EXIT_INPUT,
                   "weights file '%s': tensor '%s' has hash %016llx, the "
                   "program was compiled from %016llx: the file has changed, "
                   "compile again or pass the original with --weights",
                   file.path().c_str(), variable.name,
                   static_cast<unsigned long long>(hash),
                   static_cast<unsigned long long>(variable.file_hash));
  convertToF32(bytes, variable.file_dtype, variable.bytes / 4, target);
  return {};
}

Status fillConstant(const ech_variable &variable, void *target) {
  if (variable.init_a == 0)
    return {}; // arenas start as zeros
  if (variable.dtype != ECH_F32)
    return failure(ECH_EXIT_INTERNAL,
                   "variable '%s' is %s and starts at %g: only f32 may start "
                   "at another value than 0",
                   variable.name, dtypeName(variable.dtype), variable.init_a);
  float *values = static_cast<float *>(target);
  for (uint64_t i = 0; i < variable.bytes / 4; ++i)
    values[i] = static_cast<float>(variable.init_a);
  return {};
}

Status initializeVariable(CpuDevice &device,
                          const std::vector<MappedFile> &files, uint64_t seed,
                          const ech_variable &variable) {
  float *target = device.at<float>(variable.arena, variable.offset);
  uint64_t count = variable.bytes / 4;
  if (variable.init == ECH_INIT_CONSTANT)
    return fillConstant(variable, target);
  if (variable.dtype != ECH_F32)
    return failure(ECH_EXIT_INTERNAL, "variable '%s' is %s, not f32",
                   variable.name, dtypeName(variable.dtype));
  if (variable.init == ECH_INIT_FILE)
    return readFromFile(
        variable, files[static_cast<size_t>(variable.file_index)], target);
  if (variable.init == ECH_INIT_NORMAL)
    fillNormal(device.pool(), target, count, variable.init_a, variable.init_b,
               seed, variable.init_stream);
  else
    fillUniform(device.pool(), target, count, variable.init_a, variable.init_b,
                seed, variable.init_stream);
  return {};
}

// A safetensors file goes by names unless it is, by name and size, a file of
// the program.
bool goesByNames(const ech_program &program, const std::string &weights) {
  if (!endsWith(weights, ".safetensors"))
    return false;
  struct stat info;
  if (stat(weights.c_str(), &info) != 0)
    return true;
  for (uint32_t i = 0; i < program.weight_file_count; ++i)
    if (fileNameOf(weights) == fileNameOf(program.weight_files[i].path) &&
        static_cast<uint64_t>(info.st_size) == program.weight_files[i].bytes)
      return false;
  return true;
}

Status readVariable(const ech_variable &variable, const SafetensorsFile &file,
                    void *target) {
  const TensorView *tensor = file.find(variable.name);
  const char *path = file.file().path().c_str();
  if (!tensor) {
    std::vector<std::string_view> names;
    for (const TensorView &view : file.tensors())
      names.push_back(view.name);
    return failure(ECH_EXIT_INPUT, "'%s' has no tensor '%s'%s", path,
                   variable.name, suggestion(variable.name, names).c_str());
  }
  std::string found, expected;
  appendShape(found, tensor->shape.data(),
              static_cast<int64_t>(tensor->shape.size()));
  appendShape(expected, variable.shape, variable.rank);
  if (found != expected)
    return failure(ECH_EXIT_INPUT,
                   "'%s': tensor '%s' has shape %s, the program has %s", path,
                   variable.name, found.c_str(), expected.c_str());
  if (tensor->dtype == safetensorsName(variable.dtype)) {
    if (tensor->bytes > 0)
      memcpy(target, tensor->data, tensor->bytes);
    return {};
  }
  int dtype = tensor->dtype == "F64"    ? ECH_F64
              : tensor->dtype == "BF16" ? ECH_BF16
              : tensor->dtype == "F16"  ? ECH_F16
                                        : -1;
  if (variable.dtype != ECH_F32 || dtype < 0)
    return failure(ECH_EXIT_INPUT,
                   "'%s': tensor '%s' has dtype %s, the program needs %s", path,
                   variable.name, tensor->dtype.c_str(),
                   safetensorsName(variable.dtype));
  convertToF32(tensor->data, dtype, variable.bytes / 4,
               static_cast<float *>(target));
  return {};
}

/// IEEE binary16, subnormals, infinities and NaN included.
float halfToFloat(uint16_t half) {
  int exponent = half >> 10 & 31;
  float fraction = static_cast<float>(half & 1023) / 1024.0f;
  float magnitude = exponent == 0 ? ldexpf(fraction, -14)
                    : exponent == 31
                        ? (fraction == 0 ? HUGE_VALF : NAN)
                        : ldexpf(1.0f + fraction, exponent - 15);
  return half & 0x8000 ? -magnitude : magnitude;
}

} // namespace

void convertToF32(const uint8_t *source, int dtype, uint64_t count,
                  float *target) {
  if (dtype == ECH_F32) {
    if (count > 0)
      memcpy(target, source, 4 * count);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (dtype == ECH_F64) {
      double wide;
      memcpy(&wide, source + 8 * i, 8);
      target[i] = static_cast<float>(wide);
    } else {
      uint16_t narrow;
      memcpy(&narrow, source + 2 * i, 2);
      uint32_t bits = static_cast<uint32_t>(narrow) << 16;
      if (dtype == ECH_F16)
        target[i] = halfToFloat(narrow);
      else
        memcpy(&target[i], &bits, 4);
    }
  }
}

Status readVariables(const ech_program &program, const CpuDevice &device,
                     int arena, const SafetensorsFile &file, bool strict,
                     size_t &extra) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < program.variable_count; ++i) {
    const ech_variable &variable = program.variables[i];
    if (variable.arena != arena)
      continue;
    names.push_back(variable.name);
    ECH_RETURN_IF_FAILED(
        readVariable(variable, file, device.at<void>(arena, variable.offset)));
  }
  extra = file.tensors().size() - names.size();
  if (extra == 0 || !strict)
    return {};
  for (const TensorView &tensor : file.tensors()) {
    bool isKnown = false;
    for (std::string_view name : names)
      isKnown |= name == tensor.name;
    if (!isKnown)
      return failure(ECH_EXIT_INPUT,
                     "'%s': tensor '%s' belongs to no variable of the program",
                     file.file().path().c_str(), tensor.name.c_str());
  }
  return {};
}

Status initializeVariables(const ech_program &program, CpuDevice &device,
                           const std::string &weights, uint64_t seed) {
  bool byNames = goesByNames(program, weights);
  std::vector<MappedFile> files;
  if (byNames) {
    Result<SafetensorsFile> file = SafetensorsFile::open(weights);
    if (!file.isOk())
      return file.status();
    size_t extra = 0;
    ECH_RETURN_IF_FAILED(readVariables(program, device, ECH_ARENA_PARAMETERS,
                                       file.value(), false, extra));
    if (extra > 0)
      printNote(formatText("'%s' has %zu tensors that the program does not use",
                           weights.c_str(), extra));
  } else {
    Result<std::vector<MappedFile>> opened = openWeightFiles(program, weights);
    if (!opened.isOk())
      return opened.status();
    files = std::move(opened.value());
    if (files.empty() && !weights.empty())
      return failure(ECH_EXIT_USAGE,
                     "--weights '%s': this program reads no weights file; only "
                     "a .safetensors file can replace its initial values",
                     weights.c_str());
  }
  for (uint32_t i = 0; i < program.variable_count; ++i) {
    const ech_variable &variable = program.variables[i];
    if (byNames && variable.arena == ECH_ARENA_PARAMETERS)
      continue;
    ECH_RETURN_IF_FAILED(initializeVariable(device, files, seed, variable));
  }
  return {};
}

} // namespace echelon::runtime
