"""Domains of ray.tune: what they are, strictly, and where they end. Their own representation says neither."""

from __future__ import annotations

import math
from typing import Any

from ticlm.platform.core.errors import InputError
from ticlm.tune_spaces import changes

ALLOWED = "tune.uniform, loguniform, randn, randint, lograndint, their q… forms, and choice"


def canonical(domain: Any, where: str) -> tuple[Any, ...]:
    """The domain's type, bounds or categories, and sampler, as something that can be hashed strictly; InputError for
    any other type, whose identity would not be certain."""
    from ray.tune.search import sample

    kind = type(domain)
    if kind is sample.Float:
        return ("float", float(domain.lower), float(domain.upper), _sampler(domain, where))
    if kind is sample.Integer:
        return ("integer", int(domain.lower), int(domain.upper), _sampler(domain, where))
    if kind is sample.Categorical and len(domain):
        return ("choice", changes.canonical(domain.categories, where), _sampler(domain, where))
    what = "choice of nothing" if kind is sample.Categorical else kind.__name__
    raise InputError(f"{where}: a {what} is no domain to draw from; allowed: {ALLOWED}")


def _sampler(domain: Any, where: str) -> tuple[Any, ...]:
    """How a domain, or what a quantised one is made from, is drawn from."""
    from ray.tune.search import sample

    sampler = domain.get_sampler()
    kind = type(sampler)
    if kind in (sample.Float._Uniform, sample.Integer._Uniform, sample.Categorical._Uniform):
        return ("uniform",)
    if kind in (sample.Float._LogUniform, sample.Integer._LogUniform):
        return ("log-uniform",)
    if kind is sample.Float._Normal:
        return ("normal", float(sampler.mean), float(sampler.sd))
    if kind is sample.Quantized:
        return ("quantized", _sampler(sampler, where), float(sampler.q))
    if kind is sample.Grid:
        raise InputError(f"{where}: a grid is not drawn from; give points")
    raise InputError(f"{where}: the sampler {kind.__qualname__} is not known; allowed: {ALLOWED}")


def ends(domain: Any) -> tuple[Any, ...]:
    """Values that any draw lies between (the mean, of a normal distribution without bounds), or all the categories."""
    from ray.tune.search import sample

    if isinstance(domain, sample.Categorical):
        return tuple(domain.categories)
    if isinstance(domain, sample.Integer):
        last = domain.upper if isinstance(domain.get_sampler(), sample.Quantized) else domain.upper - 1
        return (int(domain.lower), int(last))
    if math.isfinite(domain.lower) and math.isfinite(domain.upper):
        return (float(domain.lower), float(domain.upper))
    sampler = domain.get_sampler()
    return (float(getattr(sampler, "sampler", sampler).mean),)
