#include "assignment.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "bush_extraction.hpp"
#include "bush_solver.hpp"
#include "bush_sweeps.hpp"
#include "reduction.hpp"

namespace privroute {
namespace {

// Says whether to go on: time, and the caller's wish, which is asked ten times a second.
class Watch {
public:
    explicit Watch(const AssignmentOptions& options) : options_(options) {}

    bool go_on() {
        if (stopped_) return false;
        const double now = seconds();
        if (now > options_.time_limit) {
            status_ = Status::time_limit;
            stopped_ = true;
        } else if (options_.progress && now >= next_) {
            next_ = now + 0.1;
            tell();
        }
        return !stopped_;
    }
    // Begins another phase and tells so at once, if the caller has been told anything yet.
    void enter(Phase next) {
        phase = next;
        share = 0.0;
        if (!stopped_ && options_.progress && seconds() >= 0.1) tell();
    }
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    [[nodiscard]] Status status() const { return status_; }

    int iteration = 0;
    double gap = std::numeric_limits<double>::infinity();
    Phase phase = Phase::starting;
    double share = 0.0;

private:
    void tell() {
        if (options_.progress(phase, share, gap)) return;
        status_ = Status::interrupted;
        stopped_ = true;
    }

    const AssignmentOptions& options_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double next_ = 0.1;
    bool stopped_ = false;
    Status status_ = Status::converged;
};

// Pairs grouped by origin: those of group g are order[start[g] .. start[g + 1]).
struct OriginGroups {
    std::vector<std::int32_t> order;
    std::vector<std::size_t> start{0};

    OriginGroups(std::span<const Node> origin, std::size_t nodes) : order(origin.size()) {
        std::vector<std::size_t> next(nodes + 1, 0);
        for (const Node v : origin) ++next[static_cast<std::size_t>(v) + 1];
        for (std::size_t v = 0; v < nodes; ++v) {
            if (next[v + 1] > 0) start.push_back(start.back() + next[v + 1]);
            next[v + 1] += next[v];
        }
        for (std::size_t pair = 0; pair < origin.size(); ++pair)
            order[next[origin[pair]]++] = static_cast<std::int32_t>(pair);
    }
    [[nodiscard]] std::size_t size() const { return start.size() - 1; }
    [[nodiscard]] std::span<const std::int32_t> pairs(std::size_t group) const {
        return std::span(order).subspan(start[group], start[group + 1] - start[group]);
    }
};

class Run {
public:
    Run(const AssignmentProblem& problem, const AssignmentOptions& options)
        : problem_(problem),
          options_(options),
          watch_(options),
          reduction_(reduce(problem.network, problem.origin, problem.destination, problem.demand)),
          given_(given_flow()),
          groups_(problem.origin, problem.network.nodes()),
          threads_(useful_threads()),
          solver_(reduction_, traffic(), problem.demand, threads_) {}

    Assignment solve(const Earlier& earlier) {
        // Every source gets its bush, also if the caller stops in between: the solution is then the first one.
        solver_.start(problem_.network, earlier.paths, earlier.bushes, [this](double done) {
            watch_.share = done;
            watch_.go_on();
        });
        watch_.enter(Phase::solving);
        // The certificate is computed from the policy, with its own rounding: if it misses the goal, aim lower.
        double goal = options_.gap;
        for (int attempt = 0; attempt < 4; ++attempt, goal *= 0.3) {
            result_.status = solver_.traffic().any_kinked ? iterate_with_kinks(goal) : iterate(goal);
            watch_.enter(Phase::extracting);
            extract();
            watch_.phase = Phase::solving;
            if (result_.relative_gap <= options_.gap) result_.status = Status::converged;
            if (result_.status != Status::converged || result_.relative_gap <= options_.gap) return std::move(result_);
        }
        result_.status = Status::stalled;
        return std::move(result_);
    }

private:
    // Starting a thread takes as long as some thousand labels, so small networks are solved by one.
    [[nodiscard]] int useful_threads() const {
        constexpr std::size_t worthwhile = 50'000;
        return groups_.size() * problem_.network.nodes() < worthwhile ? 1 : std::max(options_.threads, 1);
    }

    // Routed flow on links where there is no choice, by network link.
    [[nodiscard]] std::vector<double> given_flow() const {
        std::vector<double> flow(problem_.network.links(), 0.0);
        for (std::size_t pair = 0; pair < problem_.demand.size(); ++pair) {
            const ReducedTrip& trip = reduction_.trips[pair];
            if (trip.first >= 0) flow[trip.first] += problem_.demand[pair];
            if (trip.last >= 0) flow[trip.last] += problem_.demand[pair];
        }
        return flow;
    }

    [[nodiscard]] Traffic traffic() const {
        const Weighing& weighing = options_.weighing;
        std::vector<CostCurve> curves, own;
        std::vector<double> fixed_cost, fixed;
        curves.reserve(reduction_.original.size());
        fixed.reserve(reduction_.original.size());
        for (const Link original : reduction_.original) {
            const auto link = static_cast<std::size_t>(original);
            curves.push_back(problem_.latency.cost(link, weighing.first()));
            if (weighing.mixed()) own.push_back(problem_.latency.cost(link, Criterion::equilibrium));
            if (!weighing.fixed.empty()) fixed_cost.push_back(weighing.fixed[link]);
            fixed.push_back(problem_.background[link] + given_[link]);
        }
        return {std::move(curves), std::move(own), std::move(fixed_cost), weighing, std::move(fixed)};
    }

    // Alternates between renewing and equilibrating the bushes until the gap is at most `goal`.
    Status iterate(double goal) {
        constexpr int patience = 150;  // iterations without progress by a tenth
        constexpr int passes = 3;
        double best = std::numeric_limits<double>::infinity(), before = best;
        int since_best = 0;
        while (true) {
            const double gap = watch_.gap = note_progress(solver_.renew());
            if (gap <= goal) return Status::converged;
            if (gap < 0.9 * best) {
                best = gap;
                since_best = 0;
            } else if (++since_best >= patience) {
                return Status::stalled;
            }
            if (watch_.iteration >= options_.max_iterations) return Status::iteration_limit;
            if (!watch_.go_on()) return watch_.status();
            ++watch_.iteration;
            const bool slow = gap > 0.5 * before;
            before = gap;
            // Differences far below the gap can wait; but if nothing moves, none is too small to matter.
            const double tolerance = since_best < 5 ? std::max(0.01 * std::min(gap, 1.0), 1e-15) : 1e-15;
            if (slow) solver_.remember();
            for (int pass = 0; pass < passes; ++pass)
                if (!solver_.equilibrate(tolerance, [this] { return watch_.go_on(); })) break;
            if (slow) solver_.extrapolate();
        }
    }

    // The same where costs jump: solves with ramps in place of jumps, and moves the ramps until flows that belong to a
    // kink are there (kinks.hpp).
    Status iterate_with_kinks(double goal) {
        constexpr int rounds = 100;
        constexpr double widest = 0.02, narrowest = 1e-4;
        double inner = 1e-2;
        for (int round = 0; round < rounds; ++round) {
            solver_.move_ramps(std::max(widest * std::pow(0.5, rounds_++), narrowest));
            const Status status = iterate(std::max(0.3 * goal, inner));
            const double above = kink_slack(solver_.traffic()), slack = above > 0.0 ? above / shortest_ : 0.0;
            if (status != Status::converged && status != Status::stalled) return status;
            if (watch_.gap <= goal && watch_.gap + slack <= goal) return Status::converged;
            inner *= 0.1;
        }
        return Status::stalled;
    }

    // Adds a row to the report; returns the relative gap.
    double note_progress(const BushCost& cost) {
        const Traffic& traffic = solver_.traffic();
        std::vector<double> flow = given_;
        for (std::size_t e = 0; e < flow.size(); ++e) flow[e] += problem_.background[e];
        for (std::size_t e = 0; e < reduction_.original.size(); ++e) flow[reduction_.original[e]] = traffic.flow[e];
        double given_cost = 0.0, objective = 0.0;
        for (std::size_t e = 0; e < flow.size(); ++e) {
            objective += options_.weighing.objective(problem_.latency, e, flow[e]);
            if (given_[e] > 0.0) given_cost += given_[e] * options_.weighing.cost(problem_.latency, e, flow[e]).cost;
        }
        const double shortest = shortest_ = cost.shortest + given_cost;
        const double gap = cost.excess > 0.0 ? cost.excess / shortest : 0.0;
        result_.report.push_back({watch_.iteration, gap, objective, watch_.seconds()});
        return gap;
    }

    // Fills policy, flows and gap.
    void extract() {
        solver_.rebalance();
        result_.iterations = watch_.iteration;
        // Two bushes for each origin: the solver's for pairs with demand, the tree of shortest paths for those without.
        // They stand side by side, and the empty ones are dropped at the end.
        std::vector<OriginBush> bushes(2 * groups_.size());
        route_demand(bushes);
        result_.policy = lined_up(bushes);
        result_.link_flow.assign(problem_.network.links(), 0.0);
        if (!result_.policy.root.empty())
            result_.link_flow =
                load_bushes(result_.policy.view(problem_.network, problem_.destination), problem_.demand, threads_);

        double total = 0.0;
        result_.objective = 0.0;
        std::vector<double> cost(problem_.network.links());
        for (std::size_t link = 0; link < cost.size(); ++link) {
            const double y = problem_.background[link] + result_.link_flow[link];
            cost[link] = options_.weighing.cost(problem_.latency, link, y).cost;
            total += result_.link_flow[link] * cost[link];
            result_.objective += options_.weighing.objective(problem_.latency, link, y);
        }
        double slack = 0.0;
        if (solver_.traffic().any_kinked) {
            for (std::size_t e = 0; e < reduction_.original.size(); ++e) {
                const auto link = static_cast<std::size_t>(reduction_.original[e]);
                if (!solver_.traffic().curve[e].kinked()) continue;
                const double routed = result_.link_flow[link];
                const KinkPrice priced = price(solver_.traffic(), e, problem_.background[link] + routed);
                total += routed * (priced.cost - cost[link]);
                cost[link] = priced.cost;
                slack += priced.slack;
            }
        }
        const double shortest = route_rest(bushes, cost);
        result_.relative_gap =
            (total > shortest ? total / shortest - 1.0 : 0.0) + (slack > 0.0 ? slack / shortest : 0.0);
        // Where curves overflow, costs are cut off and no longer tell paths apart: then the gap says nothing.
        const bool cut_off = std::any_of(cost.begin(), cost.end(), [](double c) { return !(c < highest_cost); });
        if (cut_off || !std::isfinite(result_.objective))
            result_.relative_gap = std::numeric_limits<double>::infinity();
        if (any_idle_) result_.policy = lined_up(bushes);
        result_.link_cost = std::move(cost);
    }

    // The bushes of the pairs with demand.
    void route_demand(std::vector<OriginBush>& bushes) {
        // Below 1e-15 it is rounding; but where a curve starts with infinite slope no flow is too small to be felt.
        const double negligible = solver_.traffic().any_steep ? 0.0 : 1e-15;
        std::vector<BushExtraction> extractions(static_cast<std::size_t>(threads_),
                                                BushExtraction(problem_.network, reduction_, negligible));
        parallel_for(groups_.size(), threads_, [&](std::size_t worker, std::size_t group) {
            std::vector<ReducedTrip> trips;
            const Bush* bush = nullptr;  // the pairs of an origin have one source
            for (const std::int32_t pair : groups_.pairs(group)) {
                if (!(problem_.demand[pair] > 0.0)) continue;
                trips.push_back(reduction_.trips[pair]);
                if (trips.back().source >= 0) bush = &solver_.bushes()[trips.back().source];
            }
            extractions[worker].write(bush, trips, bushes[2 * group]);
        });
    }

    // The bushes of the pairs without demand. Returns the cost of all demand on shortest paths.
    double route_rest(std::vector<OriginBush>& bushes, const std::vector<double>& cost) {
        std::vector<ShortestPaths> searches(static_cast<std::size_t>(threads_), ShortestPaths(problem_.network));
        std::vector<BushExtraction> extractions(static_cast<std::size_t>(threads_),
                                                BushExtraction(problem_.network, reduction_, 0.0));
        std::vector<double> shortest(groups_.size(), 0.0);
        std::vector<std::uint8_t> idle(groups_.size(), 0);
        parallel_for(groups_.size(), threads_, [&](std::size_t worker, std::size_t group) {
            const auto pairs = groups_.pairs(group);
            ShortestPaths& search = searches[worker];
            search.run(cost, problem_.origin[pairs[0]]);
            std::vector<Node> without;
            for (const std::int32_t pair : pairs) {
                const Node to = problem_.destination[pair];
                if (problem_.demand[pair] > 0.0)
                    shortest[group] += problem_.demand[pair] * search.distance[to];
                else
                    without.push_back(to);
            }
            idle[group] = !without.empty();
            extractions[worker].write_tree(search, without, bushes[2 * group + 1]);
        });
        any_idle_ = std::any_of(idle.begin(), idle.end(), [](std::uint8_t one) { return one != 0; });
        return std::accumulate(shortest.begin(), shortest.end(), 0.0);
    }

    // The bushes that have links, one after the other.
    PolicyBushes lined_up(const std::vector<OriginBush>& bushes) const {
        PolicyBushes policy;
        std::size_t links = 0, shares = 0;
        for (const OriginBush& bush : bushes) {
            links += bush.links.size();
            shares += bush.share.size();
        }
        policy.links.reserve(links);
        policy.share.reserve(shares);
        policy.bush_of_pair.assign(problem_.demand.size(), 0);
        for (std::size_t group = 0; group < groups_.size(); ++group) {
            std::int32_t number[2] = {0, 0};  // any will do for pairs whose bush is not made yet: they carry nothing
            for (const std::size_t side : {0, 1}) {
                const OriginBush& bush = bushes[2 * group + side];
                if (bush.links.empty()) continue;
                number[side] = static_cast<std::int32_t>(policy.root.size());
                policy.root.push_back(problem_.origin[groups_.pairs(group)[0]]);
                policy.links.insert(policy.links.end(), bush.links.begin(), bush.links.end());
                policy.share.insert(policy.share.end(), bush.share.begin(), bush.share.end());
                policy.link_start.push_back(static_cast<std::int64_t>(policy.links.size()));
                policy.share_start.push_back(static_cast<std::int64_t>(policy.share.size()));
            }
            for (const std::int32_t pair : groups_.pairs(group))
                policy.bush_of_pair[pair] = number[problem_.demand[pair] > 0.0 ? 0 : 1];
        }
        return policy;
    }

    const AssignmentProblem& problem_;
    const AssignmentOptions& options_;
    Watch watch_;
    Reduction reduction_;
    std::vector<double> given_;
    OriginGroups groups_;
    int threads_;
    BushSolver solver_;
    bool any_idle_ = false;
    double shortest_ = 0.0;  // cost of all demand on shortest paths, in the last iteration
    int rounds_ = 0;         // in which ramps were moved
    Assignment result_;
};

}  // namespace

Assignment assign(const AssignmentProblem& problem, const AssignmentOptions& options, const Earlier& earlier) {
    return Run(problem, options).solve(earlier);
}

}  // namespace privroute
