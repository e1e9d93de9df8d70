// All bushes of an assignment and the two steps of Algorithm B on them: renewing the bushes, equilibrating them.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "bush.hpp"
#include "bush_update.hpp"
#include "equilibration.hpp"
#include "kinks.hpp"
#include "parallel.hpp"
#include "policy.hpp"
#include "policy_bushes.hpp"
#include "reduction.hpp"
#include "traffic.hpp"

namespace privroute {

class BushSolver {
public:
    BushSolver(const Reduction& reduction, Traffic traffic, std::span<const double> demand, int threads)
        : reduction_(reduction),
          demand_(demand),
          threads_(threads),
          traffic_(std::move(traffic)),
          pairs_of_(reduction.sources.size()),
          bushes_(reduction.sources.size()),
          cost_(reduction.sources.size()),
          updates_(static_cast<std::size_t>(threads), BushUpdate(reduction.graph)) {
        for (std::size_t pair = 0; pair < demand.size(); ++pair)
            if (reduction.trips[pair].source >= 0)
                pairs_of_[reduction.trips[pair].source].push_back(static_cast<std::int32_t>(pair));
    }

    // Loads the earlier policy's paths with the present demand where its links form a bush; other sources get trees of
    // shortest paths, each loaded before the next is sought, so that later sources avoid what is full already.
    // The earlier policy is for the same pairs on the same network, as paths or by origin, or empty. Every pair has a
    // path.
    // tell(share) is called after each source.
    void start(const Graph& network, const PolicyView& paths, const BushesView& bushes,
               const std::function<void(double)>& tell);

    // Renews all bushes at the present flows. Returns the sums over all sources.
    BushCost renew() {
        traffic_.flow = traffic_.fixed;
        for (Bush& bush : bushes_) {
            bush.rebalance(through_);
            load(bush);
        }
        traffic_.refresh();
        parallel_for(bushes_.size(), threads_, [&](std::size_t worker, std::size_t s) {
            cost_[s] = updates_[worker].renew(bushes_[s], traffic_);
        });
        BushCost total;
        for (const BushCost& cost : cost_) {
            total.excess += cost.excess;
            total.shortest += cost.shortest;
        }
        return total;
    }

    // A pass over all bushes, then rounds over the pairs of segments that it found, until a round saves little against
    // the pass. go_on() is asked after each bush and round; false ends it. Returns whether it ran to the end.
    template <typename GoOn>
    bool equilibrate(double tolerance, GoOn&& go_on) {
        // Found by measuring on Sioux Falls, Anaheim and Chicago Sketch; twice or half of either costs little.
        constexpr int rounds = 30;
        constexpr double enough = 0.01;
        equilibration_.forget();
        double saved = 0.0;
        for (std::size_t s = 0; s < bushes_.size(); ++s) {
            saved += equilibration_.pass(bushes_, s, traffic_, tolerance);
            if (!go_on()) return false;
        }
        for (int round = 0; round < rounds; ++round) {
            if (equilibration_.repeat(bushes_, traffic_) <= enough * saved) break;
            if (!go_on()) return false;
        }
        return true;
    }

    // Remembers the bush flows, so that extrapolate() knows the direction that the following passes took.
    void remember();
    // Goes on in the direction of the passes since remember(), to where the objective is least along it. Passes creep
    // where sources contend for a link with a steep cost: each gives way only as far as the last one pressed.
    void extrapolate();

    // Removes the rounding errors that equilibrate() leaves in the bush flows.
    void rebalance() {
        for (Bush& bush : bushes_) bush.rebalance(through_);
    }

    // Puts ramps of this width in place of jumps, placed by the present flows.
    void move_ramps(double width) { privroute::move_ramps(traffic_, width); }

    [[nodiscard]] const Traffic& traffic() const { return traffic_; }
    [[nodiscard]] const std::vector<Bush>& bushes() const { return bushes_; }
    [[nodiscard]] const std::vector<std::vector<std::int32_t>>& pairs_of() const { return pairs_of_; }

private:
    // Rate of change of the objective along `direction`, at `step` from the link flows `from`.
    [[nodiscard]] double ascent(const std::vector<double>& from, const std::vector<double>& direction,
                                double step) const;

    void load(const Bush& bush) {
        for (std::size_t e = 0; e < bush.entries.size(); ++e) traffic_.flow[bush.entries[e].link] += bush.flow[e];
    }

    const Reduction& reduction_;
    std::span<const double> demand_;
    int threads_;
    Traffic traffic_;
    std::vector<std::vector<std::int32_t>> pairs_of_;
    std::vector<Bush> bushes_;
    std::vector<BushCost> cost_;
    std::vector<BushUpdate> updates_;
    std::vector<double> through_;
    std::vector<std::vector<double>> remembered_, passed_;
    Equilibration equilibration_;
};

}  // namespace privroute
