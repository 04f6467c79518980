"""Published experiments done again, one file each; `reproduce.py` beside this folder runs them.

A module has `run(folder)`, which yields a `Row` for each setting.  Rows with a published figure come as near to the
article as what is known of it allows, and their comments say where they do not; rows without one stand for comparison.
"""
