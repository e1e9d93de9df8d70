// Reading trips: what is read of one row never depends on another one.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <algorithm>

#include "arrays.hpp"
#include "bindings.hpp"
#include "hours.hpp"
#include "nearest.hpp"
#include "text_lines.hpp"
#include "user_ids.hpp"

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

// (offset, data, present) of the texts that are kept, see KeptTexts; text i is data[offset[i] : offset[i + 1]].
nb::tuple kept_texts(const Array<std::int64_t>& offset, const Array<std::uint8_t>& data, const Array<bool>& present,
                     std::size_t longest) {
    const std::size_t texts = present.size();
    bool* kept = new bool[texts];
    nb::capsule owner(kept, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
    std::copy_n(present.data(), texts, kept);
    KeptTexts result = [&] {
        nb::gil_scoped_release unlocked;
        return KeptTexts(view(offset), data.data(), {kept, texts}, longest);
    }();
    return nb::make_tuple(give(std::move(result.offset)), give(std::move(result.data)),
                          Owned<bool>(kept, {texts}, owner));
}

// (offset, data, present, long_ids) of the canonical ids, see UserIds; long_ids holds
// position, begin and end (in data) of one id after the other.
nb::tuple user_ids(const Array<std::int64_t>& offset, const Array<std::uint8_t>& data, const Array<bool>& present,
                   std::size_t longest_text, std::size_t longest_id) {
    const std::size_t texts = present.size();
    bool* kept = new bool[texts];
    nb::capsule owner(kept, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
    std::copy_n(present.data(), texts, kept);
    UserIds result = [&] {
        nb::gil_scoped_release unlocked;
        return UserIds(view(offset), data.data(), {kept, texts}, longest_text, longest_id);
    }();
    return nb::make_tuple(give(std::move(result.ids.offset)), give(std::move(result.ids.data)),
                          Owned<bool>(kept, {texts}, owner), give(std::move(result.long_ids)));
}

// Positions of the times that are missing or lie in hours of the day, see within_hours.
Owned<std::int64_t> in_hours(const Array<std::int64_t>& time_us, const Array<bool>& present,
                             const Array<std::int64_t>& starts, std::int64_t length) {
    std::vector<std::int64_t> found;
    {
        nb::gil_scoped_release unlocked;
        const auto from = view(starts);
        found.resize(time_us.size());
        std::size_t count = 0;
        for (std::size_t at = 0; at < time_us.size(); ++at) {
            found[count] = static_cast<std::int64_t>(at);  // overwritten by the next one unless it counts
            count += std::size_t{!present.data()[at]} | std::size_t{within_hours(time_us.data()[at], from, length)};
        }
        found.resize(count);
    }
    return give(std::move(found));
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
    module.def("kept_texts", &kept_texts, "offset"_a, "data"_a, "present"_a, "longest"_a);
    module.def("user_ids", &user_ids, "offset"_a, "data"_a, "present"_a, "longest_text"_a, "longest_id"_a);
    module.def("in_hours", &in_hours, "time_us"_a, "present"_a, "starts"_a, "length"_a);
    module.def("nearest_places", &nearest_places, "place_longitude"_a, "place_latitude"_a, "largest_chord"_a,
               "longitude"_a, "latitude"_a);
}

}  // namespace privroute
