# SPDX-License-Identifier: Apache-2.0
#
# The GoogleTest executables of the whole tree (`*_tests` in the build's bin folder), wherever their
# sources are; lit lists and counts each case.
import os

import lit.formats

config.name = "echelon-unit"
config.test_format = lit.formats.GoogleTest(".", "_tests")
config.suffixes = []
config.test_source_root = os.path.join(config.echelon_binary_root, "bin")
config.test_exec_root = config.test_source_root
config.environment["XDG_CACHE_HOME"] = os.path.join(config.echelon_binary_root, "test", "cache")
