"""Times the stages of one request (contract D.9). Pure; the clock is an argument."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from prepare.evidence import StageName, StageTiming

Clock = Callable[[], float]


class Stopwatch:
    """Collects one `StageTiming` per run; `clock` gives seconds, as perf_counter."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timings: list[StageTiming] = []

    @contextmanager
    def stage(self, name: StageName) -> Iterator[None]:
        """Time the block, also when it fails (R-172)."""
        start = self._clock()
        try:
            yield
        finally:
            spent = max(self._clock() - start, 0.0) * 1000
            self._timings.append(StageTiming(stage=name, duration_ms=spent))

    def only(self, names: Collection[StageName]) -> "Stopwatch":
        """Another one, which so far has timed just these stages of this one."""
        other = Stopwatch(self._clock)
        other._timings = [one for one in self._timings if one.stage in names]
        return other

    @property
    def timings(self) -> tuple[StageTiming, ...]:
        return tuple(self._timings)
