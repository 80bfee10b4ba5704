"""Metrics of training, published through Ray's metrics API for Prometheus and Grafana to read from every node.

Ray exports each name of METRICS with `ray_` before it, as a series of the process that publishes it, every ten seconds
and once more when that process ends in order. A gauge disappears with its process, which trains other chains too; a
counter stays as long as Ray runs. So a chain that was started again has several series of one counter: sum them over
`WorkerId`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from ticlm.core.errors import TiclmWarning
from ticlm.platform.cluster.restarts import progress
from ticlm.platform.study.work import ChainWork


class RayMetric(NamedTuple):
    """A metric of training. `field`: the key of a progress event whose value it shows unchanged, if there is one."""

    kind: Literal["gauge", "counter"]
    description: str
    field: str | None = None
    tags: tuple[str, ...] = ("study", "chain")


METRICS = {
    "ticlm_loss": RayMetric("gauge", "Loss of the newest step, in nats per token", "loss"),
    "ticlm_learning_rate": RayMetric("gauge", "Learning rate of the newest step", "rate"),
    "ticlm_gradient_norm": RayMetric("gauge", "Norm of the gradient before clipping", "gradient_norm"),
    "ticlm_tokens_per_second": RayMetric(
        "gauge", "Tokens per second since the workers began the period", "tokens_per_s"
    ),
    "ticlm_step": RayMetric("gauge", "Steps done, over all periods of the chain", "step"),
    "ticlm_workers": RayMetric("gauge", "Workers that train the chain"),
    "ticlm_period": RayMetric(
        "gauge", "1 for the period being trained, 0 for those before it", tags=("study", "chain", "period")
    ),
    "ticlm_tokens_total": RayMetric("counter", "Tokens trained on; what a restart repeats is counted again"),
    "ticlm_restarts_total": RayMetric("counter", "Times the chain's workers were started again after a failure"),
}


class Exported:
    """A tracker that publishes the progress of a chain. No error in it reaches the training."""

    def __init__(self, work: ChainWork, workers: int) -> None:
        self.series, self.workers = WorkerSeries(work), workers
        self.tokens, self.period = 0, ""
        with self.series.harmless():
            self.tokens = _tokens_at_start(work)

    def log(self, event: Mapping[str, Any]) -> None:
        with self.series.harmless():
            for name, metric in METRICS.items():
                if metric.field is not None:
                    self.series.set(name, event[metric.field])
            self.series.set("ticlm_workers", self.workers)
            if self.period not in ("", event["period"]):
                self.series.set("ticlm_period", 0, period=self.period)
            self.period = event["period"]
            self.series.set("ticlm_period", 1, period=self.period)
            self.series.add("ticlm_tokens_total", event["tokens"] - self.tokens)
            self.tokens = event["tokens"]

    def close(self) -> None:
        """Say that nobody trains the chain any more: its process goes on, and so do its gauges."""
        with self.series.harmless():
            self.series.set("ticlm_workers", 0)
            if self.period:
                self.series.set("ticlm_period", 0, period=self.period)


class WorkerSeries:
    """The metrics that one process publishes of a chain.

    Ray's objects are made when they are first used, so that this can be pickled before.
    """

    def __init__(self, work: ChainWork) -> None:
        study, _, chain = work.label.partition(" ")
        plain = chain.replace("…", "-").encode("ascii", "replace").decode()  # Ray 2.60 raises on anything else
        self.tags = {"study": study, "chain": plain}
        self._metrics: dict[str, Any] = {}
        self.warned = False

    def set(self, name: str, value: float, **more: str) -> None:
        """Set a gauge; `more` are tags beside study and chain."""
        self._metric(name).set(float(value), tags=self.tags | more)

    def add(self, name: str, value: float) -> None:
        """Add to a counter; ignores values that are not positive, as a counter never goes down."""
        if value > 0:
            self._metric(name).inc(float(value), tags=self.tags)

    @contextmanager
    def harmless(self) -> Iterator[None]:
        """Swallow any error of the block; warn of the first one only."""
        try:
            yield
        except Exception as error:
            if not self.warned:
                text = f"metrics are not published: {type(error).__name__}: {error}"
                warnings.warn(" ".join(text.split()), TiclmWarning, stacklevel=3)
            self.warned = True

    def _metric(self, name: str) -> Any:
        from ray.util.metrics import Counter, Gauge

        if name not in self._metrics:
            kind = {"gauge": Gauge, "counter": Counter}[METRICS[name].kind]
            self._metrics[name] = kind(name, METRICS[name].description, METRICS[name].tags)
        return self._metrics[name]


def _tokens_at_start(work: ChainWork) -> int:
    """Return the tokens before the point from which the workers go on: finished rounds and the newest checkpoint."""
    rounds, step = progress(work)
    done = sum(r.tokens for r in work.rounds[:rounds])
    if not step:
        return done
    recipe = work.rounds[rounds].recipe
    return done + int(step) * recipe.batch_rows * recipe.length
