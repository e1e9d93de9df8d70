// Shortest paths from one node (Dijkstra with a binary heap), respecting the no-through rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace privroute {

inline constexpr double unreachable = std::numeric_limits<double>::infinity();

// Buffers of one search, reused from source to source so that a sweep over all origins allocates once.
class ShortestPaths {
public:
    explicit ShortestPaths(const Graph& graph)
        : graph_(graph), distance(graph.nodes(), unreachable), incoming(graph.nodes(), -1) {}

    // Fills distance and incoming (the last link of a shortest path, -1 at the source and where no path leads).
    void run(std::span<const double> cost, Node source) {
        std::fill(distance.begin(), distance.end(), unreachable);
        std::fill(incoming.begin(), incoming.end(), -1);
        heap_.clear();
        distance[static_cast<std::size_t>(source)] = 0.0;
        heap_.emplace_back(0.0, source);
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
            const auto [reached, node] = heap_.back();
            heap_.pop_back();
            const auto v = static_cast<std::size_t>(node);
            if (reached > distance[v] || (graph_.no_through[v] && node != source)) continue;
            for (Link k = graph_.out_start[v]; k < graph_.out_start[v + 1]; ++k) {
                const auto link = static_cast<std::size_t>(graph_.out_links[static_cast<std::size_t>(k)]);
                const auto next = static_cast<std::size_t>(graph_.head[link]);
                const double candidate = reached + cost[link];
                if (candidate < distance[next]) {
                    distance[next] = candidate;
                    incoming[next] = static_cast<Link>(link);
                    heap_.emplace_back(candidate, graph_.head[link]);
                    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
                }
            }
        }
    }

private:
    const Graph& graph_;
    std::vector<std::pair<double, Node>> heap_;

public:
    std::vector<double> distance;
    std::vector<Link> incoming;
};

}  // namespace privroute
