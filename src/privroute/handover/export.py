"""Every format of `privroute export`: those for maps and tables, and those for simulators and models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from privroute.errors import InputError
from privroute.handover import matsim, omx, split_ratios, sumo
from privroute.handover.physical import check_roads
from privroute.network.text_files import as_path
from privroute.serve.export import FILES as TABLE_FILES
from privroute.serve.export import export_release

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from privroute.network.demand import Demand
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["FILES", "HandoverFormat", "hand_over"]

HandoverFormat = Literal["geojson", "gpkg", "csv", "gmns", "routes", "sumo", "matsim", "omx", "splits"]
FILES: dict[str, tuple[str, ...]] = {
    **TABLE_FILES,
    "sumo": sumo.FILES,
    "matsim": matsim.FILES,
    "omx": omx.FILES,
    "splits": split_ratios.FILES,
}


def hand_over(
    release: Release,
    folder: str | os.PathLike[str],
    kind: HandoverFormat,
    *,
    demand: Demand | None = None,
    period_min: float | None = None,
    seed: int = 0,
    overwrite: bool = False,
    most_routes: int = 20,
    progress: Progress | None = None,
    one_period: bool = False,
) -> list[Path]:
    """Write a release for another tool into a folder (made if it is not there) and return the paths.

    Of a release of several periods each has a folder of its own, such as workday_0700-0800.

    kind : geojson, gpkg, csv, gmns, routes (Parquet), sumo, matsim, omx or splits (ratios and segment lists)
    demand : of sumo, matsim, omx and splits: another one than the released
    period_min : of sumo and matsim: how long vehicles depart, by default as long as the release's period is
    seed : of matsim: from which vehicles are drawn
    most_routes : of each pair, the most probable ones
    one_period : write the period that the release shows (`Release.at`) alone, into the folder itself
    """
    if kind not in get_args(HandoverFormat):
        raise InputError(f"the format is {kind!r}; choose {', '.join(FILES)}")
    if kind in TABLE_FILES:
        return export_release(
            release,
            folder,
            kind,  # type: ignore[arg-type]  # one of them
            overwrite=overwrite,
            most_routes=most_routes,
            progress=progress,
            one_period=one_period,
        )
    if kind in ("sumo", "matsim"):
        check_roads(release.network)
    place = as_path(folder)
    if release.parts and not one_period:
        return [
            path
            for each in release.each()
            for path in hand_over(
                each,
                place / each.slot.key,
                kind,
                demand=demand,
                period_min=period_min,
                seed=seed,
                overwrite=overwrite,
                most_routes=most_routes,
                progress=progress,
                one_period=True,
            )
        ]
    try:
        place.mkdir(parents=True, exist_ok=True)
        taken = [place / name for name in FILES[kind] if (place / name).exists()]
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(f"{place} cannot be used as a folder ({reason}); choose another") from None
    if taken and not overwrite:
        raise InputError(f"{taken[0]} already exists; choose another folder, or pass overwrite=True to replace it")
    if kind == "sumo":
        return sumo.write_sumo(
            release, place, demand=demand, period_min=period_min, most_routes=most_routes, progress=progress
        )
    if kind == "matsim":
        return matsim.write_matsim(release, place, demand=demand, period_min=period_min, seed=seed, progress=progress)
    if kind == "splits":
        return split_ratios.write_split_ratios(
            release, place, demand=demand, most_routes=most_routes, progress=progress
        )
    return omx.write_omx(release, place, demand=demand, progress=progress)
