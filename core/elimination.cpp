#include "elimination.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace privroute {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Elimination::Elimination(std::size_t nodes, std::span<const Node> tail, std::span<const Node> head)
    : position(nodes, -1), column_start(1, 0) {
    std::vector<std::set<Node>> neighbours(nodes);
    for (std::size_t e = 0; e < tail.size(); ++e) {
        neighbours[at(tail[e])].insert(head[e]);
        neighbours[at(head[e])].insert(tail[e]);
    }
    // Minimum degree: eliminating a node joins its neighbours to each other. Ties go to the smaller index, so the order
    // is the same on every machine.
    std::set<std::pair<std::size_t, Node>> queue;
    for (std::size_t v = 0; v < nodes; ++v) queue.emplace(neighbours[v].size(), static_cast<Node>(v));
    std::vector<std::vector<Node>> columns;
    columns.reserve(nodes);
    while (!queue.empty()) {
        const Node v = queue.begin()->second;
        queue.erase(queue.begin());
        position[at(v)] = static_cast<std::int32_t>(columns.size());
        const std::set<Node> around = std::move(neighbours[at(v)]);
        for (const Node a : around) {
            auto& joined = neighbours[at(a)];
            queue.erase({joined.size(), a});
            joined.insert(around.begin(), around.end());
            joined.erase(a);
            joined.erase(v);
            queue.emplace(joined.size(), a);
        }
        if (around.empty()) roots.push_back(position[at(v)]);
        columns.emplace_back(around.begin(), around.end());
    }
    for (auto& column : columns) {
        for (Node& v : column) v = position[at(v)];
        std::sort(column.begin(), column.end());
        row.insert(row.end(), column.begin(), column.end());
        column_start.push_back(static_cast<std::int32_t>(row.size()));
    }
    // Eliminating column j subtracts l_a l_b d_j from the entry (row a, row b) for all a > b of the column: list those
    // entries' slots in the order in which the kernels visit them. Row a is in column row[b], by the fill above.
    for (std::size_t j = 0; j < nodes; ++j) {
        const auto first = at(column_start[j]), last = at(column_start[j + 1]);
        for (std::size_t a = first; a < last; ++a)
            for (std::size_t b = first; b < a; ++b) target.push_back(slot(row[a], row[b]));
    }
}

std::int32_t Elimination::slot(std::int32_t one, std::int32_t other) const {
    const auto [lower, upper] = std::minmax(one, other);
    const auto first = row.begin() + column_start[at(lower)], last = row.begin() + column_start[at(lower) + 1];
    return static_cast<std::int32_t>(std::lower_bound(first, last, upper) - row.begin());
}

}  // namespace privroute
