# Signatures of the compiled core. It checks nothing: its callers pass contiguous, checked arrays.

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def pair_costs(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    cost: NDArray[np.float64],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    threads: int = ...,
) -> NDArray[np.float64]: ...
def joined_by_a_hub(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
) -> bool: ...
def trip_table(text: bytes, begin: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None: ...
def first_fault(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    pair_start: NDArray[np.int64],
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    probability: NDArray[np.float64],
) -> tuple[int, int]: ...
def sample_paths(
    pair_start: NDArray[np.int64],
    probability: NDArray[np.float64],
    pairs: NDArray[np.int64],
    key: int,
    stream: int,
) -> NDArray[np.int64]: ...
def gather_paths(
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    paths: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def load_paths(
    pair_start: NDArray[np.int64],
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    probability: NDArray[np.float64],
    rate: NDArray[np.float64],
    link_count: int,
) -> NDArray[np.float64]: ...
def expected_values(
    pair_start: NDArray[np.int64],
    path_start: NDArray[np.int64],
    links: NDArray[np.int32],
    probability: NDArray[np.float64],
    value: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def decompose(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    flows: NDArray[np.float64],
    smallest: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]: ...
def gravity_factors(
    origin: NDArray[np.int32] | NDArray[np.intp],
    destination: NDArray[np.int32] | NDArray[np.intp],
    decay: NDArray[np.float64],
    rows: NDArray[np.float64],
    columns: NDArray[np.float64],
    factor_in: NDArray[np.float64],
    steps: int,
    tolerance: float,
    largest: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def gravity_totals(
    origin: NDArray[np.int32] | NDArray[np.intp],
    destination: NDArray[np.int32] | NDArray[np.intp],
    decay: NDArray[np.float64],
    factor_out: NDArray[np.float64],
    factor_in: NDArray[np.float64],
    value: NDArray[np.float64],
) -> tuple[float, float]: ...

class Latency:
    def __init__(
        self,
        *,
        curve: NDArray[np.uint8],
        free_flow: NDArray[np.float64],
        capacity: NDArray[np.float64],
        parameters: NDArray[np.float64],
    ) -> None: ...
    def evaluate(
        self, flow: NDArray[np.float64], *, equilibrium: bool = ...
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

def curves() -> list[tuple[str, int]]: ...
def assign(
    *,
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    latency: Latency,
    background: NDArray[np.float64],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    demand: NDArray[np.float64],
    fixed_cost: NDArray[np.float64],  # empty: none
    social: float = ...,
    gap: float = ...,
    max_iterations: int = ...,
    time_limit: float = ...,
    threads: int = ...,
    progress: Callable[[int, float, float], object] | None = ...,  # phase, share, gap
    earlier: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]] | None = ...,
    earlier_bushes: Bushes | None = ...,
) -> dict[str, Any]: ...

class Bushes:
    def __init__(
        self,
        *,
        tail: NDArray[np.int32],
        head: NDArray[np.int32],
        no_through: NDArray[np.uint8],
        origin: NDArray[np.int32],
        destination: NDArray[np.int32],
        root: NDArray[np.int32],
        link_start: NDArray[np.int64],
        links: NDArray[np.int32],
        share_start: NDArray[np.int64],
        share: NDArray[np.float64],
        bush_of_pair: NDArray[np.int32],
    ) -> None: ...
    def first_fault(self, threads: int) -> tuple[int, int, int]: ...
    def load(self, rate: NDArray[np.float64], threads: int) -> NDArray[np.float64]: ...
    def expected(self, value: NDArray[np.float64], threads: int) -> NDArray[np.float64]: ...
    def route_range(
        self, value: NDArray[np.float64], least_share: float, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def likeliest(self, threads: int) -> NDArray[np.float64]: ...
    def route_counts(self, threads: int) -> NDArray[np.int64]: ...
    def totals(self, threads: int) -> tuple[float, float]: ...
    def sample(
        self, pairs: NDArray[np.int64], key: int, stream: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
    def sample_numbers(self, pairs: NDArray[np.int64], key: int, stream: int) -> NDArray[np.int64]: ...
    def numbered(
        self, pairs: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
    def best(
        self, pairs: NDArray[np.int64], limit: int, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]: ...
    def unit_flows(self, pairs: NDArray[np.int64], flows: NDArray[np.float64]) -> None: ...
    def users(self) -> NDArray[np.int64]: ...

class RouteWriter:
    def __init__(
        self,
        *,
        tail: NDArray[np.int32],
        head: NDArray[np.int32],
        node_start: NDArray[np.int64],
        node_text: bytes,
        link_start: NDArray[np.int64],
        link_text: bytes,
        duration: NDArray[np.float64],
        free_flow: NDArray[np.float64],
        length: NDArray[np.float64],
        weight: NDArray[np.float64],
        fine: bool,
    ) -> None: ...
    def write(
        self,
        first: NDArray[np.int64],
        start: NDArray[np.int64],
        links: NDArray[np.int32],
        probability: NDArray[np.float64],
        *,
        with_remaining: bool,
        threads: int,
    ) -> list[NDArray[np.uint8]]: ...
    def write_pair(self, bushes: Bushes, pair: int, limit: int, opening: bytes) -> bytes: ...

def json_number(value: float, tenths: bool) -> bytes: ...

class ProjectionPlan:
    def __init__(self, tail: NDArray[np.int32], head: NDArray[np.int32], no_through: NDArray[np.uint8]) -> None: ...
    def joined(self, origin: NDArray[np.int32], destination: NDArray[np.int32]) -> bool: ...
    def project(
        self,
        origin: NDArray[np.int32],
        destination: NDArray[np.int32],
        points: NDArray[np.float64],
        flows: NDArray[np.float64],
        potentials: NDArray[np.float64],
        error_bound: NDArray[np.float64],
        warm: bool,
        tolerance: float,
        largest_point: float,
        threads: int,
        instruction_set: str,
        inverse: NDArray[np.float64] | None,
    ) -> tuple[int, int, int]: ...
    def project_routes(
        self,
        origin: NDArray[np.int32],
        destination: NDArray[np.int32],
        start: NDArray[np.int64],
        link: NDArray[np.int32],
        acyclic: bool,
        flows: NDArray[np.float64],
        hints: NDArray[np.float32],
        error_bound: NDArray[np.float64],
        tolerance: float,
        largest_point: float,
        threads: int,
        instruction_set: str,
        inverse: NDArray[np.float64] | None,
    ) -> tuple[int, int, int]: ...

def build_route_sets(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    cost: NDArray[np.float64],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    detour: float,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def add_route_load(
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    flow: NDArray[np.float64],
    rate: NDArray[np.float64],
    per_unit: float,
    load: NDArray[np.int64],
) -> None: ...
def step_on_routes(
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    flow: NDArray[np.float64],
    rate: NDArray[np.float64],
    price: NDArray[np.float64],
    keep: float,
) -> None: ...
def heaviest_paths(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    value: NDArray[np.float64],
    minus: NDArray[np.float64],
    less: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def forced_entries(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    start: NDArray[np.int64],
    link: NDArray[np.int32],
) -> NDArray[np.uint8]: ...
def cost_spreads(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    cost: NDArray[np.float64],
    spread: NDArray[np.float64],
    inverse: NDArray[np.float64],
    forced: NDArray[np.uint8],
    sweeps: int,
) -> NDArray[np.float64]: ...
def decompose_routes(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    no_through: NDArray[np.uint8],
    origin: NDArray[np.int32],
    destination: NDArray[np.int32],
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    flow: NDArray[np.float64],
    smallest: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], int]: ...
def instruction_sets() -> list[str]: ...
def split_lines(
    text: bytes, delimiter: str, cells: int, wanted: NDArray[np.int64], longest: int
) -> tuple[list[tuple[NDArray[np.int64], NDArray[np.uint8]]], int]: ...
def kept_texts(
    offset: NDArray[np.int64], data: NDArray[np.uint8], present: NDArray[np.bool_], longest: int
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.bool_]]: ...
def user_ids(
    offset: NDArray[np.int64],
    data: NDArray[np.uint8],
    present: NDArray[np.bool_],
    longest_text: int,
    longest_id: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]: ...
def in_hours(
    time_us: NDArray[np.int64], present: NDArray[np.bool_], starts: NDArray[np.int64], length: int
) -> NDArray[np.int64]: ...
def nearest_places(
    place_longitude: NDArray[np.float64],
    place_latitude: NDArray[np.float64],
    largest_chord: float,
    longitude: NDArray[np.float64],
    latitude: NDArray[np.float64],
) -> NDArray[np.int32]: ...

class AreaIndex:
    def __init__(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        ring_start: NDArray[np.int64],
        area_start: NDArray[np.int64],
    ) -> None: ...
    def find(
        self, reach_km: float, longitude: NDArray[np.float64], latitude: NDArray[np.float64]
    ) -> NDArray[np.int32]: ...

class StreetIndex:
    def __init__(
        self, x: NDArray[np.float64], y: NDArray[np.float64], start: NDArray[np.int64], usable: NDArray[np.uint8]
    ) -> None: ...
    def nearest(self, longitude: float, latitude: float, reach_m: float) -> tuple[int, float, float, float, float]: ...

class LocalPaths:
    def __init__(
        self,
        tail: NDArray[np.int32],
        head: NDArray[np.int32],
        no_through: NDArray[np.uint8],
        cost: NDArray[np.float64],
        reverse: NDArray[np.int32],
        turn_back: float,
    ) -> None: ...
    def path(
        self,
        sources: NDArray[np.int32],
        source_cost: NDArray[np.float64],
        targets: NDArray[np.int32],
        target_cost: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], float]: ...
