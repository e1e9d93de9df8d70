#include "elimination.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

namespace privroute {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Beyond this many neighbours their missing pairs are not counted, only bounded: counting takes the cube of it.
constexpr std::size_t widest_count = 40;

// Zeros that a column may take in to share a panel with its parent: they cost less than a narrow panel.
constexpr std::size_t most_zeros = 4;

// Pairs of nodes in `around` that are not neighbours yet.
std::size_t pairs_to_join(const std::vector<std::set<Node>>& neighbours, const std::set<Node>& around) {
    const std::size_t pairs = around.size() * (around.size() - (around.empty() ? 0 : 1)) / 2;
    if (around.size() > widest_count) return pairs;
    std::size_t joined = 0;
    for (auto a = around.begin(); a != around.end(); ++a)
        for (auto b = std::next(a); b != around.end(); ++b) joined += neighbours[at(*a)].contains(*b);
    return pairs - joined;
}

}  // namespace

Elimination::Elimination(std::size_t nodes, std::span<const Node> tail, std::span<const Node> head)
    : position(nodes, -1), column_start(1, 0) {
    std::vector<std::set<Node>> neighbours(nodes);
    for (std::size_t e = 0; e < tail.size(); ++e) {
        neighbours[at(tail[e])].insert(head[e]);
        neighbours[at(head[e])].insert(tail[e]);
    }
    // Eliminating a node joins its neighbours to each other. Take the node that adds the fewest new pairs, then the one
    // of smallest degree, then the smaller index: the order is the same on every machine.
    using Key = std::tuple<std::size_t, std::size_t, Node>;
    std::vector<Key> key(nodes);
    std::set<Key> queue;
    const auto enqueue = [&](Node v) {
        const auto& around = neighbours[at(v)];
        key[at(v)] = {pairs_to_join(neighbours, around), around.size(), v};
        queue.insert(key[at(v)]);
    };
    for (std::size_t v = 0; v < nodes; ++v) enqueue(static_cast<Node>(v));
    std::vector<std::vector<Node>> columns;
    columns.reserve(nodes);
    while (!queue.empty()) {
        const Node v = std::get<Node>(*queue.begin());
        queue.erase(queue.begin());
        position[at(v)] = static_cast<std::int32_t>(columns.size());
        const std::set<Node> around = std::move(neighbours[at(v)]);
        std::set<Node> touched(around);
        for (const Node a : around) {
            auto& joined = neighbours[at(a)];
            joined.insert(around.begin(), around.end());
            joined.erase(a);
            joined.erase(v);
        }
        for (const Node a : around)
            if (const auto& near = neighbours[at(a)]; near.size() <= widest_count)
                touched.insert(near.begin(), near.end());
        for (const Node a : touched) {
            queue.erase(key[at(a)]);
            enqueue(a);
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

// Numbers the columns once more, children of the elimination tree before their parent and next to it: what a column
// updates is still in the cache. A column whose rows are those of its parent, and the parent, shares its panel; it
// comes right before the parent.
void Elimination::renumber_by_panels(std::vector<std::vector<Node>>& columns) {
    const std::size_t nodes = columns.size();
    std::vector<bool> shares(nodes, false), taken(nodes, false);  // taken: a column continues one panel only
    std::vector<std::vector<std::size_t>> children(nodes);
    std::vector<std::size_t> open;
    for (std::size_t j = nodes; j-- > 0;) {
        if (columns[j].empty()) {
            open.push_back(j);
            continue;
        }
        const auto parent = at(columns[j].front());
        const std::size_t zeros = columns[parent].size() + 1 - columns[j].size();
        shares[j] = !taken[parent] && zeros <= most_zeros;
        if (shares[j]) {
            taken[parent] = true;
            columns[j].assign(1, static_cast<Node>(parent));
            columns[j].insert(columns[j].end(), columns[parent].begin(), columns[parent].end());
            children[parent].insert(children[parent].begin(), j);
        } else {
            children[parent].push_back(j);
        }
    }
    std::vector<std::size_t> order;  // parents first, the child that shares a panel right after: then reversed
    while (!open.empty()) {
        const std::size_t j = open.back();
        open.pop_back();
        order.push_back(j);
        open.insert(open.end(), children[j].rbegin(), children[j].rend());
    }
    std::reverse(order.begin(), order.end());
    std::vector<std::int32_t> renumbered(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        renumbered[order[i]] = static_cast<std::int32_t>(i);
        const bool starts = i == 0 || !shares[order[i - 1]];
        if (starts || static_cast<std::int32_t>(i) - panel.back() == widest_panel)
            panel.push_back(static_cast<std::int32_t>(i));
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
