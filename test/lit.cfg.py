# SPDX-License-Identifier: Apache-2.0
#
# One lit run drives every test: `lit build/release/test`, or `lit test` with `-Dbuild=DIR` (default
# build/release). `-Dslow=1` or ECHELON_SLOW=1 adds the slow set (REQUIRES: slow). Substitutions:
# %root the source root, %python this interpreter; echelon, echelon-opt, FileCheck and not are on the PATH.
import os
import sys

import lit.formats

if not hasattr(config, "echelon_binary_root"):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build = os.path.join(root, lit_config.params.get("build", "build/release"))
    site = os.path.join(build, "test", "lit.site.cfg.py")
    if not os.path.isfile(site):
        lit_config.fatal("no build in %s: configure one, or name it with -Dbuild=DIR" % build)
    lit_config.load_config(config, site)
    raise SystemExit

config.name = "echelon"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "golden", "bench", "CMakeLists.txt", "lit.cfg.py", "lit.site.cfg.py.in"]
config.test_source_root = os.path.join(config.echelon_source_root, "test")
config.test_exec_root = os.path.join(config.echelon_binary_root, "test")

tools = os.path.join(config.echelon_binary_root, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools_dir, os.environ["PATH"]])
# Nothing a user keeps in the home folder may change a result.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

config.substitutions.append(("%root", config.echelon_source_root))
config.substitutions.append(("%python", sys.executable))

if lit_config.params.get("slow", os.environ.get("ECHELON_SLOW", "0")) not in ("0", ""):
    config.available_features.add("slow")
if config.echelon_sanitized:
    config.available_features.add("sanitized")
    # libMLIR is not instrumented: it allocates from slabs that our code's allocators have poisoned.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:allow_user_poisoning=0"
