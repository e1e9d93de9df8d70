// Drawing routes from a policy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "policy.hpp"

namespace privroute {

// A random number for a draw is a hash of the key and the draw's index (SplitMix64, Steele, Lea and Flood 2014), so the
// result depends neither on the order of the draws nor on the number of threads.
class Uniform {
public:
    Uniform(std::uint64_t key, std::uint64_t stream) : key_(mix(key ^ mix(stream))) {}

    // In [0, 1), a multiple of 2^-53.
    [[nodiscard]] double operator()(std::uint64_t draw) const { return at(key_, draw); }
    // A draw that needs several numbers takes at(key(draw), 0), at(key(draw), 1), ...
    [[nodiscard]] std::uint64_t key(std::uint64_t draw) const { return hash(key_, draw); }
    [[nodiscard]] static double at(std::uint64_t key, std::uint64_t draw) {
        return static_cast<double>(hash(key, draw) >> 11) * 0x1.0p-53;
    }

private:
    static std::uint64_t hash(std::uint64_t key, std::uint64_t draw) {
        return mix(key + (draw + 1) * 0x9E3779B97F4A7C15ULL);
    }
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    std::uint64_t key_;
};

// The path of one draw: the first whose cumulative probability exceeds u. Few pairs have more than a handful of paths,
// so a scan beats tables. Rounding may leave the sum below u: then the last path with a positive probability is meant.
inline std::int64_t choose_path(const PolicyView& policy, std::size_t pair, double u) {
    const std::int64_t end = policy.pair_start[pair + 1];
    std::int64_t last = policy.pair_start[pair];
    double cumulative = 0.0;
    for (std::int64_t i = last; i < end; ++i) {
        const double p = policy.probability[static_cast<std::size_t>(i)];
        if (p <= 0.0) continue;
        last = i;
        cumulative += p;
        if (u < cumulative) break;
    }
    return last;
}

inline void sample_paths(const PolicyView& policy, std::span<const std::int64_t> pairs, const Uniform& uniform,
                         std::span<std::int64_t> chosen) {
    for (std::size_t i = 0; i < pairs.size(); ++i)
        chosen[i] = choose_path(policy, static_cast<std::size_t>(pairs[i]), uniform(i));
}

}  // namespace privroute
