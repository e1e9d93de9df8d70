#include "projection_exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace privroute {
namespace {

constexpr double unit = 0x1p-100;  // relative rounding error of a double-double operation, with a margin
constexpr int most_steps = 5000;
constexpr int most_searches = 400;
constexpr double largest_delta = 1e-2;
constexpr double smallest_delta = 1e-13;  // keeps the pivots of double away from zero

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

DoubleDouble clip(DoubleDouble z) {
    if (z < 0.0) return 0.0;
    return z < 1.0 ? z : DoubleDouble(1.0);
}

// Links within `nearly` of a bound count as free: a jump puts them there, give or take rounding.
constexpr double nearly = 1e-13;
bool is_free(DoubleDouble z) { return -nearly <= z.high && z.high <= 1.0 + nearly; }

}  // namespace

ExactProjection::ExactProjection(const ProjectionPlan& plan)
    : graph_(plan.lanes()),
      elimination_(plan.elimination),
      point_(plan.links()),
      diagonal_(plan.nodes()),
      below_(plan.elimination.row.size()),
      step_(plan.nodes()),
      slot_(plan.links()),
      leaving_(plan.nodes()),
      entering_(plan.nodes()) {
    for (std::size_t e = 0; e < plan.links(); ++e)
        slot_[e] = plan.elimination.slot(graph_.position[graph_.tail[e]], graph_.position[graph_.head[e]]);
}

void ExactProjection::open_links(const double* point) {
    open_.clear();
    for (std::size_t v = 0; v < leaving_.size(); ++v) {
        leaving_[v].clear();
        entering_[v].clear();
    }
    for (std::int32_t e = 0; e < graph_.links; ++e) {
        point_[at(e)] = point[e];
        if (!link_is_open(graph_, e, origin_, destination_)) continue;
        open_.push_back(e);
        leaving_[at(graph_.tail[e])].push_back(e);
        entering_[at(graph_.head[e])].push_back(e);
    }
}

DoubleDouble ExactProjection::stretched(const State& state, std::size_t link) const {
    return DoubleDouble(point_[link]) + (state.potential[at(graph_.head[link])] - state.potential[at(graph_.tail[link])]);
}

// Imbalance at state.potential, and the weighted Laplacian (as the vector kernel's evaluate, delta from the imbalance).
void ExactProjection::evaluate(State& state) const {
    std::fill(state.imbalance.begin(), state.imbalance.end(), DoubleDouble());
    state.imbalance[at(origin_)] = 1.0;
    state.imbalance[at(destination_)] = -1.0;
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        const DoubleDouble x = clip(stretched(state, e));
        auto &from = state.imbalance[at(graph_.tail[e])], &to = state.imbalance[at(graph_.head[e])];
        from = from - x;
        to = to + x;
    }
    state.total = state.largest = 0.0;
    for (const DoubleDouble& value : state.imbalance) {
        state.total += value.magnitude().high;
        state.largest = std::max(state.largest, value.magnitude().high);
    }
}

// step_ = -(weighted Laplacian)^-1 imbalance, in double.
void ExactProjection::solve(const State& state) {
    const double delta = std::max(std::min(largest_delta, state.largest), smallest_delta);
    std::fill(diagonal_.begin(), diagonal_.end(), 0.0);
    std::fill(below_.begin(), below_.end(), 0.0);
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        const double w = is_free(stretched(state, e)) ? 1.0 : delta;
        diagonal_[at(graph_.position[graph_.tail[e]])] += w;
        diagonal_[at(graph_.position[graph_.head[e]])] += w;
        below_[at(slot_[e])] -= w;
    }
    // a node without open links, or the last one of a part without any to the rest, has no pivot of its own
    for (double& d : diagonal_)
        if (d == 0.0) d = 1.0;
    for (std::int32_t i = 0; i < graph_.roots; ++i) diagonal_[at(graph_.root[i])] += 1.0;
    for (std::int32_t j = 0; j < graph_.nodes; ++j) {
        double& d = diagonal_[at(j)];
        if (!(d > smallest_delta * smallest_delta)) d = 1.0;
        d = 1.0 / d;
        for (std::int32_t b = graph_.column_start[j]; b < graph_.column_start[j + 1]; ++b) {
            const double scaled = below_[at(b)] * d;
            diagonal_[at(graph_.row[b])] -= scaled * below_[at(b)];
            for (std::int32_t a = b + 1; a < graph_.column_start[j + 1]; ++a)
                below_[at(elimination_.slot(graph_.row[a], graph_.row[b]))] -= scaled * below_[at(a)];
        }
    }
    for (std::int32_t v = 0; v < graph_.nodes; ++v) step_[at(graph_.position[v])] = -state.imbalance[at(v)].high;
    for (std::int32_t j = 0; j < graph_.nodes; ++j) {
        const double y = diagonal_[at(j)] * step_[at(j)];
        for (std::int32_t a = graph_.column_start[j]; a < graph_.column_start[j + 1]; ++a)
            step_[at(graph_.row[a])] -= below_[at(a)] * y;
    }
    for (std::int32_t j = graph_.nodes - 1; j >= 0; --j) {
        double sum = step_[at(j)];
        for (std::int32_t a = graph_.column_start[j]; a < graph_.column_start[j + 1]; ++a)
            sum -= below_[at(a)] * step_[at(graph_.row[a])];
        step_[at(j)] = sum * diagonal_[at(j)];
    }
}

// Derivative of the dual along step_ at state.potential + s step_, and its slope there. Summing what has changed since
// s = 0, where the derivative is `before`, keeps the digits that a sum of flows would cancel.
double ExactProjection::derivative(const State& state, double before, double s, double& slope) const {
    const auto along = [&](std::int32_t v) { return step_[at(graph_.position[v])]; };
    double sum = before;
    slope = 0.0;
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        const double move = along(graph_.head[e]) - along(graph_.tail[e]);
        const DoubleDouble here = stretched(state, e), z = here + DoubleDouble(s * move);
        sum += (clip(z) - clip(here)).high * move;
        if (is_free(z)) slope += move * move;
    }
    return sum;
}

// No potentials farther apart than all points together are of use: beyond, a search would follow rounding errors.
double ExactProjection::reach() const {
    double sum = 0.0;
    for (const std::int32_t e : open_) sum += std::abs(point_[at(e)]) + 1.0;
    return 4.0 * sum;
}

// A step length where the derivative has fallen to a hundredth, or the last point before its sign changes.
double ExactProjection::search(const State& state, double before) const {
    double low = 0.0, high = std::numeric_limits<double>::infinity(), s = 1.0, slope = 0.0, step = 1e-300;
    for (const double value : step_) step = std::max(step, std::abs(value));
    const double longest = std::max(reach() / step, 1.0);
    for (int i = 0; i < most_searches; ++i) {
        const double here = derivative(state, before, s, slope);
        if (std::abs(here) <= 0.01 * std::abs(before)) return s;
        (here > 0.0 ? high : low) = s;
        double next = slope > 0.0 ? s - here / slope : -1.0;
        if (!(next > low && next < high)) next = std::isfinite(high) ? 0.5 * (low + high) : 8.0 * s;
        next = std::min(next, longest);
        if (next == s) break;
        s = next;
    }
    return low > 0.0 ? low : s;
}

// Raises potentials until links that can carry flow from nodes with too much to a node with too little are about to
// become free (the dual step of the successive shortest path method; flows stay as they are). Between parts that no
// free link joins, Newton's direction knows nothing of how far away the next link is; this does, at any scale.
void ExactProjection::jump(State& state) const {
    const double enough = 1e-3 * state.largest;
    const DoubleDouble never(std::numeric_limits<double>::infinity());
    std::vector<DoubleDouble> distance(at(graph_.nodes), never);
    std::vector<bool> settled(at(graph_.nodes), false);
    for (std::size_t v = 0; v < distance.size(); ++v)
        if (state.imbalance[v].high > enough) distance[v] = 0.0;
    DoubleDouble nearest = never;
    while (true) {
        std::size_t next = distance.size();
        for (std::size_t v = 0; v < distance.size(); ++v)
            if (!settled[v] && distance[v].high < never.high && (next == distance.size() || distance[v] < distance[next]))
                next = v;
        if (next == distance.size()) return;  // nowhere to send it: nothing to learn here
        settled[next] = true;
        if (state.imbalance[next].high < -enough) {
            nearest = distance[next];
            break;
        }
        const auto relax = [&](std::size_t to, DoubleDouble length) {
            const DoubleDouble reached = distance[next] + (length < 0.0 ? DoubleDouble() : length);
            if (reached < distance[to]) distance[to] = reached;
        };
        for (const std::int32_t e : leaving_[next]) {  // more flow on it: possible below 1
            const DoubleDouble z = stretched(state, at(e));
            if (z < 1.0) relax(at(graph_.head[e]), -z);
        }
        for (const std::int32_t e : entering_[next]) {  // less flow on it: possible above 0
            const DoubleDouble z = stretched(state, at(e));
            if (DoubleDouble(0.0) < z) relax(at(graph_.tail[e]), z - 1.0);
        }
    }
    for (std::size_t v = 0; v < distance.size(); ++v)
        state.potential[v] = state.potential[v] + (distance[v] < nearest ? distance[v] : nearest);
}

double ExactProjection::write(const State& state, const ProjectionRows& rows, std::int64_t row) const {
    double* const flows = rows.flows + row * graph_.links;
    double* const potentials = rows.potentials_out + row * graph_.nodes;
    double flow = 0.0, largest = 0.0;
    std::fill(flows, flows + graph_.links, 0.0);
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        largest = std::max(largest, std::abs(point_[e]));
        flows[link] = clip(stretched(state, e)).high;
        flow += flows[link];
    }
    for (std::int32_t v = 0; v < graph_.nodes; ++v) potentials[v] = state.potential[at(v)].high;
    // the flows are rounded to double once more when they are written: at most 2^-53 on each link
    return certified_bound(graph_, state.total, flow, largest, unit) +
           1.001 * 0x1p-53 * std::sqrt(static_cast<double>(graph_.links));
}

bool ExactProjection::run(const ProjectionRows& rows, std::int64_t row, bool (*stop)(void*), void* context) {
    origin_ = rows.origin[row];
    destination_ = rows.destination[row];
    open_links(rows.points + row * graph_.links);
    const auto nodes = at(graph_.nodes);
    const double* const start = rows.potentials_out + row * graph_.nodes;
    State best{std::vector<DoubleDouble>(nodes), std::vector<DoubleDouble>(nodes)}, now = best;
    evaluate(best);
    std::copy(start, start + nodes, now.potential.begin());
    const double reach = this->reach();
    if (std::all_of(start, start + nodes, [=](double p) { return std::abs(p) <= reach; })) {
        evaluate(now);
        if (now.total < best.total) best = now;
    }
    now = best;
    const double half_path = 0.5 * std::sqrt(static_cast<double>(nodes - 1));
    bool long_step = false;  // a sign that parts of the graph are far from each other
    for (int i = 0; i < most_steps && !stop(context); ++i) {
        if (half_path * best.total <= 0.5 * rows.tolerance) break;
        if (long_step) {
            jump(now);
            evaluate(now);
        }
        solve(now);
        double before = 0.0;
        for (std::int32_t v = 0; v < graph_.nodes; ++v)
            before += now.imbalance[at(v)].high * step_[at(graph_.position[v])];
        const double s = search(now, before);
        long_step = s > 4.0;
        for (std::int32_t v = 0; v < graph_.nodes; ++v)
            now.potential[at(v)] = now.potential[at(v)] + DoubleDouble(s * step_[at(graph_.position[v])]);
        evaluate(now);
        if (now.total < best.total) best = now;
    }
    rows.error_bound[row] = write(best, rows, row);
    return rows.error_bound[row] <= rows.tolerance;
}

}  // namespace privroute
