/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between the two towers. Compiled code exports one `ech_program`
 * (symbol `ech_program_export`); the runtime maps its arenas, fills its inputs and
 * calls its entries. Kernels (kernels.def) are called by compiled code directly and
 * receive the `ech_launch` of the running step as their first argument.
 *
 * C99, plain data, no allocation: every pointer in a program points into the
 * binary's read-only data. All sizes are bytes unless a name says otherwise; all
 * tensors are dense, row-major, little endian; every arena offset is a multiple of
 * ECH_ALIGNMENT.
 */
#ifndef ECHELON_RUNTIME_ABI_ABI_H
#define ECHELON_RUNTIME_ABI_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ECH_ABI_VERSION 1
#define ECH_ALIGNMENT 64

/* Scratch memory that each worker owns during a kernel; part of the planned bytes
 * (arena class `temporary`). A kernel that needs more must be tiled until it does not. */
#define ECH_WORKSPACE_BYTES (4u << 20)

typedef enum ech_dtype {
  ECH_F32 = 0,
  ECH_BF16 = 1,
  ECH_F64 = 2,
  ECH_I32 = 3,
  ECH_I64 = 4,
  ECH_BOOL = 5, /* one byte, 0 or 1 */
  ECH_F16 = 6   /* in weight files only */
} ech_dtype;

/* Memory by class. The order is part of the contract: `ech_launch.arenas` is indexed by it. */
typedef enum ech_arena_class {
  ECH_ARENA_PARAMETERS = 0, /* f32 weights, trainable and frozen */
  ECH_ARENA_GRADIENTS = 1,  /* zero before step 0; the update leaves it zero */
  ECH_ARENA_OPTIMIZER = 2,  /* zero before step 0 */
  ECH_ARENA_METRICS = 3,    /* scalars; the runtime zeroes it before each step */
  ECH_ARENA_INPUTS = 4,     /* the current microbatch's inputs */
  ECH_ARENA_ACTIVATIONS = 5,/* activations and temporaries, packed by lifetime */
  ECH_ARENA_COMMUNICATION = 6,
  ECH_ARENA_COUNT = 7
} ech_arena_class;

/* How a variable gets its first value. */
typedef enum ech_init {
  ECH_INIT_FILE = 0,    /* `file_bytes` bytes at `file_offset` of the weights file, in `file_dtype` */
  ECH_INIT_CONSTANT = 1,/* every element is `init_a` */
  ECH_INIT_NORMAL = 2,  /* mean init_a, standard deviation init_b */
  ECH_INIT_UNIFORM = 3  /* in [init_a, init_b) */
} ech_init;

/* A named, persistent tensor: parameter, gradient, optimizer state or metric. */
typedef struct ech_variable {
  const char *name;      /* ONNX name; states are "<parameter>.exp_avg" etc. */
  int32_t arena;         /* ech_arena_class: PARAMETERS, GRADIENTS, OPTIMIZER or METRICS */
  int32_t dtype;         /* ech_dtype of the memory */
  int32_t rank;
  int32_t trainable;     /* parameters only */
  const int64_t *shape;  /* rank values */
  uint64_t offset;       /* in its arena */
  uint64_t bytes;
  int32_t init;          /* ech_init; gradients, states and metrics are ECH_INIT_CONSTANT 0 */
  int32_t file_index;    /* into ech_program.weight_files, -1 unless ECH_INIT_FILE */
  uint64_t file_offset;
  uint64_t file_bytes;
  uint64_t file_hash;    /* XXH64, seed 0, of those bytes */
  int32_t file_dtype;    /* ech_dtype in the file: F32, F64, BF16 or F16 */
  int32_t owner;         /* gradients and states: index of their parameter; else -1 */
  double init_a;
  double init_b;
  uint64_t init_stream;  /* random stream: a hash of the name, so that values do not depend on order */
} ech_variable;

/* One graph input of a microbatch; dim 0 is the batch. */
typedef struct ech_input {
  const char *name;
  int32_t dtype;
  int32_t rank;
  const int64_t *shape;  /* local shape of one microbatch */
  uint64_t offset;       /* in ECH_ARENA_INPUTS */
  uint64_t bytes;
  int64_t limit;         /* integer inputs used as indices: values must be in [-limit, limit); 0: unchecked */
  int32_t role;          /* ech_input_role */
  int32_t ignore_index;  /* labels: this value is allowed besides [0, limit) */
} ech_input;

typedef enum ech_input_role {
  ECH_ROLE_FEATURE = 0, /* anything that a token file cannot fill */
  ECH_ROLE_TOKENS = 1,  /* i64 [batch, sequence]: filled with tokens [0, sequence) of a sample */
  ECH_ROLE_LABELS = 2   /* i64 [batch, sequence]: filled with tokens [1, sequence + 1) */
} ech_input_role;

struct ech_launch;
typedef struct ech_launch ech_launch;

/* Runs body(arg, i, worker) for each i in [0, count); worker in [0, workers). Returns
 * when all have ended. Bodies may run in any order and must not depend on it. */
typedef void (*ech_parallel_body)(void *arg, int64_t index, int32_t worker);
typedef void (*ech_parallel_for)(const ech_launch *launch, int64_t count,
                                 ech_parallel_body body, void *arg);

/* The state of a running step, first argument of every entry and kernel. */
struct ech_launch {
  void *arenas[ECH_ARENA_COUNT];
  void *workspace;         /* workers x ECH_WORKSPACE_BYTES, aligned to ECH_ALIGNMENT */
  ech_parallel_for parallel_for;
  void *executor;          /* the runtime's own, behind parallel_for */
  int32_t workers;
  int32_t microbatch;      /* 0 .. accumulate - 1 */
  int64_t step;            /* 0-based */
  uint64_t seed;
  /* Called by programs compiled with --check-numerics after each kernel, else unused:
   * `place` names the op (ONNX node); count elements of f32 at `values`. */
  void (*check_numerics)(const ech_launch *launch, const char *place,
                         const float *values, int64_t count);
  void *check_state;
};

typedef void (*ech_entry)(const ech_launch *launch);

typedef struct ech_weight_file {
  const char *path;      /* relative to the directory of the binary */
  uint64_t bytes;
} ech_weight_file;

typedef struct ech_arena {
  uint64_t bytes;        /* planned = mapped */
  const char *name;      /* "weights", "gradients", "optimizer", "metrics", "inputs", "activations", "communication" */
} ech_arena;

typedef struct ech_program {
  uint32_t abi_version;  /* ECH_ABI_VERSION */
  uint32_t struct_bytes; /* sizeof(ech_program) */
  const char *model;     /* file name of the ONNX model */
  const char *compiler;  /* "echelon 0.1.0" */
  const char *plan_hash; /* 16 hex digits */
  const char *plan_json;
  ech_arena arenas[ECH_ARENA_COUNT];

  const ech_weight_file *weight_files;
  const ech_variable *variables; /* all classes */
  const ech_input *inputs;
  uint32_t weight_file_count;
  uint32_t variable_count;
  uint32_t input_count;
  uint32_t world_size;   /* ranks; 1 here */

  int64_t micro;         /* rows of a microbatch */
  int64_t accumulate;    /* default microbatches a step */
  uint64_t seed;

  /* Per microbatch, model FLOPs (2 a multiply-add): forward + backward without recompute.
   * `palm` counts the whole attention square, `causal` only what the mask keeps,
   * `hardware` what is executed. Source of the convention: docs/explanation/mfu.md */
  double flops_palm;
  double flops_causal;
  double flops_hardware;

  /* Metrics arena: offsets of f32 scalars. loss_sum and loss_count add up over the
   * microbatches; the others are written by `update`. */
  uint64_t metric_loss_sum;
  uint64_t metric_loss_count;
  uint64_t metric_gradient_square_sum; /* of d(loss_sum)/d(parameters), before clipping, trainable only */
  uint64_t metric_learning_rate;

  ech_entry microbatch;  /* forward and backward: adds into gradients and loss_* */
  ech_entry update;      /* norm, clip, optimizer; zeroes the gradients */
  ech_entry evaluate;    /* forward only: adds into loss_* */

  /* Where `evaluate` leaves the logits [logits_rows, logits_classes]: f32, dense, at this offset of
   * ECH_ARENA_ACTIVATIONS. logits_classes 0: nowhere. */
  uint64_t logits_offset;
  int64_t logits_rows;
  int64_t logits_classes;
  ech_entry reserved[4];
} ech_program;

/* Exported by compiled code, read by runtime/main. */
extern const ech_program ech_program_export;

/* Process exit codes: an API for schedulers (docs/reference/exit-codes.md). */
enum {
  ECH_EXIT_DONE = 0,
  ECH_EXIT_INPUT = 1,
  ECH_EXIT_USAGE = 2,
  ECH_EXIT_INFEASIBLE = 3,
  ECH_EXIT_CHECK = 4,
  ECH_EXIT_INTERNAL = 70,
  ECH_EXIT_DISK = 74,
  ECH_EXIT_LOST_PEER = 75,
  ECH_EXIT_HANG = 76,
  ECH_EXIT_NUMERIC = 77,
  ECH_EXIT_MEMORY = 78,
  ECH_EXIT_MISMATCH = 79,
  ECH_EXIT_PREEMPTED = 85
};

#ifdef __cplusplus
}
#endif
#endif
