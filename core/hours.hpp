// Hours of the day: whether a time can lie in them depends on that time alone.
#pragma once

#include <cstdint>
#include <span>

namespace privroute {

inline constexpr std::int64_t kDayUs = 86'400'000'000;

// Whether the time of day of `time` is less than `length` after one of the `starts`, which are times of day.
inline bool within_hours(std::int64_t time, std::span<const std::int64_t> starts, std::int64_t length) {
    const std::int64_t rest = time % kDayUs;
    const std::int64_t of_day = rest < 0 ? rest + kDayUs : rest;
    for (const std::int64_t start : starts) {
        const std::int64_t since = of_day - start;
        if ((since < 0 ? since + kDayUs : since) < length) return true;
    }
    return false;
}

}  // namespace privroute
