// What one pass over a bush in topological order computes for all destinations of an origin at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "policy_bushes.hpp"

namespace privroute {

// Expected sum of a link value over the route from the root to a node.
struct ExpectedValue {
    using Value = double;
    std::span<const double> by_link;
    static constexpr Value at_root = 0.0;
    static constexpr Value nothing = 0.0;
    [[nodiscard]] Value extended(Value tail, Link link, double share) const {
        return share * (tail + by_link[static_cast<std::size_t>(link)]);
    }
    static Value joined(Value a, Value b) { return a + b; }
};

// Least and greatest sum of a link value over the used routes to a node: those whose every link carries at least the
// share `least_share` of what the root sends to the link's head.
struct RouteRange {
    struct Value {
        double low;
        double high;
    };
    std::span<const double> by_link;
    double least_share;
    static constexpr Value at_root{0.0, 0.0};
    static constexpr Value nothing{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    [[nodiscard]] Value extended(Value tail, Link link, double share) const {
        if (share < least_share) return nothing;
        const double value = by_link[static_cast<std::size_t>(link)];
        return {tail.low + value, tail.high + value};
    }
    static Value joined(Value a, Value b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
};

// Probability of the most probable route to a node.
struct Likeliest {
    using Value = double;
    static constexpr Value at_root = 1.0;
    static constexpr Value nothing = 0.0;
    static Value extended(Value tail, Link, double share) { return share * tail; }
    static Value joined(Value a, Value b) { return std::max(a, b); }
};

// How many routes lead to a node; the largest number stands for all that are not smaller.
struct RouteCount {
    using Value = std::uint64_t;
    static constexpr Value most = std::numeric_limits<std::int64_t>::max();
    static constexpr Value at_root = 1;
    static constexpr Value nothing = 0;
    static Value extended(Value tail, Link, double) { return tail; }
    static Value joined(Value a, Value b) { return std::min(a + b, most); }
};

// How many links the routes to a node have together, with their number.
struct RouteLinks {
    struct Value {
        double routes;
        double links;
    };
    static constexpr Value at_root{1.0, 0.0};
    static constexpr Value nothing{0.0, 0.0};
    static Value extended(Value tail, Link, double) { return {tail.routes, tail.links + tail.routes}; }
    static Value joined(Value a, Value b) { return {a.routes + b.routes, a.links + b.links}; }
};

// (pairs,) the quantity at each pair's destination.
template <typename Quantity>
std::vector<typename Quantity::Value> sweep(const BushesView& policy, const Quantity& quantity, int threads) {
    using Value = typename Quantity::Value;
    const ByBush pairs = pairs_by_bush(policy);
    std::vector<Value> result(policy.pairs());
    std::vector<std::vector<Value>> at(static_cast<std::size_t>(threads), std::vector<Value>(policy.nodes));
    parallel_for(policy.bushes(), threads, [&](std::size_t worker, std::size_t b) {
        std::vector<Value>& value = at[worker];
        value[static_cast<std::size_t>(policy.root[b])] = Quantity::at_root;
        for_each_node(policy.head, policy.links_of(b), policy.shares_of(b),
                      [&](Node node, std::span<const Link> links, std::span<const double> share) {
                          Value total = Quantity::nothing;
                          for (std::size_t i = 0; i < links.size(); ++i) {
                              const Node tail = policy.tail[static_cast<std::size_t>(links[i])];
                              total =
                                  Quantity::joined(total, quantity.extended(value[static_cast<std::size_t>(tail)],
                                                                            links[i], share.empty() ? 1.0 : share[i]));
                          }
                          value[static_cast<std::size_t>(node)] = total;
                      });
        for (const std::int32_t pair : pairs.of(b))
            result[static_cast<std::size_t>(pair)] =
                value[static_cast<std::size_t>(policy.destination[static_cast<std::size_t>(pair)])];
    });
    return result;
}

// Sends what stands at the nodes of a bush back to its root; add(link, amount) is called once for each used link.
// `load` is by node, and zero at the nodes of the bush afterwards.
template <typename Add>
void send_back(const BushesView& policy, std::size_t bush, std::vector<double>& load, Add&& add) {
    for_each_node_back(policy.head, policy.links_of(bush), policy.shares_of(bush),
                       [&](Node node, std::span<const Link> links, std::span<const double> share) {
                           const double amount = load[static_cast<std::size_t>(node)];
                           if (amount == 0.0) return;
                           load[static_cast<std::size_t>(node)] = 0.0;
                           for (std::size_t i = 0; i < links.size(); ++i) {
                               const double part = share.empty() ? amount : amount * share[i];
                               add(links[i], part);
                               load[static_cast<std::size_t>(policy.tail[static_cast<std::size_t>(links[i])])] += part;
                           }
                       });
    load[static_cast<std::size_t>(policy.root[bush])] = 0.0;
}

// sum_w rate_w x_w by link. Bushes are summed in blocks that do not depend on the number of threads, so neither does
// the rounding.
inline std::vector<double> load_bushes(const BushesView& policy, std::span<const double> rate, int threads) {
    constexpr std::size_t blocks = 16;
    const ByBush pairs = pairs_by_bush(policy);
    const std::size_t links = policy.head.size(), bushes = policy.bushes();
    std::vector<std::vector<double>> flow(blocks);
    std::vector<std::vector<double>> load(static_cast<std::size_t>(threads), std::vector<double>(policy.nodes, 0.0));
    parallel_for(blocks, threads, [&](std::size_t worker, std::size_t block) {
        std::vector<double>& mine = flow[block];
        mine.assign(links, 0.0);
        for (std::size_t b = bushes * block / blocks; b < bushes * (block + 1) / blocks; ++b) {
            for (const std::int32_t pair : pairs.of(b))
                load[worker][static_cast<std::size_t>(policy.destination[static_cast<std::size_t>(pair)])] +=
                    rate[static_cast<std::size_t>(pair)];
            send_back(policy, b, load[worker],
                      [&](Link link, double amount) { mine[static_cast<std::size_t>(link)] += amount; });
        }
    });
    std::vector<double> total(links, 0.0);
    for (const std::vector<double>& mine : flow)
        for (std::size_t e = 0; e < links; ++e) total[e] += mine[e];
    return total;
}

}  // namespace privroute
