# SPDX-License-Identifier: BSD-3-Clause
"""Proves that `-m` works as without allranks: with packages, their modules, relative imports and failures."""

print("package", __name__)
