"""Domains of ray.tune: their exact identity, and their ends. Their own representation gives neither."""

from __future__ import annotations

import math
from typing import Any

from ticlm.core.errors import InputError
from ticlm.tune_spaces import changes

ALLOWED = "tune.uniform, loguniform, randn, randint, lograndint, their q… forms, and choice"


def canonical(domain: Any, where: str) -> tuple[Any, ...]:
    """Return a domain's type, bounds or categories, and sampler as a value that can be hashed strictly.

    Raises InputError for any other type, because its identity would not be certain.
    """
    from ray.tune.search import sample

    kind = type(domain)
    if kind is sample.Float:
        return ("float", float(domain.lower), float(domain.upper), _sampler(domain, where))
    if kind is sample.Integer:
        return ("integer", int(domain.lower), int(domain.upper), _sampler(domain, where))
    if kind is sample.Categorical and len(domain):
        return ("choice", changes.canonical(domain.categories, where), _sampler(domain, where))
    name = "choice of nothing" if kind is sample.Categorical else kind.__name__
    raise InputError(f"{where}: a {name} is no domain to draw from; allowed: {ALLOWED}")


def _sampler(domain: Any, where: str) -> tuple[Any, ...]:
    """Return how a domain (or the domain inside a quantised one) is drawn from."""
    from ray import tune
    from ray.tune.search import sample

    def samplers(*domains: Any) -> tuple[type, ...]:  # Tune gives the classes of its samplers no public names
        return tuple(type(domain.get_sampler()) for domain in domains)

    sampler = domain.get_sampler()
    kind = type(sampler)
    if kind in samplers(tune.uniform(0, 1), tune.randint(0, 1), tune.choice([0])):
        return ("uniform",)
    if kind in samplers(tune.loguniform(1, 2), tune.lograndint(1, 2)):
        return ("log-uniform",)
    if kind in samplers(tune.randn()):
        return ("normal", float(sampler.mean), float(sampler.sd))
    if kind is sample.Quantized:
        return ("quantized", _sampler(sampler, where), float(sampler.q))
    if kind is sample.Grid:
        raise InputError(f"{where}: a grid is not drawn from; give points")
    raise InputError(f"{where}: the sampler {kind.__qualname__} is not known; allowed: {ALLOWED}")


def ends(domain: Any) -> tuple[Any, ...]:
    """Return the bounds of all draws, or all categories; of a normal distribution without bounds, its mean."""
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
