# SPDX-License-Identifier: BSD-3-Clause
"""python -m allranks = allranks run; with another subcommand it is the command line program."""

from allranks._launch import main

main()
