// SPDX-License-Identifier: Apache-2.0
//
// A program as JSON.
#include "runtime/engine/describe.h"

#include "runtime/base/json_writer.h"
#include "runtime/io/input_check.h"

namespace echelon::runtime {

namespace {

class Describer {
public:
  Describer() : json(text) {}

  std::string describe(const ech_program &program) {
    json.beginObject();
    word("model", program.model);
    word("compiler", program.compiler);
    word("plan_hash", program.plan_hash);
    whole("abi", program.abi_version);
    whole("world_size", program.world_size);
    whole("micro", static_cast<uint64_t>(program.micro));
    whole("accumulate", static_cast<uint64_t>(program.accumulate));
    whole("seed", program.seed);
    number("flops_palm", program.flops_palm);
    number("flops_causal", program.flops_causal);
    number("flops_hardware", program.flops_hardware);
    list("arenas", program.arenas, ECH_ARENA_COUNT);
    list("inputs", program.inputs, program.input_count);
    list("variables", program.variables, program.variable_count, program);
    list("weight_files", program.weight_files, program.weight_file_count);
    json.endObject();
    text += '\n';
    return std::move(text);
  }

private:
  void word(const char *key, const char *value) {
    json.key(key);
    json.text(value ? value : "");
  }
  void whole(const char *key, uint64_t value) {
    json.key(key);
    json.unsignedInteger(value);
  }
  void number(const char *key, double value) {
    json.key(key);
    json.number(value);
  }

  template <typename T, typename... Rest>
  void list(const char *key, const T *items, uint32_t count,
            const Rest &...rest) {
    json.key(key);
    json.beginArray();
    for (uint32_t i = 0; i < count; ++i) {
      json.beginObject();
      item(items[i], rest...);
      json.endObject();
    }
    json.endArray();
  }

  void tensor(int32_t dtype, const int64_t *shape, int32_t rank,
              uint64_t offset, uint64_t bytes) {
    word("dtype", dtypeName(dtype));
    json.key("shape");
    json.beginArray();
    for (int32_t i = 0; i < rank; ++i)
      json.integer(shape[i]);
    json.endArray();
    whole("offset", offset);
    whole("bytes", bytes);
  }

  void item(const ech_arena &arena) {
    word("name", arena.name);
    whole("bytes", arena.bytes);
  }

  void item(const ech_input &input) {
    static constexpr const char *kRoles[] = {"feature", "tokens", "labels"};
    word("name", input.name);
    word("role", kRoles[input.role]);
    tensor(input.dtype, input.shape, input.rank, input.offset, input.bytes);
    json.key("limit");
    json.integer(input.limit);
    if (input.role == ECH_ROLE_LABELS) {
      json.key("ignore_index");
      json.integer(input.ignore_index);
    }
  }

  void item(const ech_variable &variable, const ech_program &program) {
    static constexpr const char *kInits[] = {"file", "constant", "normal",
                                             "uniform"};
    word("name", variable.name);
    word("arena", program.arenas[variable.arena].name);
    if (variable.arena == ECH_ARENA_PARAMETERS) {
      json.key("trainable");
      json.boolean(variable.trainable);
    }
    tensor(variable.dtype, variable.shape, variable.rank, variable.offset,
           variable.bytes);
    word("init", kInits[variable.init]);
    if (variable.init == ECH_INIT_FILE) {
      word("file", program.weight_files[variable.file_index].path);
      word("file_dtype", dtypeName(variable.file_dtype));
      whole("file_offset", variable.file_offset);
      json.key("file_xxh64");
      json.hexadecimal(variable.file_hash);
    }
    if (variable.owner >= 0)
      word("owner", program.variables[variable.owner].name);
  }

  void item(const ech_weight_file &file) {
    word("path", file.path);
    whole("bytes", file.bytes);
  }

  std::string text;
  JsonWriter json;
};

} // namespace

std::string describeProgram(const ech_program &program) {
  return Describer().describe(program);
}

} // namespace echelon::runtime
