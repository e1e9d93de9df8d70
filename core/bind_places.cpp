// Places on the Earth: areas that have them, streets near them. What is found for one point never depends on another.
#include <nanobind/nanobind.h>

#include "areas.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "street_index.hpp"

namespace privroute {
namespace {

// (points,) index of the area that has each point, else of the nearest one within reach; -1 where there is none.
Owned<std::int32_t> areas_of(const AreaIndex& index, double reach_km, const Array<double>& longitude,
                             const Array<double>& latitude) {
    std::vector<std::int32_t> found(longitude.size());
    {
        nb::gil_scoped_release unlocked;
        for (std::size_t point = 0; point < found.size(); ++point) {
            const double x = longitude.data()[point], y = latitude.data()[point];
            found[point] = index.containing(x, y);
            if (found[point] < 0 && reach_km > 0) found[point] = index.nearest(x, y, reach_km);
        }
    }
    return give(std::move(found));
}

// (link, share, metres, longitude, latitude)
nb::tuple nearest_street(const StreetIndex& index, double longitude, double latitude, double reach_m) {
    const OnStreet found = index.nearest(longitude, latitude, reach_m);
    return nb::make_tuple(found.link, found.share, found.distance, found.x, found.y);
}

nb::tuple local_path(const LocalPaths& paths, const Array<Link>& sources, const Array<double>& source_cost,
                     const Array<Link>& targets, const Array<double>& target_cost) {
    std::pair<std::vector<Link>, double> found;
    {
        nb::gil_scoped_release unlocked;
        found = paths.path(view(sources), view(source_cost), view(targets), view(target_cost));
    }
    return nb::make_tuple(give(std::move(found.first)), found.second);
}

}  // namespace

void bind_places(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<AreaIndex>(module, "AreaIndex")
        .def(
            "__init__",
            [](AreaIndex* self, const Array<double>& x, const Array<double>& y, const Array<std::int64_t>& ring_start,
               const Array<std::int64_t>& area_start) {
                new (self) AreaIndex(view(x), view(y), view(ring_start), view(area_start));
            },
            "x"_a, "y"_a, "ring_start"_a, "area_start"_a)
        .def("find", &areas_of, "reach_km"_a, "longitude"_a, "latitude"_a);
    nb::class_<StreetIndex>(module, "StreetIndex")
        .def(
            "__init__",
            [](StreetIndex* self, const Array<double>& x, const Array<double>& y, const Array<std::int64_t>& start,
               const Array<std::uint8_t>& usable) {
                new (self) StreetIndex(view(x), view(y), view(start), view(usable));
            },
            "x"_a, "y"_a, "start"_a, "usable"_a)
        .def("nearest", &nearest_street, "longitude"_a, "latitude"_a, "reach_m"_a);
    nb::class_<LocalPaths>(module, "LocalPaths")
        .def(
            "__init__",
            [](LocalPaths* self, const Array<Node>& tail, const Array<Node>& head,
               const Array<std::uint8_t>& no_through, const Array<double>& cost, const Array<Link>& reverse,
               double turn_back) {
                new (self) LocalPaths(view(tail), view(head), view(no_through), view(cost), view(reverse), turn_back);
            },
            "tail"_a, "head"_a, "no_through"_a, "cost"_a, "reverse"_a, "turn_back"_a)
        .def("path", &local_path, "sources"_a, "source_cost"_a, "targets"_a, "target_cost"_a);
}

}  // namespace privroute
