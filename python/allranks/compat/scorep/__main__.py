# SPDX-License-Identifier: BSD-3-Clause
from allranks.compat.scorep import main

main()
