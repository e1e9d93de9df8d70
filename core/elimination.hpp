// Symbolic analysis for sparse L D L^T of graph Laplacians: an elimination order and the places of the non-zeros.
//
// Nodes are eliminated by minimum fill. With nodes renumbered by that order, column j of L has non-zeros in the rows
// row[column_start[j] .. column_start[j + 1]), ascending. Done once per graph: which links are free changes the values,
// never the pattern, because a link that is clipped keeps a small weight.
//
// A panel is up to four neighbouring columns, each the next one's only by the row between them: j has the rows j + 1
// and those of j + 1 (a few of them may be zero). Their updates of the columns to the right hit the same entries and
// are done together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "projection_problem.hpp"

namespace privroute {

struct Elimination {
    std::vector<std::int32_t> position;      // of each node in the order
    std::vector<std::int32_t> column_start;  // (nodes + 1)
    std::vector<std::int32_t> row;           // row of each non-zero below the diagonal ("slot")
    std::vector<std::int32_t> panel;         // first column of each panel, and the end: columns alike, see panels below
    std::vector<std::int32_t> target;  // slots from which a panel's products are subtracted, in the kernels' order
    std::vector<std::int32_t> roots;   // last node of each connected component, as positions

    Elimination(std::size_t nodes, std::span<const Node> tail, std::span<const Node> head);

    // The slot of the entry between two adjacent positions.
    [[nodiscard]] std::int32_t slot(std::int32_t one, std::int32_t other) const;

private:
    void renumber_by_panels(std::vector<std::vector<Node>>& columns);
    void list_targets();
};

}  // namespace privroute
