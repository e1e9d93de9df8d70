// From the solver's bushes on the reduced graph to bushes on the network, one for each origin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bush.hpp"
#include "policy_bushes.hpp"
#include "reduction.hpp"
#include "shortest_path.hpp"

namespace privroute {

// The part of a policy that one origin has.
struct OriginBush {
    std::vector<Link> links;
    std::vector<double> share;
};

class BushExtraction {
public:
    // Shares of at most `negligible` are left out.
    BushExtraction(const Graph& network, const Reduction& reduction, double negligible)
        : network_(network),
          reduction_(reduction),
          negligible_(negligible),
          place_(reduction.graph.nodes()),
          entered_(network.nodes(), 0) {}

    // The bush of an origin for pairs with demand: the links before the source, the part of the source's bush that
    // leads to the destinations, and the last links. `bush` is null where first and last link are the whole path.
    void write(const Bush* bush, std::span<const ReducedTrip> trips, OriginBush& out) {
        for (const ReducedTrip& trip : trips)
            if (trip.first >= 0) enter(trip.first, out);
        if (bush != nullptr) write_bush(*bush, trips, out);
        for (const ReducedTrip& trip : trips)
            if (trip.last >= 0) enter(trip.last, out);
        for (const Link link : out.links) entered_[network_.head[link]] = 0;
    }

    // The tree of shortest paths to the given nodes. `search` has just run from the origin.
    void write_tree(const ShortestPaths& search, std::span<const Node> destinations, OriginBush& out) {
        for (const Node to : destinations) {
            branch_.clear();
            for (Node v = to; search.incoming[v] >= 0 && !entered_[v]; v = network_.tail[search.incoming[v]]) {
                entered_[v] = 1;
                branch_.push_back(search.incoming[v]);
            }
            out.links.insert(out.links.end(), branch_.rbegin(), branch_.rend());
        }
        for (const Link link : out.links) entered_[network_.head[link]] = 0;
    }

private:
    // A node that only this link enters.
    void enter(Link link, OriginBush& out) {
        if (entered_[network_.head[link]]) return;
        entered_[network_.head[link]] = 1;
        out.links.push_back(link);
    }

    void write_bush(const Bush& bush, std::span<const ReducedTrip> trips, OriginBush& out) {
        needed_.assign(bush.order.size(), 0);
        for (Position k = 0; k < bush.size(); ++k) place_[bush.order[k]] = k;
        for (const ReducedTrip& trip : trips)
            if (trip.source >= 0) needed_[place_[trip.destination]] = 1;
        for (Position k = bush.size() - 1; k > 0; --k)
            if (needed_[k]) for_each_used(bush, k, [&](std::int32_t e, double) { needed_[bush.entries[e].tail] = 1; });
        for (Position k = 1; k < bush.size(); ++k) {
            if (!needed_[k]) continue;
            const std::size_t first = out.share.size();
            double sum = 0.0;
            for_each_used(bush, k, [&](std::int32_t e, double share) {
                out.links.push_back(reduction_.original[bush.entries[e].link]);
                out.share.push_back(share);
                sum += share;
            });
            entered_[network_.head[out.links.back()]] = 1;
            if (out.share.size() == first + 1) out.share.pop_back();
            for (std::size_t i = first; i < out.share.size(); ++i) out.share[i] /= sum;
        }
    }

    // The entries of a node that carry more than a negligible share of its flow; one, at least.
    template <typename Visit>
    void for_each_used(const Bush& bush, Position k, Visit&& visit) const {
        const std::int32_t begin = bush.start[k], end = bush.start[k + 1];
        double sum = 0.0;
        for (std::int32_t e = begin; e < end; ++e) sum += bush.flow[e];
        if (!(sum > 0.0)) {
            visit(begin, 1.0);
            return;
        }
        for (std::int32_t e = begin; e < end; ++e)
            if (const double share = bush.flow[e] / sum; share > negligible_) visit(e, share);
    }

    const Graph& network_;
    const Reduction& reduction_;
    double negligible_;
    std::vector<Position> place_;        // by node of the reduced graph
    std::vector<std::uint8_t> entered_;  // by node of the network
    std::vector<std::uint8_t> needed_;   // by position
    std::vector<Link> branch_;
};

}  // namespace privroute
