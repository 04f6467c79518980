"""Counting and scoring on many threads, beyond memory, and on many machines."""
