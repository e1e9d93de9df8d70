// Hours of the day: whether a time can lie in them depends on that time alone.
#pragma once

#include <cstdint>
#include <span>

namespace privroute {

inline constexpr std::int64_t kDayUs = 86'400'000'000;

// Whether the time of day of `time` is less than `length` after one of the `starts`, which are times of day.
inline bool within_hours(std::int64_t time, std::span<const std::int64_t> starts, std::int64_t length) {
    const auto not_negative = [](std::int64_t rest) { return rest + (kDayUs & (rest >> 63)); };  // without a branch
    const std::int64_t of_day = not_negative(time % kDayUs);
    bool inside = false;
    for (const std::int64_t start : starts) inside |= not_negative(of_day - start) < length;
    return inside;
}

}  // namespace privroute
