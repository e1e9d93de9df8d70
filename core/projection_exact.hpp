// The projection of one pair with twice the digits, for the rows that the vector kernel could not certify.
#pragma once

#include <cstdint>
#include <vector>

#include "double_double.hpp"
#include "projection_plan.hpp"
#include "projection_problem.hpp"
#include "projection_row.hpp"

namespace privroute {

// The same Newton method as the vector kernel. Potentials, flows and imbalance have about 31 digits; the matrix and
// the step are double, which makes every step a step of iterative refinement. The line search has no upper end, so that
// points of very different size are reached in few steps.
class ExactProjection {
public:
    explicit ExactProjection(const ProjectionPlan& plan);

    // Solves row `row`, starting from potentials_out (or from 0, whichever is closer to balance), and writes potentials
    // and error bound, and flows if the bound meets the tolerance. False if it does not, or if `stop` asked for an end.
    bool run(const ProjectionRows& rows, std::int64_t row, bool (*stop)(void*), void* context);

private:
    struct State {
        std::vector<DoubleDouble> potential;
        std::vector<DoubleDouble> imbalance;
        double total = 0.0;    // sum of |imbalance|
        double largest = 0.0;  // max of |imbalance|
    };

    void open_links();
    void evaluate(State& state) const;
    void solve(const State& state);
    double derivative(const State& state, double before, double s, double& slope) const;
    double search(const State& state, double before) const;
    [[nodiscard]] double reach() const;
    void jump(State& state) const;
    [[nodiscard]] double bound(const State& state) const;
    void write(const State& state, const ProjectionRows& rows, std::int64_t row);
    [[nodiscard]] double inverse(std::size_t link) const { return metric_.inverse ? metric_.inverse[link] : 1.0; }
    [[nodiscard]] DoubleDouble stretched(const State& state, std::size_t link) const;

    const LaneGraph graph_;
    const Elimination& elimination_;
    ProjectionRow row_;
    ProjectionMetric metric_{};
    std::vector<std::int32_t> open_;                             // links of the inner graph that the pair may use
    std::vector<double> diagonal_, below_, step_;                // by position in the elimination order
    std::vector<std::int32_t> tail_, head_, slot_;               // of each link, as positions
    std::vector<std::vector<std::int32_t>> leaving_, entering_;  // open links at each position
};

}  // namespace privroute
