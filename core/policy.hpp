// A routing policy as sparse arrays: for every pair a probability distribution over paths.
//
// Pair w has the paths pair_start[w] .. pair_start[w + 1]; path i has the links links[path_start[i] .. path_start[i +
// 1]) in driving order and is taken with probability[i].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace privroute {

struct PolicyView {
    std::span<const std::int64_t> pair_start;
    std::span<const std::int64_t> path_start;
    std::span<const Link> links;
    std::span<const double> probability;

    [[nodiscard]] std::size_t pairs() const { return pair_start.empty() ? 0 : pair_start.size() - 1; }
    [[nodiscard]] std::size_t paths() const { return probability.size(); }
    [[nodiscard]] std::span<const Link> path(std::size_t i) const {
        const auto first = static_cast<std::size_t>(path_start[i]);
        return links.subspan(first, static_cast<std::size_t>(path_start[i + 1]) - first);
    }
};

struct Policy {
    std::vector<std::int64_t> pair_start;
    std::vector<std::int64_t> path_start;
    std::vector<Link> links;
    std::vector<double> probability;
};

}  // namespace privroute
