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
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "projection_problem.hpp"

namespace privroute {
namespace {

constexpr int lanes = PRIVROUTE_LANES;
typedef double Vec __attribute__((vector_size(lanes * sizeof(double))));
typedef std::int64_t Mask __attribute__((vector_size(lanes * sizeof(double))));

constexpr double closed_point = -1e30;     // stands in for v on links that the pair may not use: their flow is 0
constexpr double largest_start = 1e20;     // warm potentials beyond this lose every digit of v: start from 0 instead
constexpr double largest_delta = 1e-2;     // weight of clipped links; smaller ones left pairs unconverged
constexpr double smallest_delta = 1e-13;   // keeps pivots away from zero
constexpr double unit_roundoff = 0x1p-53;
constexpr int most_steps = 60;
constexpr int most_stalls = 5;
constexpr int most_searches = 60;
constexpr double longest_search = 1e6;     // beyond, the exact solver finds its way better

inline Vec all(double value) { return value - Vec{}; }
// min(max(z, 0), 1), and 0 where z is not a number. Compilers do not make the two instructions of the comparisons.
inline Vec clip(Vec z) {
#if PRIVROUTE_LANES == 8 && defined(__AVX512F__)
    return _mm512_min_pd(_mm512_max_pd(z, _mm512_setzero_pd()), _mm512_set1_pd(1.0));
#elif PRIVROUTE_LANES == 4 && defined(__AVX2__)
    return _mm256_min_pd(_mm256_max_pd(z, _mm256_setzero_pd()), _mm256_set1_pd(1.0));
#else
    z = z > 0.0 ? z : all(0.0);
    return z < 1.0 ? z : all(1.0);
#endif
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
    double largest_point = 0.0;
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
        flow_ = take(g_.links);
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
        Vec *const imbalance = imbalance_, *const diagonal = diagonal_, *const below = below_;
        const Vec* const potential = trial_;
        const std::int32_t *const lower = g_.lower, *const upper = g_.upper, *const slot = g_.slot;
        const std::int32_t two_way = g_.two_way, edges = g_.edges;
        const Vec delta = delta_, more = 1.0 - delta_;
        const auto weight = [=](Vec z, Vec x) { return delta + (Vec)((Mask)more & (z == x)); };
        const Vec* v = point_;
        for (std::int32_t e = 0; e < two_way;) {
            const std::int32_t a = lower[e];
            const Vec here = potential[a];
            Vec balance = imbalance[a], degree = diagonal[a];
            for (; e < two_way && lower[e] == a; ++e, v += 2) {
                const std::int32_t b = upper[e];
                const Vec difference = potential[b] - here;
                const Vec up = v[0] + difference, down = v[1] - difference;
                const Vec flow_up = clip(up), flow_down = clip(down);
                const Vec net = flow_up - flow_down, w = weight(up, flow_up) + weight(down, flow_down);
                balance -= net;
                imbalance[b] += net;
                degree += w;
                diagonal[b] += w;
                below[slot[e]] -= w;
            }
            imbalance[a] = balance;
            diagonal[a] = degree;
        }
        for (std::int32_t e = two_way; e < edges; ++e, ++v) {
            const std::int32_t tail = lower[e], head = upper[e];
            const Vec z = v[0] + (potential[head] - potential[tail]), x = clip(z), w = weight(z, x);
            imbalance[tail] -= x;
            imbalance[head] += x;
            diagonal[tail] += w;
            diagonal[head] += w;
            below[slot[e]] -= w;
        }
        // the Laplacian of each component is singular by a constant; holding its last node fixed takes that away
        for (std::int32_t i = 0; i < g_.roots; ++i) diagonal[g_.root[i]] += 1.0;
    }

    // L D L^T in place: below_ holds L D, diagonal_ becomes 1/D. Columns of a panel have the same rows below it, so its
    // products are summed in registers before they are subtracted: most of the time goes into loads and stores.
    void factorise() {
        const std::int32_t* target = g_.target;
        for (std::int32_t k = 0; k < g_.panels; ++k) {
            const std::int32_t first = g_.panel[k];
            switch (g_.panel[k + 1] - first) {
                case 1: target = eliminate<1>(first, target); break;
                case 2: target = eliminate<2>(first, target); break;
                case 3: target = eliminate<3>(first, target); break;
                default: target = eliminate<4>(first, target); break;
            }
        }
    }

    template <int width>
    const std::int32_t* eliminate(std::int32_t first, const std::int32_t* target) {
        static_assert(width <= widest_panel);
        Vec *const diagonal = diagonal_, *const below = below_;
        const std::int32_t last = first + width - 1;
        const std::int32_t count = g_.column_start[last + 1] - g_.column_start[last];
        const std::int32_t* const row = g_.row + g_.column_start[last];
        Vec* column[width];  // the part of each column below the panel; its entries within the panel come right before
        for (int q = 0; q < width; ++q) column[q] = below + g_.column_start[first + q] + (width - 1 - q);
        const auto within = [&](int q, int r) -> Vec& { return column[q][r - width]; };
        Vec inverse[width];
        for (int q = 0; q < width; ++q) {
            inverse[q] = 1.0 / diagonal[first + q];
            diagonal[first + q] = inverse[q];
            for (int r = q + 1; r < width; ++r) {
                const Vec entry = within(q, r), scaled = entry * inverse[q];
                diagonal[first + r] -= scaled * entry;
                for (int s = r + 1; s < width; ++s) within(r, s) -= scaled * within(q, s);
                for (std::int32_t i = 0; i < count; ++i) column[r][i] -= scaled * column[q][i];
            }
        }
        for (std::int32_t b = 0; b < count; ++b) {
            Vec scaled[width], sum{};
            for (int q = 0; q < width; ++q) {
                scaled[q] = column[q][b] * inverse[q];
                sum += scaled[q] * column[q][b];
            }
            diagonal[row[b]] -= sum;
            for (std::int32_t a = b + 1; a < count; ++a) {
                Vec product = scaled[0] * column[0][a];
                for (int q = 1; q < width; ++q) product += scaled[q] * column[q][a];
                below[*target++] -= product;
            }
        }
        return target;
    }

    // step_ = -(L D L^T)^-1 imbalance_
    void solve() {
        const std::int32_t *const start = g_.column_start, *const row = g_.row;
        const Vec *const below = below_, *const diagonal = diagonal_;
        Vec* const step = step_;
        const std::int32_t nodes = g_.nodes;
        for (std::int32_t i = 0; i < nodes; ++i) step[i] = -imbalance_[i];
        for (std::int32_t j = 0; j < nodes; ++j) {
            const Vec y = diagonal[j] * step[j];
            for (std::int32_t a = start[j]; a < start[j + 1]; ++a) step[row[a]] -= below[a] * y;
        }
        for (std::int32_t j = nodes - 1; j >= 0; --j) {
            Vec sum = step[j];
            for (std::int32_t a = start[j]; a < start[j + 1]; ++a) sum -= below[a] * step[row[a]];
            step[j] = sum * diagonal[j];
        }
    }

    // Derivative of the dual at at_ + s step_ along step_, and its slope. Summing what has changed since s = 0, where
    // the derivative is `before`, keeps the digits that a sum of flows would cancel.
    Vec derivative(Vec before, Vec s, Vec& slope) const {
        Vec sum = before, rise{};
        const Vec* v = point_;
        for (std::int32_t e = 0; e < g_.edges; ++e) {
            const Vec move = step_[g_.upper[e]] - step_[g_.lower[e]];
            const Vec difference = at_[g_.upper[e]] - at_[g_.lower[e]], added = s * move;
            const auto add = [&](Vec here, Vec z, Vec along) {
                const Vec x = clip(z);
                sum += (x - clip(here)) * along;
                rise += (Vec)((Mask)(along * along) & (z == x));
            };
            const Vec up = *v++ + difference;
            add(up, up + added, move);
            if (e >= g_.two_way) continue;
            const Vec down = *v++ - difference;
            add(down, down - added, -move);
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
            const Vec here = derivative(before, s, slope);
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
                s[l] = next < longest_search ? next : longest_search;
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
                lane.next_delta = largest[l] < largest_delta ? 0.1 * largest[l] : largest_delta;
                if (lane.next_delta < smallest_delta) lane.next_delta = smallest_delta;
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

    // Flows, potentials and error bounds of the lanes that are done. A row whose bound misses the tolerance gets its
    // point back where that was overwritten, for the exact solver; its potentials go out as a start.
    void write(const bool* done, Vec sum) {
        Vec flow{};
        const Vec* v = point_;
        Vec* x = flow_;
        const Vec* const potential = trial_;
        const std::int32_t two_way = g_.two_way;
        for (std::int32_t e = 0; e < g_.edges; ++e) {
            const Vec difference = potential[g_.upper[e]] - potential[g_.lower[e]];
            flow += *x++ = clip(*v++ + difference);
            if (e < two_way) flow += *x++ = clip(*v++ - difference);
        }
        for (int l = 0; l < lanes; ++l) {
            if (!done[l]) continue;
            const std::int64_t row = lane_[l].row;
            const double bound = certified_bound(g_, sum[l], flow[l], lane_[l].largest_point, unit_roundoff);
            rows_.error_bound[row] = bound;
            if (!(bound <= rows_.tolerance)) rows_.state[row] = RowState::failed;
            const bool good = rows_.state[row] == RowState::done;
            Vec* const from = good ? flow_ : point_;
            double *const out = rows_.flows + row * g_.links, *const potentials = rows_.potentials_out + row * g_.nodes;
            if (good || rows_.flows == rows_.points)
                for (std::int32_t r = 0; r < g_.links; ++r) out[g_.link_of_row[r]] = lane_of(from, r, l);
            for (std::int32_t i = 0; i < g_.nodes; ++i) potentials[i] = lane_of(trial_, g_.position[i], l);
        }
    }

    bool refill(int l) {
        Lane& lane = lane_[l];
        lane = Lane{};
        std::int64_t row;
        while ((row = source_.next(source_.context)) >= 0) {
            lane.largest_point = largest_of(rows_.points + row * g_.links);
            if (lane.largest_point <= rows_.largest_point) break;
            rows_.state[row] = RowState::unusable;  // reported, not projected
        }
        if (row < 0) return false;
        const std::int32_t origin = rows_.origin[row], destination = rows_.destination[row];
        lane.row = row;
        lane.origin = g_.position[origin];
        lane.destination = g_.position[destination];
        lane.best = __builtin_inf();
        delta_[l] = largest_delta;
        const double* const point = rows_.points + row * g_.links;
        const std::int32_t* const link_of_row = g_.link_of_row;
        for (std::int32_t r = 0; r < g_.links; ++r) lane_of(point_, r, l) = point[link_of_row[r]];
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

    // The largest |v| of a row, or not a number if the row has one.
    double largest_of(const double* point) const {
        Vec largest{};
        Mask bad{};
        std::int32_t e = 0;
        for (; e + lanes <= g_.links; e += lanes) {
            Vec v;
            memcpy(&v, point + e, sizeof v);
            v = magnitude(v);
            bad |= ~(v >= 0.0);
            largest = v > largest ? v : largest;
        }
        double result = 0.0;
        for (int l = 0; l < lanes; ++l) {
            if (bad[l]) return __builtin_nan("");
            result = largest[l] > result ? largest[l] : result;
        }
        for (; e < g_.links; ++e) {
            const double v = __builtin_fabs(point[e]);
            if (!(v <= result)) result = v;
            if (v != v) return v;
        }
        return result;
    }

    const LaneGraph& g_;
    const ProjectionRows& rows_;
    const RowSource& source_;
    double half_path_;
    Lane lane_[lanes];
    Vec delta_{};
    Vec *diagonal_, *imbalance_, *step_, *at_, *trial_, *below_, *point_, *flow_;
};

}  // namespace

void PRIVROUTE_KERNEL(const LaneGraph& graph, const ProjectionRows& rows, const RowSource& source, void* workspace) {
    Kernel(graph, rows, source, workspace).run();
}

}  // namespace privroute
