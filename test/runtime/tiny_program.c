/* SPDX-License-Identifier: Apache-2.0
 *
 * A compiled program written by hand, to test the runtime without the compiler:
 * a bigram model h[r,:] = embed[ids[r],:],  logits[r,:] = h[r,:] head + bias +
 * shift,  softmax cross-entropy, trained by SGD with momentum 0.9. `shift` is a
 * frozen sum of three tensors read from a weights file in f32, f64 and bf16.
 * Sizes: V classes, D wide, sequence S, TINY_MICRO rows.
 *
 * Environment, read by the program itself: TINY_NAN_STEP (poison the loss of
 * that step) and TINY_SLEEP_MS (sleep in each microbatch). With TINY_TRACED it
 * calls tiny_trace of the test.
 */
#include "runtime/abi/abi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef TINY_MICRO
#define TINY_MICRO 4
#endif
#ifndef TINY_ACCUMULATE
#define TINY_ACCUMULATE 1
#endif
#ifndef TINY_EXPORT
#define TINY_EXPORT ech_program_export
#endif
#ifndef TINY_PLAN
#define TINY_PLAN "00112233445566aa"
#endif

enum { V = 16, D = 8, S = 6, ROWS = TINY_MICRO * S };

/* Offsets in bytes; everything is padded to 64. */
enum {
  EMBED = 0,
  HEAD = EMBED + V * D * 4,
  BIAS = HEAD + D * V * 4,
  TRAINED = BIAS + V * 4,
  SHIFT32 = TRAINED,
  SHIFT64 = SHIFT32 + V * 4,
  SHIFT16 = SHIFT64 + V * 4,
  PARAMETERS = SHIFT16 + V * 4
};
enum { IDS = 0, LABELS = ((ROWS * 8 + 63) / 64) * 64, INPUTS = 2 * LABELS };
enum {
  LOGITS = 0,
  LOSSES = ROWS * V * 4,
  ACTIVATIONS = LOSSES + ((ROWS * 8 + 63) / 64) * 64
};
enum { LOSS_SUM = 0, LOSS_COUNT = 4, SQUARE_SUM = 8, RATE = 12 };

static float *arena(const ech_launch *l, int class, int offset) {
  return (float *)((char *)l->arenas[class] + offset);
}

static long setting(const char *name) {
  const char *text = getenv(name);
  return text ? atol(text) : -1;
}

/* Logits and loss of one row; the logits become (softmax - one hot) if the
 * label counts. */
static void forwardRow(void *arg, int64_t r, int32_t worker) {
  const ech_launch *l = arg;
  (void)worker;
  const int64_t *ids = (const int64_t *)arena(l, ECH_ARENA_INPUTS, IDS);
  const int64_t *labels = (const int64_t *)arena(l, ECH_ARENA_INPUTS, LABELS);
  const float *embed = arena(l, ECH_ARENA_PARAMETERS, EMBED);
  const float *head = arena(l, ECH_ARENA_PARAMETERS, HEAD);
  const float *bias = arena(l, ECH_ARENA_PARAMETERS, BIAS);
  const float *shift = arena(l, ECH_ARENA_PARAMETERS, SHIFT32);
  float *logits = arena(l, ECH_ARENA_ACTIVATIONS, LOGITS) + r * V;
  double *losses = (double *)arena(l, ECH_ARENA_ACTIVATIONS, LOSSES);
  const float *h = embed + (ids[r] < 0 ? ids[r] + V : ids[r]) * D;
  float top = -INFINITY;
  for (int v = 0; v < V; ++v) {
    float z = bias[v] + shift[v] + shift[V + v] + shift[2 * V + v];
    for (int d = 0; d < D; ++d)
      z += h[d] * head[d * V + v];
    logits[v] = z;
    top = z > top ? z : top;
  }
  double sum = 0;
  for (int v = 0; v < V; ++v)
    sum += exp((double)logits[v] - top);
  if (labels[r] == -100) {
    losses[r] = 0;
    memset(logits, 0, V * 4);
    return;
  }
  losses[r] = log(sum) + top - logits[labels[r]];
  for (int v = 0; v < V; ++v)
    logits[v] = (float)(exp((double)logits[v] - top) / sum) - (v == labels[r]);
}

static void forward(const ech_launch *l) {
  const int64_t *labels = (const int64_t *)arena(l, ECH_ARENA_INPUTS, LABELS);
  const double *losses =
      (const double *)arena(l, ECH_ARENA_ACTIVATIONS, LOSSES);
  double sum = 0;
  int count = 0;
  l->parallel_for(l, ROWS, forwardRow, (void *)l);
  for (int r = 0; r < ROWS; ++r) {
    sum += losses[r];
    count += labels[r] != -100;
  }
  *arena(l, ECH_ARENA_METRICS, LOSS_SUM) += (float)sum;
  *arena(l, ECH_ARENA_METRICS, LOSS_COUNT) += (float)count;
}

static void backward(const ech_launch *l) {
  const int64_t *ids = (const int64_t *)arena(l, ECH_ARENA_INPUTS, IDS);
  const float *embed = arena(l, ECH_ARENA_PARAMETERS, EMBED);
  const float *head = arena(l, ECH_ARENA_PARAMETERS, HEAD);
  float *dembed = arena(l, ECH_ARENA_GRADIENTS, EMBED);
  float *dhead = arena(l, ECH_ARENA_GRADIENTS, HEAD);
  float *dbias = arena(l, ECH_ARENA_GRADIENTS, BIAS);
  for (int r = 0; r < ROWS; ++r) {
    const float *g = arena(l, ECH_ARENA_ACTIVATIONS, LOGITS) + r * V;
    int64_t row = ids[r] < 0 ? ids[r] + V : ids[r];
    for (int v = 0; v < V; ++v) {
      dbias[v] += g[v];
      for (int d = 0; d < D; ++d) {
        dhead[d * V + v] += embed[row * D + d] * g[v];
        dembed[row * D + d] += head[d * V + v] * g[v];
      }
    }
  }
}

#ifdef TINY_TRACED
void tiny_trace(const ech_launch *launch, int entry);
#else
static void tiny_trace(const ech_launch *launch, int entry) {
  (void)launch;
  (void)entry;
}
#endif

static void microbatch(const ech_launch *l) {
  tiny_trace(l, 0);
  long pause = setting("TINY_SLEEP_MS");
  if (pause > 0) {
    struct timespec t = {pause / 1000, (pause % 1000) * 1000000};
    nanosleep(&t, NULL);
  }
  forward(l);
  backward(l);
  if (setting("TINY_NAN_STEP") == l->step) {
    *arena(l, ECH_ARENA_METRICS, LOSS_SUM) = NAN;
    arena(l, ECH_ARENA_ACTIVATIONS, LOGITS)[3] = INFINITY;
  }
#ifdef TINY_CHECKED
  l->check_numerics(l, "embed/Gather", arena(l, ECH_ARENA_PARAMETERS, EMBED),
                    V * D);
  l->check_numerics(l, "head/MatMul", arena(l, ECH_ARENA_ACTIVATIONS, LOGITS),
                    ROWS * V);
  l->check_numerics(l, "loss", arena(l, ECH_ARENA_METRICS, LOSS_SUM), 1);
#endif
}

static void update(const ech_launch *l) {
  tiny_trace(l, 1);
  float *values = arena(l, ECH_ARENA_PARAMETERS, 0);
  float *gradients = arena(l, ECH_ARENA_GRADIENTS, 0);
  float *momenta = arena(l, ECH_ARENA_OPTIMIZER, 0);
  float count = *arena(l, ECH_ARENA_METRICS, LOSS_COUNT);
  float rate = 0.5f / (1.0f + 0.01f * (float)l->step);
  double squares = 0;
  for (int i = 0; i < TRAINED / 4; ++i) {
    squares += (double)gradients[i] * gradients[i];
    momenta[i] = 0.9f * momenta[i] + gradients[i] / count;
    values[i] -= rate * momenta[i];
    gradients[i] = 0;
  }
  *arena(l, ECH_ARENA_METRICS, SQUARE_SUM) = (float)squares;
  *arena(l, ECH_ARENA_METRICS, RATE) = rate;
}

static const int64_t shapeEmbed[] = {V, D}, shapeHead[] = {D, V},
                     shapeBias[] = {V}, shapeInput[] = {TINY_MICRO, S};

/* XXH64 of the three blocks of tiny.weights, which fixtures.py writes. */
#define FROM_FILE(offset, bytes, hash, dtype)                                  \
  ECH_INIT_FILE, 0, offset, bytes, hash, dtype, -1, 0, 0, 0
#define RANDOM(kind, a, b, stream) kind, -1, 0, 0, 0, ECH_F32, -1, a, b, stream
#define ZERO(owner) ECH_INIT_CONSTANT, -1, 0, 0, 0, ECH_F32, owner, 0, 0, 0
#define TENSOR(name, class, trainable, shape, rank, offset, bytes)             \
  name, class, ECH_F32, rank, trainable, shape, offset, bytes

static const ech_variable variables[] = {
    {TENSOR("embed.weight", ECH_ARENA_PARAMETERS, 1, shapeEmbed, 2, EMBED,
            V *D * 4),
     RANDOM(ECH_INIT_NORMAL, 0, 0.5, 11)},
    {TENSOR("head.weight", ECH_ARENA_PARAMETERS, 1, shapeHead, 2, HEAD,
            D *V * 4),
     RANDOM(ECH_INIT_UNIFORM, -0.5, 0.5, 12)},
    {TENSOR("head.bias", ECH_ARENA_PARAMETERS, 1, shapeBias, 1, BIAS, V * 4),
     ECH_INIT_CONSTANT, -1, 0, 0, 0, ECH_F32, -1, 0.25, 0, 0},
    {TENSOR("shift.f32", ECH_ARENA_PARAMETERS, 0, shapeBias, 1, SHIFT32, V * 4),
     FROM_FILE(64, 64, 0xf87c7132d6891413u, ECH_F32)},
    {TENSOR("shift.f64", ECH_ARENA_PARAMETERS, 0, shapeBias, 1, SHIFT64, V * 4),
     FROM_FILE(128, 128, 0x2874f162d432ab31u, ECH_F64)},
    {TENSOR("shift.bf16", ECH_ARENA_PARAMETERS, 0, shapeBias, 1, SHIFT16,
            V * 4),
     FROM_FILE(256, 32, 0x322f6b51e184b93cu, ECH_BF16)},
    {TENSOR("embed.weight.grad", ECH_ARENA_GRADIENTS, 0, shapeEmbed, 2, EMBED,
            V *D * 4),
     ZERO(0)},
    {TENSOR("head.weight.grad", ECH_ARENA_GRADIENTS, 0, shapeHead, 2, HEAD,
            D *V * 4),
     ZERO(1)},
    {TENSOR("head.bias.grad", ECH_ARENA_GRADIENTS, 0, shapeBias, 1, BIAS,
            V * 4),
     ZERO(2)},
    {TENSOR("embed.weight.momentum", ECH_ARENA_OPTIMIZER, 0, shapeEmbed, 2,
            EMBED, V *D * 4),
     ZERO(0)},
    {TENSOR("head.weight.momentum", ECH_ARENA_OPTIMIZER, 0, shapeHead, 2, HEAD,
            D *V * 4),
     ZERO(1)},
    {TENSOR("head.bias.momentum", ECH_ARENA_OPTIMIZER, 0, shapeBias, 1, BIAS,
            V * 4),
     ZERO(2)},
};

static const ech_input inputs[] = {
    {"input_ids", ECH_I64, 2, shapeInput, IDS, ROWS * 8, V, ECH_ROLE_TOKENS, 0},
    {"labels", ECH_I64, 2, shapeInput, LABELS, ROWS * 8, V, ECH_ROLE_LABELS,
     -100},
};

static const ech_weight_file files[] = {{"tiny.weights", 288}};

const ech_program TINY_EXPORT = {
    .abi_version = ECH_ABI_VERSION,
    .struct_bytes = sizeof(ech_program),
    .model = "tiny.onnx",
    .compiler = "echelon 0.1.0",
    .plan_hash = TINY_PLAN,
    .plan_json = "{}",
    .arenas = {{PARAMETERS, "weights"},
               {TRAINED, "gradients"},
               {TRAINED, "optimizer"},
               {64, "metrics"},
               {INPUTS, "inputs"},
               {ACTIVATIONS, "activations"},
               {0, "communication"}},
    .weight_files = files,
    .variables = variables,
    .inputs = inputs,
    .weight_file_count = 1,
    .variable_count = sizeof(variables) / sizeof(variables[0]),
    .input_count = 2,
    .world_size = 1,
    .micro = TINY_MICRO,
    .accumulate = TINY_ACCUMULATE,
    .seed = 7,
    .flops_palm = 6.0 * ROWS * D * V,
    .flops_causal = 5.0 * ROWS * D * V,
    .flops_hardware = 8.0 * ROWS * D * V,
    .metric_loss_sum = LOSS_SUM,
    .metric_loss_count = LOSS_COUNT,
    .metric_gradient_square_sum = SQUARE_SUM,
    .metric_learning_rate = RATE,
    .microbatch = microbatch,
    .update = update,
    .evaluate = forward,
};
