#include "bush_solver.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "bush_sweeps.hpp"

namespace privroute {
namespace {

// Sums, link by link, what an earlier policy by origin sends over the reduced graph for the pairs of one source.
class EarlierBushFlow {
public:
    EarlierBushFlow(const Graph& network, const Reduction& reduction, const BushesView& policy)
        : network_(network),
          reduction_(reduction),
          policy_(policy),
          reduced_(network.links(), -1),
          flow_(network.links(), 0.0),
          load_(network.nodes(), 0.0) {
        for (std::size_t link = 0; link < reduction.original.size(); ++link)
            reduced_[reduction.original[link]] = static_cast<Link>(link);
    }

    // Empty if a link is used that the reduced graph does not have.
    std::vector<BushBuilder::Used> of(const std::vector<std::int32_t>& pairs, std::span<const double> demand) {
        std::vector<std::pair<std::int32_t, std::int32_t>> by_bush;
        for (const std::int32_t pair : pairs) by_bush.emplace_back(policy_.bush_of_pair[pair], pair);
        std::sort(by_bush.begin(), by_bush.end());
        bool valid = true;
        std::vector<Link> touched;
        for (std::size_t i = 0; i < by_bush.size();) {
            const std::int32_t bush = by_bush[i].first;
            const Link first = reduction_.trips[by_bush[i].second].first;
            for (; i < by_bush.size() && by_bush[i].first == bush; ++i) {
                const ReducedTrip& trip = reduction_.trips[by_bush[i].second];
                // The links given by the reduction are no part of the bush, even if others may choose them.
                const Node to = trip.last >= 0 ? network_.tail[trip.last] : policy_.destination[by_bush[i].second];
                load_[to] += demand[by_bush[i].second];
            }
            send_back(policy_, static_cast<std::size_t>(bush), load_, [&](Link link, double amount) {
                if (link == first || !(amount > 0.0)) return;
                valid = valid && reduced_[link] >= 0;
                if (flow_[link] == 0.0) touched.push_back(link);
                flow_[link] += amount;
            });
        }
        std::vector<BushBuilder::Used> used;
        for (const Link link : touched) {
            if (valid) used.push_back({reduced_[link], flow_[link]});
            flow_[link] = 0.0;
        }
        return used;
    }

private:
    const Graph& network_;
    const Reduction& reduction_;
    const BushesView& policy_;
    std::vector<Link> reduced_;
    std::vector<double> flow_;
    std::vector<double> load_;
};

// The same for an earlier policy as paths.
class EarlierFlow {
public:
    EarlierFlow(std::size_t network_links, const Reduction& reduction, const PolicyView& policy)
        : reduction_(reduction), policy_(policy), reduced_(network_links, -1), flow_(reduction.graph.links(), 0.0) {
        for (std::size_t link = 0; link < reduction.original.size(); ++link)
            reduced_[reduction.original[link]] = static_cast<Link>(link);
    }

    // Empty if a pair has no valid path.
    std::vector<BushBuilder::Used> of(const std::vector<std::int32_t>& pairs, std::span<const double> demand) {
        std::vector<BushBuilder::Used> used;
        bool valid = true;
        for (const std::int32_t pair : pairs) valid = valid && add(pair, demand[pair]);
        for (const Link link : touched_) {
            if (valid && flow_[link] > 0.0) used.push_back({link, flow_[link]});
            flow_[link] = 0.0;
        }
        touched_.clear();
        return used;
    }

private:
    bool add(std::int32_t pair, double demand) {
        const std::int64_t begin = policy_.pair_start[pair], end = policy_.pair_start[pair + 1];
        if (begin == end) return false;
        for (std::int64_t path = begin; path < end; ++path) {
            const std::span<const Link> links = policy_.path(static_cast<std::size_t>(path));
            if (!fits(reduction_.trips[pair], links)) return false;
            for (const Link link : links) {
                const Link inner = reduced_[link];
                // The links given by the reduction are no part of the bush, even if others may choose them.
                if (link == reduction_.trips[pair].first || link == reduction_.trips[pair].last) continue;
                if (flow_[inner] == 0.0) touched_.push_back(inner);
                flow_[inner] += demand * policy_.probability[path];
            }
        }
        return true;
    }

    // Whether the links are a path of the trip in this network: an earlier policy may come from another one.
    [[nodiscard]] bool fits(const ReducedTrip& trip, std::span<const Link> links) const {
        const std::size_t begin = trip.first >= 0 ? 1 : 0, end = links.size() - (trip.last >= 0 ? 1 : 0);
        if (links.size() < begin + 1 || end <= begin) return false;
        if (trip.first >= 0 && links.front() != trip.first) return false;
        if (trip.last >= 0 && links.back() != trip.last) return false;
        const Node source = reduction_.sources[trip.source];
        Node here = source;
        for (std::size_t i = begin; i < end; ++i) {
            if (links[i] < 0 || static_cast<std::size_t>(links[i]) >= reduced_.size()) return false;
            const Link link = reduced_[links[i]];
            if (link < 0 || reduction_.graph.tail[link] != here) return false;
            if (reduction_.graph.no_through[here] && here != source) return false;
            here = reduction_.graph.head[link];
        }
        return here == trip.destination;
    }

    const Reduction& reduction_;
    const PolicyView& policy_;
    std::vector<Link> reduced_;
    std::vector<double> flow_;
    std::vector<Link> touched_;
};

}  // namespace

void BushSolver::start(const Graph& network, const PolicyView& paths, const BushesView& bushes,
                       const std::function<void(double)>& tell) {
    const std::size_t sources = bushes_.size();
    std::vector<std::vector<BushBuilder::Used>> used(sources);
    const bool from_paths = !demand_.empty() && paths.pairs() == demand_.size();
    const bool from_bushes = !demand_.empty() && bushes.pairs() == demand_.size();
    if (from_paths || from_bushes) {
        if (from_paths) {
            EarlierFlow flow(network.links(), reduction_, paths);
            for (std::size_t s = 0; s < sources; ++s) used[s] = flow.of(pairs_of_[s], demand_);
        } else {
            EarlierBushFlow flow(network, reduction_, bushes);
            for (std::size_t s = 0; s < sources; ++s) used[s] = flow.of(pairs_of_[s], demand_);
        }
        for (const auto& links : used)
            for (const auto& [link, rate] : links) traffic_.flow[link] += rate;
        traffic_.refresh();
    }

    ShortestPaths search(reduction_.graph);
    BushBuilder builder(reduction_.graph);
    std::vector<double> demand_at(reduction_.graph.nodes(), 0.0);
    for (std::size_t s = 0; s < sources; ++s) {
        const Node source = reduction_.sources[s];
        tell(static_cast<double>(s) / static_cast<double>(sources));
        search.run(traffic_.cost, source);
        for (const std::int32_t pair : pairs_of_[s]) demand_at[reduction_.trips[pair].destination] += demand_[pair];
        std::optional<Bush> bush = builder.build(source, used[s], search, demand_at);
        if (!bush) {
            for (const auto& [link, rate] : used[s]) traffic_.add(link, -rate);
            used[s].clear();
            search.run(traffic_.cost, source);
            bush = builder.build(source, {}, search, demand_at);
        }
        bushes_[s] = std::move(*bush);
        for (const std::int32_t pair : pairs_of_[s]) demand_at[reduction_.trips[pair].destination] = 0.0;
        bushes_[s].rebalance(through_);
        if (!used[s].empty()) continue;
        for (std::size_t e = 0; e < bushes_[s].entries.size(); ++e)
            if (bushes_[s].flow[e] > 0.0) traffic_.add(bushes_[s].entries[e].link, bushes_[s].flow[e]);
    }
}

void BushSolver::remember() {
    remembered_.resize(bushes_.size());
    for (std::size_t s = 0; s < bushes_.size(); ++s) remembered_[s] = bushes_[s].flow;
}

double BushSolver::ascent(const std::vector<double>& from, const std::vector<double>& direction, double step) const {
    double sum = 0.0;
    for (std::size_t e = 0; e < from.size(); ++e)
        if (direction[e] != 0.0) sum += direction[e] * traffic_.at(e, from[e] + step * direction[e]).cost;
    return sum;
}

void BushSolver::extrapolate() {
    const std::vector<double> reached = traffic_.flow;
    std::vector<double> direction = reached;
    for (std::size_t e = 0; e < direction.size(); ++e) direction[e] -= traffic_.fixed[e];
    for (std::size_t s = 0; s < bushes_.size(); ++s)
        for (std::size_t e = 0; e < remembered_[s].size(); ++e)
            direction[bushes_[s].entries[e].link] -= remembered_[s][e];

    double step = 0.0, beyond = 1.0;
    while (beyond < 1e9 && ascent(reached, direction, beyond) < 0.0) {
        step = beyond;
        beyond *= 4.0;
    }
    for (int halving = 0; halving < 10; ++halving) {
        const double middle = 0.5 * (step + beyond);
        (ascent(reached, direction, middle) < 0.0 ? step : beyond) = middle;
    }
    // No further than to where the first flow ends. Flows that the passes have ended already do not count.
    for (std::size_t s = 0; s < bushes_.size(); ++s) {
        for (std::size_t e = 0; e < bushes_[s].flow.size(); ++e) {
            const double flow = bushes_[s].flow[e], change = flow - remembered_[s][e];
            if (flow > 0.0 && flow + step * change < 0.0) step = flow / -change;
        }
    }
    if (step < 0.1) return;

    passed_.resize(bushes_.size());
    for (std::size_t s = 0; s < bushes_.size(); ++s) passed_[s] = bushes_[s].flow;
    // Ended flows stay at zero and the rest of the bush follows, so the step may miss its point. The objective is
    // convex: if it still falls where the step ends, the step was an improvement.
    for (int attempt = 0; attempt < 4; ++attempt, step *= 0.25) {
        traffic_.flow = traffic_.fixed;
        for (std::size_t s = 0; s < bushes_.size(); ++s) {
            Bush& bush = bushes_[s];
            for (std::size_t e = 0; e < bush.flow.size(); ++e)
                bush.flow[e] = std::max(0.0, passed_[s][e] + step * (passed_[s][e] - remembered_[s][e]));
            bush.rebalance(through_);
            load(bush);
        }
        for (std::size_t e = 0; e < direction.size(); ++e) direction[e] = traffic_.flow[e] - reached[e];
        if (ascent(reached, direction, 1.0) <= 0.0) {
            traffic_.refresh();
            return;
        }
    }
    for (std::size_t s = 0; s < bushes_.size(); ++s) bushes_[s].flow = passed_[s];
    traffic_.flow = reached;
    traffic_.refresh();
}

}  // namespace privroute
