#include "route_sets.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace privroute {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Least costs between one node and all others, along links or against them; paths do not pass no_through nodes.
class Distances {
public:
    Distances(const Graph& graph, std::span<const double> cost, bool against)
        : graph_(graph), cost_(cost), against_(against), start_(graph.nodes() + 1, 0), link_(graph.links()) {
        const auto& from = against ? graph.head : graph.tail;
        for (const Node v : from) ++start_[at(v) + 1];
        std::partial_sum(start_.begin(), start_.end(), start_.begin());
        std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
        for (std::size_t e = 0; e < graph.links(); ++e) link_[next[at(from[e])]++] = static_cast<Link>(e);
    }

    std::vector<double> from(Node source) const {
        std::vector<double> distance(graph_.nodes(), never);
        using Item = std::pair<double, Node>;
        std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
        distance[at(source)] = 0.0;
        queue.emplace(0.0, source);
        while (!queue.empty()) {
            const auto [reached, v] = queue.top();
            queue.pop();
            if (reached > distance[at(v)] || (v != source && graph_.no_through[at(v)])) continue;
            for (std::size_t k = start_[at(v)]; k < start_[at(v) + 1]; ++k) {
                const auto e = at(link_[k]);
                const Node next = against_ ? graph_.tail[e] : graph_.head[e];
                if (reached + cost_[e] < distance[at(next)]) {
                    distance[at(next)] = reached + cost_[e];
                    queue.emplace(distance[at(next)], next);
                }
            }
        }
        return distance;
    }

private:
    const Graph& graph_;
    std::span<const double> cost_;
    bool against_;
    std::vector<std::size_t> start_;
    std::vector<Link> link_;
};

}  // namespace

RouteSets build_route_sets(const Graph& graph, std::span<const double> cost, std::span<const Node> origin,
                           std::span<const Node> destination, double detour) {
    constexpr double rounding = 1e-9;  // of sums along paths: the cheapest one is always in its set
    const Distances forward(graph, cost, false), backward(graph, cost, true);
    std::vector<std::vector<double>> from(graph.nodes());
    std::vector<std::vector<std::size_t>> pairs_to(graph.nodes());
    for (std::size_t w = 0; w < origin.size(); ++w) {
        if (from[at(origin[w])].empty()) from[at(origin[w])] = forward.from(origin[w]);
        pairs_to[at(destination[w])].push_back(w);
    }
    std::vector<std::vector<Link>> sets(origin.size());
    std::vector<std::uint8_t> reached(graph.nodes());
    for (std::size_t d = 0; d < graph.nodes(); ++d) {
        if (pairs_to[d].empty()) continue;
        const std::vector<double> to = backward.from(static_cast<Node>(d));
        std::vector<Link> nearer;
        for (std::size_t e = 0; e < graph.links(); ++e) {
            const Node a = graph.tail[e], b = graph.head[e];
            if (to[at(b)] < to[at(a)] && to[at(a)] < never && (at(b) == d || !graph.no_through[at(b)]))
                nearer.push_back(static_cast<Link>(e));
        }
        std::sort(nearer.begin(), nearer.end(), [&](Link a, Link b) {
            const double one = to[at(graph.tail[at(a)])], other = to[at(graph.tail[at(b)])];
            return one > other || (one == other && std::pair(graph.tail[at(a)], a) < std::pair(graph.tail[at(b)], b));
        });
        for (const std::size_t w : pairs_to[d]) {
            const Node o = origin[w];
            const std::vector<double>& start = from[at(o)];
            if (!(to[at(o)] < never)) continue;
            const double most = detour * to[at(o)] * (1.0 + rounding);
            std::fill(reached.begin(), reached.end(), std::uint8_t{0});
            reached[at(o)] = 1;
            for (const Link link : nearer) {
                const auto e = at(link);
                const Node a = graph.tail[e], b = graph.head[e];
                if (!reached[at(a)] || (graph.no_through[at(a)] && a != o)) continue;
                if (start[at(a)] + cost[e] + to[at(b)] > most) continue;
                reached[at(b)] = 1;
                sets[w].push_back(link);
            }
        }
    }
    RouteSets made;
    for (std::vector<Link>& set : sets) {
        made.link.insert(made.link.end(), set.begin(), set.end());
        made.start.push_back(static_cast<std::int64_t>(made.link.size()));
        std::vector<Link>().swap(set);
    }
    made.link.shrink_to_fit();
    return made;
}

std::vector<double> heaviest_paths(const Graph& graph, const RouteSetsView& sets, std::span<const double> value,
                                   std::span<const double> minus, std::span<const double> less) {
    std::vector<double> heaviest(sets.pairs(), 0.0), onward(graph.nodes(), 0.0);
    for (std::size_t w = 0; w < sets.pairs(); ++w) {
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k) {
            onward[at(graph.tail[sets.at(k)])] = 0.0;
            onward[at(graph.head[sets.at(k)])] = 0.0;
        }
        for (std::size_t k = sets.last(w); k-- > sets.first(w);) {
            const std::size_t e = sets.at(k);
            const double here = std::max(value[e] - less[w] * minus[e], 0.0) + onward[at(graph.head[e])];
            double& best = onward[at(graph.tail[e])];
            best = std::max(best, here);
            heaviest[w] = std::max(heaviest[w], best);
        }
    }
    return heaviest;
}

std::vector<std::uint8_t> forced_entries(const Graph& graph, const RouteSetsView& sets) {
    // Entries are in topological order of their tails, which numbers the nodes. Between two numbers that one link alone
    // crosses, every path uses it; and a link that every path uses is alone right after its tail.
    std::vector<std::uint8_t> forced(sets.link.size(), 0);
    std::vector<std::int64_t> number(graph.nodes(), -1), crossing;
    for (std::size_t w = 0; w < sets.pairs(); ++w) {
        std::int64_t nodes = 0;
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k) number[at(graph.head[sets.at(k)])] = -1;
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k) number[at(graph.tail[sets.at(k)])] = -1;
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k) {
            std::int64_t& here = number[at(graph.tail[sets.at(k)])];
            if (here < 0) here = nodes++;
        }
        crossing.assign(static_cast<std::size_t>(nodes) + 1, 0);
        const auto after = [&](std::size_t k) {  // the destination has no links of its own and comes last
            const std::int64_t n = number[at(graph.head[sets.at(k)])];
            return static_cast<std::size_t>(n < 0 ? nodes : n);
        };
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k) {
            ++crossing[static_cast<std::size_t>(number[at(graph.tail[sets.at(k)])])];
            --crossing[after(k)];
        }
        std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k)
            forced[k] = crossing[static_cast<std::size_t>(number[at(graph.tail[sets.at(k)])])] == 1;
    }
    return forced;
}

std::vector<double> cost_spreads(const Graph& graph, const RouteSetsView& sets, std::span<const double> cost,
                                 std::span<const double> spread, std::span<const double> inverse,
                                 std::span<const std::uint8_t> forced, int sweeps) {
    std::vector<double> found(sets.pairs(), 0.0), potential(graph.nodes(), 0.0), sum(graph.nodes()),
        weight(graph.nodes());
    std::vector<Node> nodes;
    for (std::size_t w = 0; w < sets.pairs(); ++w) {
        nodes.clear();
        for (std::size_t k = sets.first(w); k < sets.last(w); ++k) {
            const std::size_t e = sets.at(k);
            nodes.push_back(graph.tail[e]);
            nodes.push_back(graph.head[e]);
        }
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        for (const Node v : nodes) potential[at(v)] = 0.0;
        const auto total = [&] {
            double all = 0.0;
            for (std::size_t k = sets.first(w); k < sets.last(w); ++k) {
                if (forced[k]) continue;
                const std::size_t e = sets.at(k);
                const double left = cost[e] - (potential[at(graph.head[e])] - potential[at(graph.tail[e])]);
                const double most = std::abs(left) + spread[e];
                all += most * most * inverse[e];
            }
            return all;
        };
        found[w] = total();
        // start: the cost of the cheapest way that is left, in topological order from the end
        for (std::size_t k = sets.last(w); k-- > sets.first(w);) {
            const std::size_t e = sets.at(k);
            double& here = potential[at(graph.tail[e])];
            const double by = potential[at(graph.head[e])] - cost[e];
            here = here == 0.0 ? by : std::max(here, by);
        }
        found[w] = std::min(found[w], total());
        for (int i = 0; i < sweeps; ++i) {
            for (const Node v : nodes) sum[at(v)] = weight[at(v)] = 0.0;
            for (std::size_t k = sets.first(w); k < sets.last(w); ++k) {
                if (forced[k]) continue;
                const std::size_t e = sets.at(k);
                const auto a = at(graph.tail[e]), b = at(graph.head[e]);
                const double left = (cost[e] - (potential[b] - potential[a])) * inverse[e];
                sum[b] += left;
                sum[a] -= left;
                weight[a] += inverse[e];
                weight[b] += inverse[e];
            }
            for (const Node v : nodes)
                if (weight[at(v)] > 0.0) potential[at(v)] += 0.7 * sum[at(v)] / weight[at(v)];
            found[w] = std::min(found[w], total());
        }
    }
    return found;
}

}  // namespace privroute
