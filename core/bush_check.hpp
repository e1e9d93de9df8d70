// Whether bushes are what their description says. Nothing in them is trusted but the starts, roots and bush numbers,
// which the caller has checked: they rise, and they name nodes and bushes that exist.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "policy_bushes.hpp"

namespace privroute {

enum class BushFault : std::int32_t {
    none = 0,
    no_such_link = 1,
    out_of_order = 2,  // a link whose tail does not stand before its head, or a head that stands in two places
    closed_node = 3,   // a link that leaves a no-through node other than the root
    bad_share = 4,     // shares that are not positive or do not sum to 1
    share_count = 5,   // more or fewer shares than links that share a head
    other_origin = 6,  // a pair whose origin is not the root
    unreached = 7,     // a pair whose destination is not in the bush
};

struct FirstBushFault {
    BushFault fault = BushFault::none;
    std::int64_t bush = -1;
    std::int64_t at = -1;  // the pair for the last two faults, otherwise a position among the bush's links
};

class BushCheck {
public:
    BushCheck(const BushesView& policy, std::span<const std::uint8_t> no_through)
        : policy_(policy), no_through_(no_through), placed_in_(policy.nodes, -1), met_in_(policy.head.size(), -1) {}

    FirstBushFault run(std::size_t bush, std::span<const Node> origin, std::span<const std::int32_t> pairs) {
        const auto number = static_cast<std::int64_t>(bush);
        const auto [fault, at] = check_links(bush);
        if (fault != BushFault::none) return {fault, number, at};
        for (const std::int32_t pair : pairs) {
            if (origin[index(pair)] != policy_.root[bush]) return {BushFault::other_origin, number, pair};
            if (placed_in_[index(policy_.destination[index(pair)])] != number ||
                policy_.destination[index(pair)] == policy_.root[bush])
                return {BushFault::unreached, number, pair};
        }
        return {};
    }

private:
    struct Found {
        BushFault fault;
        std::int64_t at;
    };

    Found check_links(std::size_t bush) {
        const auto number = static_cast<std::int64_t>(bush);
        const std::span<const Link> links = policy_.links_of(bush);
        const std::span<const double> share = policy_.shares_of(bush);
        const Node root = policy_.root[bush];
        placed_in_[index(root)] = number;
        std::size_t used = 0;
        for (std::size_t first = 0; first < links.size();) {
            std::size_t last = first;
            Node node = -1;
            for (; last < links.size(); ++last) {
                const Link link = links[last];
                if (link < 0 || index(link) >= policy_.head.size()) return {BushFault::no_such_link, position(last)};
                if (last > first && policy_.head[index(link)] != node) break;
                node = policy_.head[index(link)];
                const Node tail = policy_.tail[index(link)];
                if (placed_in_[index(tail)] != number || met_in_[index(link)] == number)
                    return {BushFault::out_of_order, position(last)};
                if (tail != root && no_through_[index(tail)]) return {BushFault::closed_node, position(last)};
                met_in_[index(link)] = number;
            }
            if (placed_in_[index(node)] == number) return {BushFault::out_of_order, position(first)};
            placed_in_[index(node)] = number;
            if (last - first > 1) {
                if (share.size() - used < last - first) return {BushFault::share_count, position(first)};
                double sum = 0.0;
                for (std::size_t i = 0; i < last - first; ++i) {
                    const double part = share[used + i];
                    if (!(part > 0.0)) return {BushFault::bad_share, position(first + i)};
                    sum += part;
                }
                if (!(std::abs(sum - 1.0) <= sum_tolerance)) return {BushFault::bad_share, position(first)};
                used += last - first;
            }
            first = last;
        }
        if (used != share.size()) return {BushFault::share_count, position(links.size())};
        return {BushFault::none, -1};
    }

    static constexpr double sum_tolerance = 1e-9;
    static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
    static std::int64_t position(std::size_t i) { return static_cast<std::int64_t>(i); }

    const BushesView& policy_;
    std::span<const std::uint8_t> no_through_;
    std::vector<std::int64_t> placed_in_;  // by node: the last bush that has it
    std::vector<std::int64_t> met_in_;     // by link
};

// The fault of the first faulty bush, whatever the number of threads.
inline FirstBushFault first_bush_fault(const BushesView& policy, std::span<const std::uint8_t> no_through,
                                       std::span<const Node> origin, int threads) {
    const ByBush pairs = pairs_by_bush(policy);
    std::vector<BushCheck> checks(static_cast<std::size_t>(threads), BushCheck(policy, no_through));
    std::vector<FirstBushFault> found(policy.bushes());
    parallel_for(policy.bushes(), threads,
                 [&](std::size_t worker, std::size_t b) { found[b] = checks[worker].run(b, origin, pairs.of(b)); });
    for (const FirstBushFault& one : found)
        if (one.fault != BushFault::none) return one;
    return {};
}

}  // namespace privroute
