// SPDX-License-Identifier: Apache-2.0
//
// The table of `echelon doctor` and its JSON file.
#include "tools/echelon/doctor_command.h"
#include "compiler/spec/output_file.h"
#include "tools/echelon/doctor_machine.h"
#include "tools/echelon/flags.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

namespace echelon {

namespace {

constexpr int kExitCheck = 4;

/// Something that `echelon compile` uses to link a training binary.
struct Need {
  std::string what;
  std::string found;   ///< path; empty: missing
  std::string install; ///< Debian package that holds it
};

std::string findProgram(llvm::ArrayRef<llvm::StringRef> names) {
  for (llvm::StringRef name : names)
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  // Debian keeps the versioned tools here even when no link is on the PATH.
  for (llvm::StringRef name : names)
    if (auto path =
            llvm::sys::findProgramByName(name, {"/usr/lib/llvm-19/bin"}))
      return *path;
  return "";
}

/// The folders of the C library's and of g++'s link files.
std::vector<std::string> libraryFolders() {
  std::vector<std::string> folders;
  for (const char *triple : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    folders.push_back(std::string("/usr/lib/") + triple);
    std::error_code code;
    std::string gcc = std::string("/usr/lib/gcc/") + triple;
    std::vector<std::string> versions;
    for (llvm::sys::fs::directory_iterator it(gcc, code), end;
         it != end && !code; it.increment(code))
      versions.push_back(it->path());
    // Directory order is arbitrary; the highest version first.
    std::sort(versions.rbegin(), versions.rend());
    folders.insert(folders.end(), versions.begin(), versions.end());
  }
  folders.push_back("/usr/lib64");
  folders.push_back("/usr/lib");
  return folders;
}

std::string findLibrary(const char *name) {
  for (const std::string &folder : libraryFolders()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

std::vector<Need> findNeeds() {
  return {
      {"linker ld.lld", findProgram({"ld.lld-19", "ld.lld"}), "lld-19"},
      {"start files crt1.o", findLibrary("crt1.o"), "libc6-dev"},
      {"libc.so", findLibrary("libc.so"), "libc6-dev"},
      {"libm.so", findLibrary("libm.so"), "libc6-dev"},
      {"libgcc.a", findLibrary("libgcc.a"), "g++"},
      {"libgcc_eh.a", findLibrary("libgcc_eh.a"), "g++"},
      {"libstdc++.a", findLibrary("libstdc++.a"), "g++"},
  };
}

std::string defaultReportPath() {
  llvm::SmallString<128> path;
  if (auto cache = llvm::sys::Process::GetEnv("XDG_CACHE_HOME");
      cache && !cache->empty()) {
    path = *cache;
  } else if (auto home = llvm::sys::Process::GetEnv("HOME");
             home && !home->empty()) {
    path = *home;
    llvm::sys::path::append(path, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(path, "echelon", "doctor.json");
  return path.str().str();
}

std::string toJson(const MachineFacts &facts, llvm::ArrayRef<Need> needs) {
  nlohmann::ordered_json json;
  json["cpu"] = facts.cpu;
  json["cores"] = facts.cores;
  json["online_cores"] = facts.onlineCores;
  json["memory_bytes"] = facts.memoryBytes;
  json["isa"] = facts.isa;
  json["vector_bits"] = facts.vectorBits;
  json["peak_flops_f32"] = facts.peakFlopsF32;
  json["missing"] = nlohmann::ordered_json::array();
  for (const Need &need : needs)
    if (need.found.empty())
      json["missing"].push_back(need.what);
  // /proc may name a processor in any bytes.
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

void printRow(llvm::StringRef status, llvm::StringRef what,
              const llvm::Twine &detail) {
  llvm::outs() << "  " << llvm::left_justify(status, 9)
               << llvm::left_justify(what, 22) << detail << "\n";
}

void printTable(const MachineFacts &facts, llvm::ArrayRef<Need> needs) {
  llvm::outs() << "machine\n";
  printRow("ok", "processor", facts.cpu);
  printRow("ok", "cores",
           llvm::Twine(facts.cores) + " usable of " +
               llvm::Twine(facts.onlineCores));
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::format("%.1f GiB usable",
                      static_cast<double>(facts.memoryBytes) / (1 << 30));
  printRow(facts.memoryBytes > 0 ? "ok" : "unknown", "memory", text);
  printRow("ok", "instruction set",
           facts.isa + ", " + llvm::Twine(facts.vectorBits) + "-bit registers");
  text.clear();
  out << llvm::format("%.1f GFLOP/s a core, measured",
                      facts.peakFlopsF32 / 1e9);
  printRow("ok", "f32 peak", text);
  llvm::outs() << "to link a training binary\n";
  for (const Need &need : needs) {
    bool isMissing = need.found.empty();
    printRow(isMissing ? "missing" : "ok", need.what,
             isMissing ? "apt-get install " + need.install : need.found);
  }
}

llvm::Error writeReport(llvm::StringRef path, llvm::StringRef json) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  // What goes wrong here, writing the file reports.
  if (!folder.empty())
    (void)llvm::sys::fs::create_directories(folder);
  return writeWholeFile(path, [&](llvm::raw_ostream &out) {
    out << json;
    return llvm::Error::success();
  });
}

} // namespace

int runDoctorCommand(llvm::ArrayRef<llvm::StringRef> args) {
  bool asJson = false;
  std::string output;
  Flags flags("doctor [flags]",
              "Shows what this machine offers and what is missing, measures "
              "the f32 peak of one core and keeps it for MFU.");
  flags.boolean("--json", asJson, "print the facts as JSON, not as a table");
  flags.text("-o", "FILE", output,
             "write the facts here (default ~/.cache/echelon/doctor.json)");
  flags.example("echelon doctor");
  flags.example("echelon doctor --json -o facts.json");
  if (int code = parseOrExit(flags, args); code >= 0)
    return code;

  MachineFacts facts = readMachineFacts();
  facts.peakFlopsF32 = measurePeakFlopsF32();
  std::vector<Need> needs = findNeeds();
  std::string json = toJson(facts, needs);
  if (asJson)
    llvm::outs() << json;
  else
    printTable(facts, needs);
  if (output.empty())
    output = defaultReportPath();
  if (output.empty())
    return reportError(llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "neither XDG_CACHE_HOME nor HOME is set; name a file with -o"));
  if (llvm::Error error = writeReport(output, json))
    return reportError(std::move(error));
  if (!asJson)
    llvm::outs() << "wrote " << output << "\n";
  for (const Need &need : needs)
    if (need.found.empty())
      return kExitCheck;
  return 0;
}

} // namespace echelon
