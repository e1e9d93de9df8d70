#include "elimination.hpp"

#include <algorithm>
#include <numeric>
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
        columns.emplace_back(around.begin(), around.end());
    }
    for (auto& column : columns) {
        for (Node& v : column) v = position[at(v)];
        std::sort(column.begin(), column.end());
    }
    renumber_by_panels(columns);
    for (const auto& column : columns) {
        row.insert(row.end(), column.begin(), column.end());
        column_start.push_back(static_cast<std::int32_t>(row.size()));
        if (column.empty()) roots.push_back(static_cast<std::int32_t>(column_start.size()) - 2);
    }
    list_targets();
}

// Puts columns with the same rows below them next to each other and cuts such runs into panels. A column joins the one
// before it in the elimination tree if it has exactly the rows that remain there. Ordering runs by their last column
// keeps every column before those that it updates.
void Elimination::renumber_by_panels(std::vector<std::vector<Node>>& columns) {
    const std::size_t nodes = columns.size();
    std::vector<std::size_t> below(nodes);  // last column of the run that each column belongs to
    std::vector<bool> taken(nodes, false);  // a column continues one run only
    for (std::size_t j = nodes; j-- > 0;) {
        below[j] = j;
        if (columns[j].empty()) continue;
        const auto parent = at(columns[j].front());
        if (taken[parent] || columns[parent].size() + 1 != columns[j].size()) continue;
        taken[parent] = true;
        below[j] = below[parent];
    }
    std::vector<std::size_t> order(nodes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return below[i] < below[j]; });
    std::vector<std::int32_t> renumbered(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        renumbered[order[i]] = static_cast<std::int32_t>(i);
        const bool starts = i == 0 || below[order[i]] != below[order[i - 1]];
        if (starts || static_cast<std::int32_t>(i) - panel.back() == widest_panel) panel.push_back(static_cast<std::int32_t>(i));
    }
    panel.push_back(static_cast<std::int32_t>(nodes));
    std::vector<std::vector<Node>> moved(nodes);
    for (std::size_t j = 0; j < nodes; ++j) {
        for (Node& i : columns[j]) i = renumbered[at(i)];
        std::sort(columns[j].begin(), columns[j].end());
        moved[at(renumbered[j])] = std::move(columns[j]);
    }
    columns = std::move(moved);
    for (auto& p : position) p = renumbered[at(p)];
}

// A panel with the rows r below it subtracts a product from the entry (r[a], r[b]) for all a > b: the slots of those
// entries, in the order in which the kernels visit them. Row r[a] is in column r[b] because elimination joined them.
void Elimination::list_targets() {
    for (std::size_t k = 0; k + 1 < panel.size(); ++k) {
        const auto last = at(panel[k + 1]) - 1;
        for (auto b = at(column_start[last]); b < at(column_start[last + 1]); ++b)
            for (auto a = b + 1; a < at(column_start[last + 1]); ++a) target.push_back(slot(row[a], row[b]));
    }
}

std::int32_t Elimination::slot(std::int32_t one, std::int32_t other) const {
    const auto [lower, upper] = std::minmax(one, other);
    const auto first = row.begin() + column_start[at(lower)], last = row.begin() + column_start[at(lower) + 1];
    return static_cast<std::int32_t>(std::lower_bound(first, last, upper) - row.begin());
}

}  // namespace privroute
