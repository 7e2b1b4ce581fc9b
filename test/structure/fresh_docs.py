# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# The generated pages of docs/reference are what tools/make_docs.sh writes now.
import filecmp
import os
import subprocess
import sys
import tempfile

root = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([os.path.join(root, "tools/make_docs.sh"), folder], check=True)
    pages = sorted(os.listdir(folder))
    stale = [page for page in pages
             if not os.path.exists(os.path.join(root, "docs/reference", page))
             or not filecmp.cmp(os.path.join(folder, page), os.path.join(root, "docs/reference", page), shallow=False)]
for page in stale:
    print("docs/reference/%s is stale: run tools/make_docs.sh" % page)
print("fresh_docs: %d of %d generated pages are fresh" % (len(pages) - len(stale), len(pages)))
sys.exit(1 if stale or not pages else 0)
