// Reading trips: what is read of one row never depends on another one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "nearest.hpp"
#include "text_lines.hpp"

namespace privroute {
namespace {

// ([(offset, data) of each wanted column], malformed) of the lines of a text; see LineSplitter.
nb::tuple split_lines(const nb::bytes& text, char delimiter, std::size_t cells, const Array<std::int64_t>& wanted,
                      std::size_t longest) {
    LineSplitter splitter(delimiter, cells, view(wanted), longest);
    {
        nb::gil_scoped_release unlocked;
        splitter.split({text.c_str(), text.size()});
    }
    nb::list columns;
    for (TextColumn& column : splitter.result.columns) {
        columns.append(nb::make_tuple(give(std::move(column.offset)), give(std::move(column.data))));
    }
    return nb::make_tuple(columns, splitter.result.malformed);
}

// (texts,) whether each text is UTF-8; text i is data[offset[i] : offset[i + 1]].
Owned<bool> valid_utf8(const Array<std::int64_t>& offset, const Array<std::uint8_t>& data) {
    const std::size_t texts = offset.size() == 0 ? 0 : offset.size() - 1;
    bool* valid = new bool[texts];
    nb::capsule owner(valid, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
    {
        nb::gil_scoped_release unlocked;
        const auto* bytes = reinterpret_cast<const char*>(data.data());
        for (std::size_t text = 0; text < texts; ++text) {
            const std::int64_t start = offset.data()[text], end = offset.data()[text + 1];
            valid[text] = is_utf8({bytes + start, static_cast<std::size_t>(end - start)});
        }
    }
    return Owned<bool>(valid, {texts}, owner);
}

// (points,) index of the nearest place, -1 where none is near; see NearestPlace.
Owned<std::int32_t> nearest_places(const Array<double>& place_longitude, const Array<double>& place_latitude,
                                   double largest_chord, const Array<double>& longitude,
                                   const Array<double>& latitude) {
    std::vector<std::int32_t> nearest(longitude.size());
    {
        nb::gil_scoped_release unlocked;
        const NearestPlace search(view(place_longitude), view(place_latitude), largest_chord);
        for (std::size_t point = 0; point < nearest.size(); ++point) {
            nearest[point] = search(longitude.data()[point], latitude.data()[point]);
        }
    }
    return give(std::move(nearest));
}

}  // namespace

void bind_trips(nb::module_& module) {
    using namespace nb::literals;
    module.def("split_lines", &split_lines, "text"_a, "delimiter"_a, "cells"_a, "wanted"_a, "longest"_a);
    module.def("valid_utf8", &valid_utf8, "offset"_a, "data"_a);
    module.def("nearest_places", &nearest_places, "place_longitude"_a, "place_latitude"_a, "largest_chord"_a,
               "longitude"_a, "latitude"_a);
}

}  // namespace privroute
