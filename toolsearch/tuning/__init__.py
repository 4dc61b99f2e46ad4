"""Tuning of the encoder on tools, and on the requests that ask for them. Needs the extra ``tune``."""

import os

# Threads that wait for each other on busy processors would burn more time than they share. Read when torch
# is loaded, and left alone where the user has chosen.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
