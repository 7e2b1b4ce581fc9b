// SPDX-License-Identifier: Apache-2.0
//
// Flags of `echelon zoo` onto ZooOptions.
#include "tools/echelon/zoo_command.h"
#include "compiler/zoo/zoo.h"
#include "compiler/spec/suggest.h"
#include "tools/echelon/flags.h"
#include "llvm/Support/raw_ostream.h"

namespace echelon {

namespace {

constexpr int kExitUsage = 2;
constexpr int64_t kMaxSeed = int64_t(1) << 53; // as in the training spec

/// Sizes that the options check with one another; here only what fits an int64.
void declareSizes(Flags &flags, ZooOptions &options) {
  const int64_t high = std::numeric_limits<int64_t>::max();
  auto size = [&](const char *flag, int64_t &target, const char *help) {
    flags.integer(flag, "N", target, 1, high, help);
  };
  size("--layers", options.layers, "blocks (default 12)");
  size("--hidden", options.hidden,
       "width of the residual stream (default 768)");
  size("--heads", options.heads, "attention heads (default 12)");
  size("--kv-heads", options.kvHeads,
       "key and value heads, llama only (default: --heads)");
  size("--ffn", options.ffn,
       "width of the MLP (default: 4 x hidden; llama 8/3 x hidden)");
  size("--vocab", options.vocab, "vocabulary (default 50257)");
  size("--seq", options.seq, "sequence length (default 1024)");
}

} // namespace

int runZooCommand(llvm::ArrayRef<llvm::StringRef> args) {
  ZooOptions options;
  std::string output;
  bool noWeights = false;
  std::vector<std::string> family;
  Flags flags("zoo gpt|llama [flags] -o m.onnx",
              "Writes a GPT-2 or Llama shaped model as standard ONNX: "
              "input_ids[batch, seq] to logits.");
  declareSizes(flags, options);
  flags.boolean("--symbolic-seq", options.symbolicSeq,
                "leave the sequence symbolic, up to --seq");
  flags.number("--dropout", "P", options.dropout, 0, 1,
               "ratio of Dropout nodes, below 1 (default 0: none)");
  flags.boolean("--tie", options.tie,
                "use the embedding table as output projection");
  flags.boolean("--no-weights", noWeights,
                "declare parameters without storing their values");
  flags.integer("--seed", "N", options.seed, 0, kMaxSeed,
                "seed of the values (default 0)");
  flags.text("-o", "FILE", output, "the model file to write");
  flags.required();
  flags.positional("gpt|llama", 1, 1, family);
  flags.example("echelon zoo gpt --layers 4 --hidden 128 --heads 4 --vocab 256 "
                "--seq 64 -o tiny.onnx");
  flags.example("echelon zoo llama --layers 16 --hidden 2048 --heads 32 "
                "--kv-heads 8 --ffn 8192 -o 1b.onnx");
  flags.example("echelon zoo gpt --layers 96 --hidden 12288 --heads 96 --seq "
                "2048 --no-weights -o gpt3.onnx");
  if (int code = parseOrExit(flags, args); code >= 0)
    return code;
  if (family[0] != "gpt" && family[0] != "llama") {
    llvm::errs() << "error: unknown family \"" << family[0] << "\""
                 << suggestion(family[0], {"gpt", "llama"}) << "\n";
    return kExitUsage;
  }
  options.family =
      family[0] == "gpt" ? ZooOptions::Family::Gpt : ZooOptions::Family::Llama;
  options.withWeights = !noWeights;
  llvm::Expected<ZooSummary> written = writeZooModel(options, output);
  if (!written)
    return reportError(written.takeError());
  llvm::outs() << "wrote " << output << ": "
               << withThousands(written->parameters) << " parameters in "
               << written->tensors << " tensors, " << written->nodes
               << " nodes, " << withThousands(written->fileBytes) << " bytes";
  if (written->dataBytes > 0)
    llvm::outs() << " + " << withThousands(written->dataBytes) << " bytes in "
                 << output << ".data";
  llvm::outs() << "\n";
  return 0;
}

} // namespace echelon
