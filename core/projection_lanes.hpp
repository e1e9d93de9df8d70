// The projection kernel: one pair per vector lane, many pairs at a time.
//
// Included by one file per instruction set, which defines PRIVROUTE_LANES (doubles per vector) and PRIVROUTE_KERNEL (the
// function's name). Everything else is in an unnamed namespace: see projection_problem.hpp for why.
//
// For each pair, semismooth Newton on the dual potentials p: with z = v + p[head] - p[tail] and x = clip(z, 0, 1), solve
//     (Laplacian of weights w) dx = -(A x - b),    w = 1 on free links (x = z), delta on clipped ones.
// A lane never reads another lane, so a pair's result does not depend on its neighbours, the threads or their number.
#pragma once

#include <string.h>

#include "projection_problem.hpp"

namespace privroute {
namespace {

constexpr int lanes = PRIVROUTE_LANES;
typedef double Vec __attribute__((vector_size(lanes * sizeof(double))));
typedef std::int64_t Mask __attribute__((vector_size(lanes * sizeof(double))));

constexpr double closed_point = -1e30;     // stands in for v on links that the pair may not use: their flow is 0
constexpr double largest_start = 1e20;     // warm potentials beyond this lose every digit of v: start from 0 instead
constexpr double largest_delta = 1e-2;     // weight of clipped links; smaller ones left pairs unconverged
constexpr double unit_roundoff = 0x1p-53;
constexpr int most_steps = 60;
constexpr int most_stalls = 5;
constexpr int most_searches = 60;

inline Vec all(double value) { return value - Vec{}; }
inline Vec clip(Vec z) {
    z = z > 0.0 ? z : all(0.0);
    return z < 1.0 ? z : all(1.0);
}
inline Vec magnitude(Vec a) { return a < 0.0 ? -a : a; }
inline double& lane_of(Vec* values, std::int64_t i, int lane) {
    return reinterpret_cast<double*>(values)[i * lanes + lane];
}

// One pair in a lane.
struct Lane {
    std::int64_t row = -1;
    std::int32_t origin = 0, destination = 0;  // as positions
    int steps = 0, stalls = 0;
    double best = 0.0;        // smallest imbalance so far
    double next_delta = largest_delta;  // from the imbalance here, used at the next point: each evaluation is made only once
};

class Kernel {
public:
    Kernel(const LaneGraph& graph, const ProjectionRows& rows, const RowSource& source, void* workspace)
        : g_(graph), rows_(rows), source_(source) {
        Vec* next = static_cast<Vec*>(workspace);
        const auto take = [&](std::int32_t count) { Vec* here = next; next += count; return here; };
        diagonal_ = take(g_.nodes);
        imbalance_ = take(g_.nodes);
        step_ = take(g_.nodes);
        at_ = take(g_.nodes);
        trial_ = take(g_.nodes);
        below_ = take(g_.slots);
        point_ = take(g_.links);
        memset(workspace, 0, static_cast<std::size_t>(next - static_cast<Vec*>(workspace)) * sizeof(Vec));
        half_path_ = 0.5 * __builtin_sqrt(static_cast<double>(g_.nodes - 1));
    }

    void run() {
        bool loaded = false;
        for (int l = 0; l < lanes; ++l) loaded |= refill(l);
        if (loaded) evaluate();
        settle();
        while (busy()) {
            Vec* const swap = at_;
            at_ = trial_;
            trial_ = swap;
            for (int l = 0; l < lanes; ++l) delta_[l] = lane_[l].next_delta;
            factorise();
            solve();
            Vec before{}, after{};
            for (std::int32_t i = 0; i < g_.nodes; ++i) {
                before += imbalance_[i] * step_[i];
                trial_[i] = at_[i] + step_[i];
            }
            evaluate();
            for (std::int32_t i = 0; i < g_.nodes; ++i) after += imbalance_[i] * step_[i];
            if (search(before, after)) evaluate();
            settle();
        }
    }

private:
    bool busy() const {
        for (const Lane& lane : lane_)
            if (lane.row >= 0) return true;
        return false;
    }

    // Flows at trial_, their imbalance A x - b, and the weighted Laplacian.
    void evaluate() {
        memset(diagonal_, 0, static_cast<std::size_t>(g_.nodes) * sizeof(Vec));
        memset(imbalance_, 0, static_cast<std::size_t>(g_.nodes) * sizeof(Vec));
        memset(below_, 0, static_cast<std::size_t>(g_.slots) * sizeof(Vec));
        for (int l = 0; l < lanes; ++l) {
            lane_of(imbalance_, lane_[l].origin, l) += 1.0;
            lane_of(imbalance_, lane_[l].destination, l) -= 1.0;
        }
        const Vec delta = delta_, more = 1.0 - delta_;
        const auto weight = [&](Vec z, Vec x) { return delta + (Vec)((Mask)more & (z == x)); };
        const Vec* v = point_;
        for (std::int32_t e = 0; e < g_.two_way;) {
            const std::int32_t a = g_.lower[e];
            const Vec here = trial_[a];
            Vec balance = imbalance_[a], degree = diagonal_[a];
            for (; e < g_.two_way && g_.lower[e] == a; ++e, v += 2) {
                const std::int32_t b = g_.upper[e];
                const Vec difference = trial_[b] - here;
                const Vec up = v[0] + difference, down = v[1] - difference;
                const Vec flow_up = clip(up), flow_down = clip(down);
                const Vec net = flow_up - flow_down, w = weight(up, flow_up) + weight(down, flow_down);
                balance -= net;
                imbalance_[b] += net;
                degree += w;
                diagonal_[b] += w;
                below_[g_.slot[e]] -= w;
            }
            imbalance_[a] = balance;
            diagonal_[a] = degree;
        }
        for (std::int32_t e = g_.two_way; e < g_.edges; ++e, ++v) {
            const std::int32_t tail = g_.lower[e], head = g_.upper[e];
            const Vec z = v[0] + (trial_[head] - trial_[tail]), x = clip(z), w = weight(z, x);
            imbalance_[tail] -= x;
            imbalance_[head] += x;
            diagonal_[tail] += w;
            diagonal_[head] += w;
            below_[g_.slot[e]] -= w;
        }
        // the Laplacian of each component is singular by a constant; holding its last node fixed takes that away
        for (std::int32_t i = 0; i < g_.roots; ++i) diagonal_[g_.root[i]] += 1.0;
    }

    // L D L^T in place: below_ holds L D, diagonal_ becomes 1/D.
    void factorise() {
        const std::int32_t* target = g_.target;
        for (std::int32_t j = 0; j < g_.nodes; ++j) {
            const std::int32_t first = g_.column_start[j], last = g_.column_start[j + 1];
            const Vec inverse = 1.0 / diagonal_[j];
            diagonal_[j] = inverse;
            for (std::int32_t a = first; a < last; ++a) {
                const Vec entry = below_[a], scaled = entry * inverse;
                for (std::int32_t b = first; b < a; ++b) below_[*target++] -= scaled * below_[b];
                diagonal_[g_.row[a]] -= scaled * entry;
            }
        }
    }

    // step_ = -(L D L^T)^-1 imbalance_
    void solve() {
        for (std::int32_t i = 0; i < g_.nodes; ++i) step_[i] = -imbalance_[i];
        for (std::int32_t j = 0; j < g_.nodes; ++j) {
            const Vec y = diagonal_[j] * step_[j];
            for (std::int32_t a = g_.column_start[j]; a < g_.column_start[j + 1]; ++a) step_[g_.row[a]] -= below_[a] * y;
        }
        for (std::int32_t j = g_.nodes - 1; j >= 0; --j) {
            Vec sum = step_[j];
            for (std::int32_t a = g_.column_start[j]; a < g_.column_start[j + 1]; ++a) sum -= below_[a] * step_[g_.row[a]];
            step_[j] = sum * diagonal_[j];
        }
    }

    // Derivative of the dual at at_ + s step_ along step_, and its slope.
    Vec derivative(Vec s, Vec& slope) const {
        Vec sum{}, rise{};
        for (int l = 0; l < lanes; ++l)
            sum[l] = lane_of(step_, lane_[l].origin, l) - lane_of(step_, lane_[l].destination, l);
        const Vec* v = point_;
        for (std::int32_t e = 0; e < g_.edges; ++e) {
            const Vec move = step_[g_.upper[e]] - step_[g_.lower[e]];
            const Vec difference = at_[g_.upper[e]] - at_[g_.lower[e]] + s * move;
            const auto add = [&](Vec z, Vec along) {
                const Vec x = clip(z);
                sum += x * along;
                rise += (Vec)((Mask)(along * along) & (z == x));
            };
            add(*v++ + difference, move);
            if (e < g_.two_way) add(*v++ - difference, -move);
        }
        slope = rise;
        return sum;
    }

    // Full steps are kept while the derivative along them is small at their end. Otherwise find, in the lanes that
    // need it, where the monotone derivative vanishes: shorter steps where it has changed sign, longer ones where it
    // hardly changed (free links that do not connect the graph: the potentials of whole parts have to move). Comparing
    // derivatives, unlike values of the dual, does not drown in rounding. True if some lane's trial point has changed.
    bool search(Vec before, Vec after) {
        bool wanted[lanes], any = false;
        Vec low{}, high = all(__builtin_inf()), s = all(1.0), slope;
        for (int l = 0; l < lanes; ++l) {
            const bool too_long = after[l] > -0.5 * before[l], too_short = after[l] < 0.75 * before[l];
            wanted[l] = lane_[l].row >= 0 && before[l] < 0.0 && (too_long || too_short);
            if (!wanted[l]) continue;
            any = true;
            (too_long ? high[l] : low[l]) = 1.0;
            s[l] = too_long ? before[l] / (before[l] - after[l]) : 4.0;
        }
        if (!any) return false;
        bool open[lanes];
        memcpy(open, wanted, sizeof open);
        for (int i = 0; i < most_searches && any; ++i) {
            const Vec here = derivative(s, slope);
            any = false;
            for (int l = 0; l < lanes; ++l) {
                if (!open[l]) continue;
                open[l] = !(magnitude(here)[l] <= -0.1 * before[l]);
                if (!open[l]) continue;
                any = true;
                (here[l] > 0.0 ? high[l] : low[l]) = s[l];
                double next = slope[l] > 0.0 ? s[l] - here[l] / slope[l] : -1.0;
                if (!(next > low[l] && next < high[l]))
                    next = high[l] < __builtin_inf() ? 0.5 * (low[l] + high[l]) : 4.0 * s[l];
                s[l] = next;
            }
        }
        for (int l = 0; l < lanes; ++l) {
            if (!wanted[l]) continue;
            if (open[l] && low[l] > 0.0) s[l] = low[l];  // not found: at least descend
            for (std::int32_t i = 0; i < g_.nodes; ++i)
                lane_of(trial_, i, l) = lane_of(at_, i, l) + s[l] * lane_of(step_, i, l);
        }
        return true;
    }

    // Decide for every lane: go on, or write the result and take the next pair (which may be finished at once).
    void settle() {
        bool loaded = true;
        while (loaded) {
            Vec sum{}, largest{};
            for (std::int32_t i = 0; i < g_.nodes; ++i) {
                const Vec a = magnitude(imbalance_[i]);
                sum += a;
                largest = a > largest ? a : largest;
            }
            bool done[lanes];
            int finished = 0;
            for (int l = 0; l < lanes; ++l) {
                done[l] = false;
                Lane& lane = lane_[l];
                if (lane.row < 0) continue;
                const bool certified = half_path_ * sum[l] <= 0.8 * rows_.tolerance;
                if (sum[l] < 0.7 * lane.best) lane.stalls = 0;
                else if (sum[l] < 1e-7) ++lane.stalls;  // rounding holds it here; far out slow steps are normal
                if (sum[l] < lane.best) lane.best = sum[l];
                lane.next_delta = largest[l] < largest_delta ? largest[l] : largest_delta;
                done[l] = certified || ++lane.steps > most_steps || lane.stalls > most_stalls;
                if (done[l]) rows_.state[lane.row] = certified ? RowState::done : RowState::failed;
                finished += done[l];
            }
            if (!finished) return;
            write(done, sum);
            loaded = false;
            for (int l = 0; l < lanes; ++l)
                if (done[l]) loaded |= refill(l);
            if (loaded) evaluate();
        }
    }

    // Flows, potentials and error bounds of the lanes that are done. A row whose bound misses the tolerance keeps its
    // point for the exact solver; its potentials go out as a start for it.
    void write(const bool* done, Vec sum) {
        Vec flow{}, squares{};
        const Vec* v = point_;
        for (std::int32_t e = 0; e < g_.edges; ++e) {
            const Vec difference = trial_[g_.upper[e]] - trial_[g_.lower[e]];
            squares += difference * difference;
            flow += clip(*v++ + difference);
            if (e < g_.two_way) {
                squares += difference * difference;
                flow += clip(*v++ - difference);
            }
        }
        double* out[lanes];
        for (int l = 0; l < lanes; ++l) {
            out[l] = nullptr;
            if (!done[l]) continue;
            const std::int64_t row = lane_[l].row;
            const double bound = certified_bound(g_, sum[l], flow[l], squares[l], unit_roundoff);
            rows_.error_bound[row] = bound;
            if (!(bound <= rows_.tolerance)) rows_.state[row] = RowState::failed;
            if (rows_.state[row] == RowState::done) out[l] = rows_.flows + row * g_.links;
            double* const potentials = rows_.potentials_out + row * g_.nodes;
            for (std::int32_t i = 0; i < g_.nodes; ++i) potentials[i] = lane_of(trial_, g_.position[i], l);
        }
        std::int32_t row = 0;
        const auto put = [&](Vec x) {
            const std::int32_t link = g_.link_of_row[row++];
            for (int l = 0; l < lanes; ++l)
                if (out[l]) out[l][link] = x[l];
        };
        for (std::int32_t e = 0; e < g_.edges; ++e) {
            const Vec difference = trial_[g_.upper[e]] - trial_[g_.lower[e]];
            put(clip(point_[row] + difference));
            if (e < g_.two_way) put(clip(point_[row] - difference));
        }
    }

    bool refill(int l) {
        Lane& lane = lane_[l];
        lane = Lane{};
        std::int64_t row;
        do row = source_.next(source_.context);
        while (row >= 0 && !usable(row));
        if (row < 0) return false;
        const std::int32_t origin = rows_.origin[row], destination = rows_.destination[row];
        lane.row = row;
        lane.origin = g_.position[origin];
        lane.destination = g_.position[destination];
        lane.best = __builtin_inf();
        delta_[l] = largest_delta;
        const double* const point = rows_.points + row * g_.links;
        for (std::int32_t r = 0; r < g_.links; ++r) lane_of(point_, r, l) = point[g_.link_of_row[r]];
        for (std::int32_t i = 0; i < g_.restricted; ++i) {
            const std::int32_t r = g_.restricted_row[i];
            if (!link_is_open(g_, g_.link_of_row[r], origin, destination)) lane_of(point_, r, l) = closed_point;
        }
        const double* const start = rows_.potentials_in ? rows_.potentials_in + row * g_.nodes : nullptr;
        bool good = start != nullptr;
        for (std::int32_t i = 0; good && i < g_.nodes; ++i) good = __builtin_fabs(start[i]) <= largest_start;
        for (std::int32_t i = 0; i < g_.nodes; ++i) lane_of(trial_, g_.position[i], l) = good ? start[i] : 0.0;
        return true;
    }

    // Points with values that are not finite, or too large for the exact solver, are reported and not projected.
    bool usable(std::int64_t row) const {
        const double* const point = rows_.points + row * g_.links;
        bool good = true;
        for (std::int32_t e = 0; e < g_.links; ++e) good &= __builtin_fabs(point[e]) <= rows_.largest_point;
        if (!good) rows_.state[row] = RowState::unusable;
        return good;
    }

    const LaneGraph& g_;
    const ProjectionRows& rows_;
    const RowSource& source_;
    double half_path_;
    Lane lane_[lanes];
    Vec delta_{};
    Vec *diagonal_, *imbalance_, *step_, *at_, *trial_, *below_, *point_;
};

}  // namespace

void PRIVROUTE_KERNEL(const LaneGraph& graph, const ProjectionRows& rows, const RowSource& source, void* workspace) {
    Kernel(graph, rows, source, workspace).run();
}

}  // namespace privroute
