// The projection kernel: one pair per vector lane, many pairs at a time.
//
// Included by one file per instruction set, which defines PRIVROUTE_LANES (doubles per vector) and PRIVROUTE_KERNEL
// (the function's name). Everything else is in an unnamed namespace: see projection_problem.hpp for why.
//
// For each pair, semismooth Newton on the dual potentials p: with z = v + p[head] - p[tail] and x = clip(z, 0, 1),
// solve
//     (Laplacian of weights w) dx = -(A x - b),    w = 1 on free links (x = z), delta on clipped ones,
// both divided by the link's weight in the metric, if it has one.
// A lane never reads another lane, so a pair's result does not depend on its neighbours, the threads or their number.
#pragma once

#include <string.h>

#include "lane_laplacian.hpp"
#include "lane_vector.hpp"
#include "projection_problem.hpp"

namespace privroute {
namespace {

constexpr double closed_point = -1e30;    // stands in for v on links that the pair may not use: their flow is 0
constexpr double largest_start = 1e20;    // warm potentials beyond this lose every digit of v: start from 0 instead
constexpr double largest_delta = 1e-2;    // weight of clipped links; smaller ones left pairs unconverged
constexpr double smallest_delta = 1e-13;  // keeps pivots away from zero
constexpr double unit_roundoff = 0x1p-53;
constexpr int most_steps = 60;
constexpr int most_stalls = 5;
constexpr int most_searches = 60;
constexpr double longest_search = 1e6;  // beyond, the exact solver finds its way better

// One pair in a lane.
struct Lane {
    std::int64_t row = -1;
    std::int32_t origin = 0, destination = 0;  // as positions
    bool done = false;                         // has its result, to be written with that of other lanes
    bool judged = false;                       // at the point where it is
    double sum = 0.0;                          // of |imbalance|, when done
    int steps = 0, stalls = 0;
    double best = 0.0;  // smallest imbalance so far
    double largest_point = 0.0;
    double next_delta =
        largest_delta;  // from the imbalance here, used at the next point: each evaluation is made only once
};

template <bool weighted>
class Kernel {
public:
    Kernel(const LaneGraph& graph, const ProjectionRows& rows, const RowSource& source, void* workspace)
        : g_(graph), rows_(rows), source_(source) {
        Vec* next = static_cast<Vec*>(workspace);
        const auto take = [&](std::int32_t count) {
            Vec* here = next;
            next += count;
            return here;
        };
        diagonal_ = take(g_.nodes);
        imbalance_ = take(g_.nodes);
        step_ = take(g_.nodes);
        at_ = take(g_.nodes);
        trial_ = take(g_.nodes);
        below_ = take(g_.slots);
        point_ = take(g_.all_links);
        rise_ = take(g_.all_nodes);
        nowhere_ = reinterpret_cast<double*>(next);
        memset(workspace, 0, lane_workspace(g_, lanes));
        half_path_ = 0.5 * __builtin_sqrt(rows_.metric.heaviest_path);
    }

    void run() {
        settle();
        while (busy()) {
            Vec* const swap = at_;
            at_ = trial_;
            trial_ = swap;
            Mask going{};
            for (int l = 0; l < lanes; ++l) {
                delta_[l] = lane_[l].next_delta;
                going[l] = lane_[l].row >= 0 && !lane_[l].done ? -1 : 0;
            }
            const LaneLaplacian laplacian(g_, diagonal_, below_);
            laplacian.factorise();
            for (std::int32_t i = 0; i < g_.nodes; ++i) step_[i] = -imbalance_[i];
            laplacian.solve(step_);
            Vec before{}, after{};
            for (std::int32_t i = 0; i < g_.nodes; ++i) {
                step_[i] = (Vec)((Mask)step_[i] & going);
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

    // A difference of potentials or a weight of the Laplacian, divided by the weight of the link in the metric.
    Vec over(std::int32_t link, Vec value) const {
        if constexpr (weighted)
            return value * rows_.metric.inverse[link];
        else
            return value;
    }

    // Flows at trial_, their imbalance A x - b, and the weighted Laplacian.
    void evaluate() {
        memset(diagonal_, 0, static_cast<std::size_t>(g_.nodes) * sizeof(Vec));
        memset(imbalance_, 0, static_cast<std::size_t>(g_.nodes) * sizeof(Vec));
        if (g_.shared_slots)  // parallel links add up; the slots without links are 0: see solve
            for (std::int32_t e = 0; e < g_.edges; ++e) below_[g_.slot[e]] = Vec{};
        const bool shared = g_.shared_slots;
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
        const Vec* const v = point_;
        const std::int32_t* link = g_.link_of_row;
        for (std::int32_t e = 0; e < two_way;) {
            const std::int32_t a = lower[e];
            const Vec here = potential[a];
            Vec balance = imbalance[a], degree = diagonal[a];
            for (; e < two_way && lower[e] == a; ++e, link += 2) {
                const std::int32_t b = upper[e];
                const Vec difference = potential[b] - here;
                const Vec up = v[link[0]] + over(link[0], difference), down = v[link[1]] - over(link[1], difference);
                const Vec flow_up = clip(up), flow_down = clip(down), net = flow_up - flow_down;
                const Vec w = over(link[0], weight(up, flow_up)) + over(link[1], weight(down, flow_down));
                balance -= net;
                imbalance[b] += net;
                degree += w;
                diagonal[b] += w;
                below[slot[e]] = shared ? below[slot[e]] - w : -w;
            }
            imbalance[a] = balance;
            diagonal[a] = degree;
        }
        for (std::int32_t e = two_way; e < edges; ++e, ++link) {
            const std::int32_t tail = lower[e], head = upper[e];
            const Vec z = v[*link] + over(*link, potential[head] - potential[tail]), x = clip(z);
            const Vec w = over(*link, weight(z, x));
            imbalance[tail] -= x;
            imbalance[head] += x;
            diagonal[tail] += w;
            diagonal[head] += w;
            below[slot[e]] = shared ? below[slot[e]] - w : -w;
        }
        // the Laplacian of each component is singular by a constant; holding its last node fixed takes that away
        for (std::int32_t i = 0; i < g_.roots; ++i) diagonal[g_.root[i]] += 1.0;
    }

    // Derivative of the dual at at_ + s step_ along step_, and its slope. Summing what has changed since s = 0, where
    // the derivative is `before`, keeps the digits that a sum of flows would cancel.
    Vec derivative(Vec before, Vec s, Vec& slope) const {
        Vec sum = before, rise{};
        const std::int32_t* link = g_.link_of_row;
        for (std::int32_t e = 0; e < g_.edges; ++e) {
            const Vec move = step_[g_.upper[e]] - step_[g_.lower[e]];
            const Vec difference = at_[g_.upper[e]] - at_[g_.lower[e]], added = s * move;
            const auto add = [&](std::int32_t l, Vec here, Vec z, Vec along) {
                const Vec x = clip(z);
                sum += (x - clip(here)) * along;
                rise += (Vec)((Mask)over(l, along * along) & (z == x));
            };
            const Vec up = point_[*link] + over(*link, difference);
            add(*link, up, up + over(*link, added), move);
            ++link;
            if (e >= g_.two_way) continue;
            const Vec down = point_[*link] - over(*link, difference);
            add(*link, down, down - over(*link, added), -move);
            ++link;
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
            (too_long ? high : low)[l] = 1.0;
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
                (here[l] > 0.0 ? high : low)[l] = s[l];
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

    // Decide for every lane: go on, or keep the result. Once half of the lanes are done (or all that are left), write
    // them and take the next pairs, which may be finished at once: loading and evaluating is for all lanes together.
    void settle() {
        for (Lane& lane : lane_) lane.judged = false;
        while (true) {
            Vec sum{}, largest{};
            for (std::int32_t i = 0; i < g_.nodes; ++i) {
                const Vec a = magnitude(imbalance_[i]);
                sum += a;
                largest = a > largest ? a : largest;
            }
            int idle = 0, going = 0;
            for (int l = 0; l < lanes; ++l) {
                Lane& lane = lane_[l];
                // once at each point: when lanes beside it are refilled, its steps and stalls must not count twice
                if (lane.row >= 0 && !lane.done && !lane.judged) judge(lane, sum[l], largest[l]);
                (lane.row >= 0 && !lane.done ? going : idle) += 1;
            }
            if (going > 0 && (empty_ || 2 * idle < lanes)) return;
            write();
            if (empty_ || !refill()) return;
            evaluate();
        }
    }

    void judge(Lane& lane, double sum, double largest) {
        lane.judged = true;
        const bool enough = half_path_ * sum <= 0.8 * rows_.tolerance;
        if (sum < 0.7 * lane.best)
            lane.stalls = 0;
        else if (sum < 1e-7)
            ++lane.stalls;  // rounding holds it here; far out slow steps are normal
        if (sum < lane.best) lane.best = sum;
        lane.next_delta = largest < largest_delta ? 0.1 * largest : largest_delta;
        if (lane.next_delta < smallest_delta) lane.next_delta = smallest_delta;
        lane.done = enough || ++lane.steps > most_steps || lane.stalls > most_stalls;
        lane.sum = sum;
    }

    // Flows, potentials and error bounds of the lanes that are done. A row whose bound misses the tolerance keeps its
    // point for the exact solver (it may be in the memory of the flows); its potentials go out as a start.
    void write() {
        if (rows_.route_start) return write_routes();
        double *flows[lanes], *potentials[lanes];
        bool any = false;
        for (int l = 0; l < lanes; ++l) {
            Lane& lane = lane_[l];
            flows[l] = potentials[l] = nowhere_;
            if (!lane.done) continue;
            any = true;
            potentials[l] = rows_.potentials_out + lane.row * g_.all_nodes;
            if (certify(l)) flows[l] = rows_.flows + lane.row * g_.all_links;
            lane = Lane{};
        }
        if (!any) return;
        const std::int32_t* const position = g_.position;
        const std::int32_t *const tail = g_.tail_position, *const head = g_.head_position;
        for (std::int32_t v = 0; v < g_.all_nodes; ++v) scatter(potentials, v, trial_[position[v]] + rise_[v]);
        for (std::int32_t e = 0; e < g_.all_links; ++e)
            scatter(flows, e, clip(point_[e] + over(e, trial_[head[e]] - trial_[tail[e]])));
    }

    void write_routes() {
        for (int l = 0; l < lanes; ++l) {
            Lane& lane = lane_[l];
            if (!lane.done) continue;
            const bool met = certify(l);
            const double end = lane_of(trial_, lane.destination, l);
            for (std::int64_t k = rows_.route_start[lane.row]; k < rows_.route_start[lane.row + 1]; ++k) {
                const std::int32_t e = rows_.route_link[k];
                const double from = lane_of(trial_, g_.tail_position[e], l),
                             to = lane_of(trial_, g_.head_position[e], l);
                rows_.hints[k] = static_cast<float>(from - end);
                const double z = lane_of(point_, e, l) + (weighted ? (to - from) * rows_.metric.inverse[e] : to - from);
                if (met) rows_.flows[k] = z > 0.0 ? (z < 1.0 ? z : 1.0) : 0.0;
            }
            lane = Lane{};
        }
    }

    // Alone decides whether a row is done: what was written over its point must not go to the exact solver as a point.
    // The bound knows the sum of the flows only where it needs to: elsewhere 1 on every link is enough.
    bool certify(int l) {
        const Lane& lane = lane_[l];
        double& bound = rows_.error_bound[lane.row];
        bound = certified_bound(g_, rows_.metric, lane.sum, g_.links, lane.largest_point, unit_roundoff);
        if (!(bound <= rows_.tolerance)) {
            Vec flow{};
            for (std::int32_t e = 0; e < g_.all_links; ++e)
                flow += clip(point_[e] + over(e, trial_[g_.head_position[e]] - trial_[g_.tail_position[e]]));
            bound = certified_bound(g_, rows_.metric, lane.sum, flow[l], lane.largest_point, unit_roundoff);
        }
        const bool met = bound <= rows_.tolerance;
        rows_.state[lane.row] = met ? RowState::done : RowState::failed;
        return met;
    }

    // Takes a row for every idle lane; false if there was none.
    bool refill() {
        if (rows_.route_start) return refill_routes();
        const double *points[lanes], *starts[lanes];
        const double* some = nullptr;
        Mask loaded{};
        for (int l = 0; l < lanes; ++l) {
            points[l] = starts[l] = nullptr;
            if (lane_[l].row >= 0 || !take(lane_[l])) continue;
            points[l] = some = rows_.points + lane_[l].row * g_.all_links;
            if (rows_.potentials_in) starts[l] = rows_.potentials_in + lane_[l].row * g_.all_nodes;
            loaded[l] = -1;
            delta_[l] = largest_delta;
        }
        if (!some) return false;
        memset(nowhere_, 0, static_cast<std::size_t>(g_.all_nodes) * sizeof(double));
        for (int l = 0; l < lanes; ++l) {  // lanes that are not loaded read what is there and keep their own
            if (!points[l]) points[l] = some;
            if (!starts[l]) starts[l] = nowhere_;
        }
        Vec largest{};
        Mask usable = ~Mask{}, good = ~Mask{};  // comparisons that a value which is not a number fails
        for (std::int32_t e = 0; e < g_.all_links; ++e) {
            const Vec v = gather(points, e), size = magnitude(v);
            point_[e] = loaded ? v : point_[e];
            usable &= size <= rows_.largest_point;
            largest = size > largest ? size : largest;
        }
        for (std::int32_t i = 0; i < g_.nodes; ++i) {
            const Vec p = gather(starts, g_.node[i]);
            trial_[i] = loaded ? p : trial_[i];
            good &= magnitude(p) <= largest_start;
        }
        fold_pendants(loaded);
        for (int l = 0; l < lanes; ++l)
            if (loaded[l]) admit(l, largest[l], usable[l], good[l]);
        return true;
    }

    // As refill: links outside a pair's routes are closed, and its start is known at the tails of its links.
    bool refill_routes() {
        Mask loaded{};
        bool any = false;
        for (int l = 0; l < lanes; ++l) {
            if (lane_[l].row >= 0 || !take(lane_[l])) continue;
            loaded[l] = -1;
            delta_[l] = largest_delta;
            any = true;
        }
        if (!any) return false;
        bool fits[lanes], starts[lanes];
        double size_of[lanes];
        for (std::int32_t e = 0; e < g_.all_links; ++e) point_[e] = loaded ? all(closed_point) : point_[e];
        for (std::int32_t i = 0; i < g_.nodes; ++i) trial_[i] = loaded ? all(0.0) : trial_[i];
        for (int l = 0; l < lanes; ++l) {
            if (!loaded[l]) continue;
            double largest = 0.0;
            bool usable = true, good = true;
            for (std::int64_t k = rows_.route_start[lane_[l].row]; k < rows_.route_start[lane_[l].row + 1]; ++k) {
                const std::int32_t e = rows_.route_link[k];
                const double v = rows_.points[k], size = v < 0.0 ? -v : v, start = rows_.hints[k];
                usable = usable && size <= rows_.largest_point;
                largest = size > largest ? size : largest;
                good = good && start <= largest_start && start >= -largest_start;
                lane_of(point_, e, l) = v;
                lane_of(trial_, g_.tail_position[e], l) = start;
            }
            lane_of(trial_, lane_[l].destination, l) = 0.0;
            fits[l] = usable;
            starts[l] = good;
            size_of[l] = largest;
        }
        fold_pendants(loaded);
        for (int l = 0; l < lanes; ++l)
            if (loaded[l]) admit(l, size_of[l], fits[l], starts[l]);
        return true;
    }

    // Points and start of a lane as the steps want them; a row that cannot be projected is reported and given up.
    void admit(int l, double largest, bool usable, bool good_start) {
        Lane& lane = lane_[l];
        if (!usable) {
            rows_.state[lane.row] = RowState::unusable;
            lane = Lane{};
        }
        if (!good_start || !usable)
            for (std::int32_t i = 0; i < g_.nodes; ++i) lane_of(trial_, i, l) = 0.0;
        if (!usable) return;
        lane.largest_point = largest;
        const std::int32_t origin = rows_.origin[lane.row], destination = rows_.destination[lane.row];
        for (std::int32_t i = 0; i < (rows_.route_start ? 0 : g_.restricted); ++i) {
            const std::int32_t link = g_.restricted_link[i];
            if (!link_is_open(g_, link, origin, destination)) lane_of(point_, link, l) = closed_point;
        }
        set_end(l, origin, true);
        set_end(l, destination, false);
    }

    // An end of the pair that is a pendant sends or receives 1, and nothing the other way.
    void set_end(int l, std::int32_t node, bool sends) {
        if (g_.pendant_of[node] < 0) return;
        const Pendant& pendant = g_.pendant[g_.pendant_of[node]];
        double &in = lane_of(point_, pendant.in, l), &out = lane_of(point_, pendant.out, l);
        // in and out are the mean of the two points
        const double enough_in =
            weighted ? (1.0 - in) / rows_.metric.inverse[sends ? pendant.out : pendant.in] : 1.0 - in;
        const double enough_out = weighted ? in / rows_.metric.inverse[sends ? pendant.in : pendant.out] : in;
        const double shift = enough_in > enough_out ? enough_in : enough_out;
        lane_of(rise_, node, l) += sends ? -shift : shift;
        in = sends ? 0.0 : 1.0;
        out = sends ? 1.0 : 0.0;
    }

    // docs/proofs/projection.md, Lemma 2: both links of a pendant carry the mean of their points, clipped, whatever the
    // rest of the graph does. Its ends have the same position, so the difference of their potentials is 0 here.
    void fold_pendants(Mask loaded) {
        for (std::int32_t i = 0; i < g_.pendants; ++i) {
            const Pendant& pendant = g_.pendant[i];
            Vec &in = point_[pendant.in], &out = point_[pendant.out], &rise = rise_[pendant.node];
            Vec mean = 0.5 * (in + out), lift = 0.5 * (out - in);
            if constexpr (weighted) {
                const double of_in = rows_.metric.inverse[pendant.in], of_out = rows_.metric.inverse[pendant.out];
                mean = (in * of_out + out * of_in) / (of_in + of_out);
                lift = (out - in) / (of_in + of_out);
            }
            rise = loaded ? lift : rise;
            in = loaded ? mean : in;
            out = loaded ? mean : out;
        }
    }

    bool take(Lane& lane) {
        lane = Lane{};
        std::int64_t row = source_.next(source_.context);
        while (row >= 0 && rows_.acyclic && is_one_path(row)) row = source_.next(source_.context);
        empty_ = row < 0;
        if (empty_) return false;
        lane.row = row;
        lane.origin = g_.position[rows_.origin[row]];
        lane.destination = g_.position[rows_.destination[row]];
        lane.best = __builtin_inf();
        return true;
    }

    // An acyclic route set that is one path has one unit flow: 1 on each of its links, whatever the point. Its links
    // are in the order of the path.
    bool is_one_path(std::int64_t row) {
        const std::int64_t first = rows_.route_start[row], last = rows_.route_start[row + 1];
        for (std::int64_t k = first; k + 1 < last; ++k)
            if (g_.head[rows_.route_link[k]] != g_.tail[rows_.route_link[k + 1]]) return false;
        bool usable = true;
        for (std::int64_t k = first; k < last; ++k) {
            const double v = rows_.points[k];
            usable = usable && (v < 0.0 ? -v : v) <= rows_.largest_point;
        }
        rows_.state[row] = usable ? RowState::done : RowState::unusable;
        rows_.error_bound[row] = 0.0;
        for (std::int64_t k = first; usable && k < last; ++k) {
            rows_.flows[k] = 1.0;
            rows_.hints[k] = 0.0F;
        }
        return true;
    }

    const LaneGraph& g_;
    const ProjectionRows& rows_;
    const RowSource& source_;
    double half_path_;
    Lane lane_[lanes];
    Vec delta_{};
    bool empty_ = false;  // no more rows
    Vec *diagonal_, *imbalance_, *step_, *at_, *trial_, *below_, *point_, *rise_;
    double* nowhere_;  // takes what is written for lanes that have nothing to write
};

}  // namespace

void PRIVROUTE_KERNEL(const LaneGraph& graph, const ProjectionRows& rows, const RowSource& source, void* workspace) {
    if (rows.metric.inverse)
        Kernel<true>(graph, rows, source, workspace).run();
    else
        Kernel<false>(graph, rows, source, workspace).run();
}

}  // namespace privroute
