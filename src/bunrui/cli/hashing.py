"""What is said of hashed features."""

from __future__ import annotations

from typing import Any

__all__ = ["described"]


def described(hashing: dict[str, Any]) -> str:
    """How much the buckets mix up.

    >>> described({"n_buckets": 1 << 20, "n_used": 412_200, "n_features": 523_651, "share": 0.393})
    '412,200 of 1,048,576 buckets in use: of about 520,000 features, 39 % share one with another (an estimate)'
    """
    n_used, n_buckets, n_features = (hashing[name] for name in ("n_used", "n_buckets", "n_features"))
    about = f"about {float(f'{n_features:.2g}'):,.0f}" if n_used < n_buckets else "far more"
    return (
        f"{n_used:,} of {n_buckets:,} buckets in use: of {about} features, {hashing['share']:.0%} share one with "
        "another (an estimate)"
    ).replace("%", " %")
