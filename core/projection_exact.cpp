#include "projection_exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace privroute {
namespace {

constexpr double unit = 0x1p-100;  // relative rounding error of a double-double operation, with a margin
constexpr int most_steps = 300;    // more than any row is known to take; scaling does the rest
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

// Flows on the links of pendants, and their potentials from those of their parents. What a pendant sends and receives
// is fixed: 1 and 0 at the origin, 0 and 1 at the destination, elsewhere the same amount both ways, which costs least
// at the weighted mean of the two points. docs/proofs/projection.md, Lemma 2.
void add_pendants(const LaneGraph& graph, const double* inverse, ProjectionRow& row) {
    for (std::int32_t i = 0; i < graph.pendants; ++i) {
        const Pendant& pendant = graph.pendant[i];
        const double in = row.point[at(pendant.in)], out = row.point[at(pendant.out)];
        const double of_in = inverse ? inverse[pendant.in] : 1.0, of_out = inverse ? inverse[pendant.out] : 1.0;
        const double parent = row.potential[at(graph.tail[pendant.in])];
        double& rise = row.potential[at(pendant.node)];
        double &flow_in = row.flow[at(pendant.in)], &flow_out = row.flow[at(pendant.out)];
        if (pendant.node == row.origin || pendant.node == row.destination) {
            const bool sends = pendant.node == row.origin;
            flow_in = sends ? 0.0 : 1.0;
            flow_out = sends ? 1.0 : 0.0;
            const double one = sends ? (out - 1.0) / of_out : (1.0 - in) / of_in,
                         other = sends ? -in / of_in : out / of_out;
            rise = parent + ((one < other) == sends ? one : other);
            continue;
        }
        const bool open = row.is_open[at(pendant.in)] && row.is_open[at(pendant.out)];
        const double mean = (in * of_out + out * of_in) / (of_in + of_out);
        const double inside = mean > 0.0 ? (mean < 1.0 ? mean : 1.0) : 0.0;
        flow_in = flow_out = open ? inside : 0.0;
        rise = parent + (out - in) / (of_in + of_out);
    }
}

}  // namespace

ExactProjection::ExactProjection(const ProjectionPlan& plan)
    : graph_(plan.lanes()),
      elimination_(plan.elimination),
      row_(graph_),
      diagonal_(at(graph_.nodes)),
      below_(at(graph_.slots)),
      step_(at(graph_.nodes)),
      tail_(plan.links()),
      head_(plan.links()),
      slot_(plan.links()),
      leaving_(at(graph_.nodes)),
      entering_(at(graph_.nodes)) {
    for (std::int32_t r = 0; r < graph_.links; ++r) {
        const std::int32_t link = graph_.link_of_row[r];
        const auto e = at(link);
        tail_[e] = graph_.tail_position[link];
        head_[e] = graph_.head_position[link];
        slot_[e] = elimination_.slot(tail_[e], head_[e]);
    }
}

void ExactProjection::open_links() {
    open_.clear();
    for (std::size_t v = 0; v < leaving_.size(); ++v) {
        leaving_[v].clear();
        entering_[v].clear();
    }
    for (std::int32_t r = 0; r < graph_.links; ++r) {
        const std::int32_t link = graph_.link_of_row[r];
        if (!row_.is_open[at(link)]) continue;
        open_.push_back(link);
        leaving_[at(tail_[at(link)])].push_back(link);
        entering_[at(head_[at(link)])].push_back(link);
    }
}

DoubleDouble ExactProjection::stretched(const State& state, std::size_t link) const {
    const DoubleDouble rise = state.potential[at(head_[link])] - state.potential[at(tail_[link])];
    return DoubleDouble(row_.point[link]) + rise.scaled(inverse(link));
}

// Imbalance at state.potential, and the weighted Laplacian (as the vector kernel's evaluate, delta from the imbalance).
void ExactProjection::evaluate(State& state) const {
    std::fill(state.imbalance.begin(), state.imbalance.end(), DoubleDouble());
    auto& origin = state.imbalance[at(graph_.position[row_.origin])];
    auto& destination = state.imbalance[at(graph_.position[row_.destination])];
    origin = origin + 1.0;
    destination = destination - 1.0;  // both may hang on the same node
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        const DoubleDouble x = clip(stretched(state, e));
        auto &from = state.imbalance[at(tail_[e])], &to = state.imbalance[at(head_[e])];
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
        const double w = (is_free(stretched(state, e)) ? 1.0 : delta) * inverse(e);
        diagonal_[at(tail_[e])] += w;
        diagonal_[at(head_[e])] += w;
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
    for (std::size_t i = 0; i < step_.size(); ++i) step_[i] = -state.imbalance[i].high;
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
    double sum = before;
    slope = 0.0;
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        const double move = step_[at(head_[e])] - step_[at(tail_[e])];
        const DoubleDouble here = stretched(state, e), z = here + DoubleDouble(s * move).scaled(inverse(e));
        sum += (clip(z) - clip(here)).high * move;
        if (is_free(z)) slope += move * move * inverse(e);
    }
    return sum;
}

// No potentials farther apart than all points together are of use: beyond, a search would follow rounding errors.
double ExactProjection::reach() const {
    double sum = 0.0;
    for (const std::int32_t e : open_) sum += (std::abs(row_.point[at(e)]) + 1.0) / inverse(at(e));
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
            if (!settled[v] && distance[v].high < never.high &&
                (next == distance.size() || distance[v] < distance[next]))
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
            if (z < 1.0) relax(at(head_[at(e)]), (-z).scaled(1.0 / inverse(at(e))));
        }
        for (const std::int32_t e : entering_[next]) {  // less flow on it: possible above 0
            const DoubleDouble z = stretched(state, at(e));
            if (DoubleDouble(0.0) < z) relax(at(tail_[at(e)]), (z - 1.0).scaled(1.0 / inverse(at(e))));
        }
    }
    for (std::size_t v = 0; v < distance.size(); ++v)
        state.potential[v] = state.potential[v] + (distance[v] < nearest ? distance[v] : nearest);
}

double ExactProjection::bound(const State& state) const {
    double flow = 0.0, largest = 0.0;
    for (const double v : row_.point) largest = std::max(largest, std::abs(v));
    for (const std::int32_t e : open_) flow += clip(stretched(state, at(e))).high;
    // the flows are rounded to double once more when they are written, a mean at a pendant twice: 2^-52 on each link
    return certified_bound(graph_, metric_, state.total, flow, largest, unit) +
           1.001 * 0x1p-52 * std::sqrt(metric_.total);
}

void ExactProjection::write(const State& state, const ProjectionRows& rows, std::int64_t row) {
    for (const std::int32_t e : open_) row_.flow[at(e)] = clip(stretched(state, at(e))).high;
    add_pendants(graph_, metric_.inverse, row_);
    row_.write_flows(graph_, rows, row);
    row_.write_potentials(graph_, rows, row);
}

bool ExactProjection::run(const ProjectionRows& rows, std::int64_t row, bool (*stop)(void*), void* context) {
    metric_ = rows.metric;
    row_.read(graph_, rows, row);
    open_links();
    const auto nodes = at(graph_.nodes);
    std::vector<double> start(nodes);
    for (std::size_t i = 0; i < nodes; ++i) start[i] = row_.potential[at(graph_.node[i])];
    State best{std::vector<DoubleDouble>(nodes), std::vector<DoubleDouble>(nodes)}, now = best;
    evaluate(best);
    std::copy(start.begin(), start.end(), now.potential.begin());
    const double reach = this->reach();
    if (std::all_of(start.begin(), start.end(), [=](double p) { return std::abs(p) <= reach; })) {
        evaluate(now);
        if (now.total < best.total) best = now;
    }
    now = best;
    const double half_path = 0.5 * std::sqrt(metric_.heaviest_path);
    bool long_step = false;  // a sign that parts of the graph are far from each other
    for (int i = 0; i < most_steps && !stop(context); ++i) {
        if (half_path * best.total <= 0.5 * rows.tolerance) break;
        if (long_step) {
            jump(now);
            evaluate(now);
        }
        solve(now);
        double before = 0.0;
        for (std::size_t i = 0; i < nodes; ++i) before += now.imbalance[i].high * step_[i];
        const double s = search(now, before);
        long_step = s > 4.0;
        for (std::size_t i = 0; i < nodes; ++i) now.potential[i] = now.potential[i] + DoubleDouble(s * step_[i]);
        evaluate(now);
        if (now.total < best.total) best = now;
    }
    for (std::size_t i = 0; i < nodes; ++i) row_.potential[at(graph_.node[i])] = best.potential[i].high;
    rows.error_bound[row] = bound(best);
    if (!(rows.error_bound[row] <= rows.tolerance)) {
        row_.write_potentials(graph_, rows, row);
        return false;
    }
    write(best, rows, row);
    return true;
}

}  // namespace privroute
