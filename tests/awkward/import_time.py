# SPDX-License-Identifier: BSD-3-Clause
# run: -X importtime SCRIPT
# run: -v SCRIPT
# mask: (?m)^(import time:.*|import .*|# .*|\[?Python .*|\[?GCC.*|Type "help".*)\n
"""The interpreter's own lines on standard error are not ours."""

import json

print(json.dumps([1, 2]))
