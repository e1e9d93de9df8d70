// Weighted graph Laplacians, one per lane: L D L^T in place and the solution of a system.
#pragma once

#include "lane_vector.hpp"
#include "projection_problem.hpp"

namespace privroute {
namespace {

// Columns of a panel have the same rows below it, so its products are summed in registers before they are subtracted:
// most of the time goes into loads and stores.
template <int width>
struct Panel {
    static_assert(width <= widest_panel);

    Panel(const LaneGraph& graph, Vec* below, std::int32_t first)
        : count(graph.column_start[first + width] - graph.column_start[first + width - 1]),
          row(graph.row + graph.column_start[first + width - 1]) {
        for (int q = 0; q < width; ++q) column[q] = below + graph.column_start[first + q] + (width - 1 - q);
    }

    Vec& within(int q, int r) const { return column[q][r - width]; }

    std::int32_t count;  // rows below the panel
    const std::int32_t* row;
    Vec* column[width];  // the part of each column below the panel; its entries within the panel come right before
};

class LaneLaplacian {
public:
    LaneLaplacian(const LaneGraph& graph, Vec* diagonal, Vec* below) : g_(graph), diagonal_(diagonal), below_(below) {}

    // below holds L D afterwards, diagonal 1/D.
    void factorise() const {
        const std::int32_t* target = g_.target;
        for (std::int32_t k = 0; k < g_.panels; ++k) {
            const std::int32_t first = g_.panel[k];
            switch (g_.panel[k + 1] - first) {
                case 1:
                    target = eliminate<1>(first, target);
                    break;
                case 2:
                    target = eliminate<2>(first, target);
                    break;
                case 3:
                    target = eliminate<3>(first, target);
                    break;
                default:
                    target = eliminate<4>(first, target);
                    break;
            }
        }
    }

    // x = (L D L^T)^-1 x. Leaves below zero: it is in the cache now, and the next matrix starts there.
    void solve(Vec* x) const {
        for (std::int32_t k = 0; k < g_.panels; ++k) {
            const std::int32_t first = g_.panel[k];
            switch (g_.panel[k + 1] - first) {
                case 1:
                    forward<1>(first, x);
                    break;
                case 2:
                    forward<2>(first, x);
                    break;
                case 3:
                    forward<3>(first, x);
                    break;
                default:
                    forward<4>(first, x);
                    break;
            }
        }
        for (std::int32_t k = g_.panels; k-- > 0;) {
            const std::int32_t first = g_.panel[k];
            switch (g_.panel[k + 1] - first) {
                case 1:
                    backward<1>(first, x);
                    break;
                case 2:
                    backward<2>(first, x);
                    break;
                case 3:
                    backward<3>(first, x);
                    break;
                default:
                    backward<4>(first, x);
                    break;
            }
        }
    }

private:
    template <int width>
    const std::int32_t* eliminate(std::int32_t first, const std::int32_t* target) const {
        Vec *const diagonal = diagonal_, *const below = below_;
        const Panel<width> panel(g_, below, first);
        const std::int32_t count = panel.count;
        Vec inverse[width], ratio[width][width];
        for (int q = 0; q < width; ++q) {
            inverse[q] = 1.0 / diagonal[first + q];
            diagonal[first + q] = inverse[q];
            for (int r = q + 1; r < width; ++r) {
                const Vec entry = panel.within(q, r);
                ratio[q][r] = entry * inverse[q];
                diagonal[first + r] -= ratio[q][r] * entry;
                for (int s = r + 1; s < width; ++s) panel.within(r, s) -= ratio[q][r] * panel.within(q, s);
            }
        }
        if constexpr (width > 1)
            for (std::int32_t i = 0; i < count; ++i) {
                Vec entry[width];
                for (int r = 0; r < width; ++r) {
                    entry[r] = panel.column[r][i];
                    for (int q = 0; q < r; ++q) entry[r] -= ratio[q][r] * entry[q];
                    panel.column[r][i] = entry[r];
                }
            }
        for (std::int32_t b = 0; b < count; ++b) {
            Vec scaled[width], sum{};
            for (int q = 0; q < width; ++q) {
                scaled[q] = panel.column[q][b] * inverse[q];
                sum += scaled[q] * panel.column[q][b];
            }
            diagonal[panel.row[b]] -= sum;
            for (std::int32_t a = b + 1; a < count; ++a) {
                Vec product = scaled[0] * panel.column[0][a];
                for (int q = 1; q < width; ++q) product += scaled[q] * panel.column[q][a];
                below[*target++] -= product;
            }
        }
        return target;
    }

    template <int width>
    void forward(std::int32_t first, Vec* x) const {
        const Panel<width> panel(g_, below_, first);
        Vec y[width];
        for (int q = 0; q < width; ++q) {
            Vec sum = x[first + q];
            for (int r = 0; r < q; ++r) sum -= panel.within(r, q) * y[r];
            x[first + q] = sum;
            y[q] = diagonal_[first + q] * sum;
        }
        for (std::int32_t a = 0; a < panel.count; ++a) {
            Vec product = panel.column[0][a] * y[0];
            for (int q = 1; q < width; ++q) product += panel.column[q][a] * y[q];
            x[panel.row[a]] -= product;
        }
    }

    template <int width>
    void backward(std::int32_t first, Vec* x) const {
        const Panel<width> panel(g_, below_, first);
        Vec sum[width], other[width];  // two sums each: one would wait for itself
        for (int q = 0; q < width; ++q) {
            sum[q] = x[first + q];
            other[q] = Vec{};
        }
        std::int32_t a = 0;
        for (; a + 2 <= panel.count; a += 2) {
            const Vec one = x[panel.row[a]], two = x[panel.row[a + 1]];
            for (int q = 0; q < width; ++q) {
                sum[q] -= panel.column[q][a] * one;
                other[q] -= panel.column[q][a + 1] * two;
                panel.column[q][a] = panel.column[q][a + 1] = Vec{};
            }
        }
        if (a < panel.count)
            for (int q = 0; q < width; ++q) {
                sum[q] -= panel.column[q][a] * x[panel.row[a]];
                panel.column[q][a] = Vec{};
            }
        for (int q = width - 1; q >= 0; --q) {
            Vec value = sum[q] + other[q];
            for (int r = q + 1; r < width; ++r) {
                value -= panel.within(q, r) * x[first + r];
                panel.within(q, r) = Vec{};
            }
            x[first + q] = value * diagonal_[first + q];
        }
    }

    const LaneGraph& g_;
    Vec *diagonal_, *below_;
};

}  // namespace
}  // namespace privroute
