// Symbolic analysis for sparse L D L^T of graph Laplacians: an elimination order and the places of the non-zeros.
//
// Nodes are eliminated by minimum degree. With nodes renumbered by that order, column j of L has non-zeros in the rows
// row[column_start[j] .. column_start[j + 1]), ascending. Done once per graph: which links are free changes the values,
// never the pattern, because a link that is clipped keeps a small weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace privroute {

struct Elimination {
    std::vector<std::int32_t> position;      // of each node in the order
    std::vector<std::int32_t> column_start;  // (nodes + 1)
    std::vector<std::int32_t> row;           // row of each non-zero below the diagonal ("slot")
    std::vector<std::int32_t> target;        // see for_each_update in elimination.cpp: where each product is subtracted
    std::vector<std::int32_t> roots;         // last node of each connected component, as positions

    Elimination(std::size_t nodes, std::span<const Node> tail, std::span<const Node> head);

    // The slot of the entry between two adjacent positions.
    [[nodiscard]] std::int32_t slot(std::int32_t one, std::int32_t other) const;
};

}  // namespace privroute
