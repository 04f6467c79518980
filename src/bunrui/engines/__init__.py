"""Counting and scoring on many threads and many machines."""
