// Which area has a point: one point at a time and in integers, so that the answer depends on that point alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace privroute {

// Degrees on a lattice of 1e-9 degrees, a tenth of a millimetre. Coordinates stay below 2^38, so products of two
// differences stay below 2^79: predicates on the lattice are exact.
struct LatticePoint {
    std::int64_t x, y;

    static std::int64_t round(double degrees) { return std::llround(degrees * 1e9); }
    LatticePoint(double longitude, double latitude) : x(round(longitude)), y(round(latitude)) {}
};

// Areas as rings of points; a point is inside if a ray from it crosses the rings an odd number of times, or if it lies
// on an edge. Of several areas that have a point the first one is taken.
class AreaIndex {
public:
    // x, y : points of all rings, degrees; ring r is [ring_start[r], ring_start[r + 1]), closed or not
    // area_start : area a has the rings [area_start[a], area_start[a + 1])
    AreaIndex(std::span<const double> x, std::span<const double> y, std::span<const std::int64_t> ring_start,
              std::span<const std::int64_t> area_start) {
        for (std::size_t area = 0; area + 1 < area_start.size(); ++area) {
            const auto first = static_cast<std::uint32_t>(edges_.size());
            for (auto ring = static_cast<std::size_t>(area_start[area]);
                 ring < static_cast<std::size_t>(area_start[area + 1]); ++ring) {
                const auto begin = static_cast<std::size_t>(ring_start[ring]),
                           end = static_cast<std::size_t>(ring_start[ring + 1]);
                for (std::size_t at = begin; at < end; ++at) {
                    const std::size_t next = at + 1 < end ? at + 1 : begin;
                    const LatticePoint a(x[at], y[at]), b(x[next], y[next]);
                    if (a.x != b.x || a.y != b.y) edges_.push_back({a, b});
                }
            }
            areas_.emplace_back(edges_, first, static_cast<std::uint32_t>(edges_.size()));
        }
        make_grid();
    }

    // The first area that has the point, -1 if none has or the point is not on the Earth.
    std::int32_t containing(double longitude, double latitude) const {
        if (!(std::abs(longitude) <= 180 && std::abs(latitude) <= 90) || areas_.empty()) return -1;
        const LatticePoint p(longitude, latitude);
        if (p.x < low_x_ || p.x > high_x_ || p.y < low_y_ || p.y > high_y_) return -1;
        const std::size_t cell = row(p.y) * side_ + column(p.x);
        for (auto k = cell_start_[cell]; k < cell_start_[cell + 1]; ++k)
            if (areas_[cell_areas_[k]].has(edges_, p)) return static_cast<std::int32_t>(cell_areas_[k]);
        return -1;
    }

    // The area whose border is nearest to the point and within reach, the first of equal ones; -1 if none is.
    // Distances are those of a plane that touches the Earth at the point's latitude.
    std::int32_t nearest(double longitude, double latitude, double reach_km) const {
        if (!(std::abs(longitude) <= 180 && std::abs(latitude) <= 90)) return -1;
        const LatticePoint p(longitude, latitude);
        constexpr double km = 6371.0088 * std::numbers::pi / 180 * 1e-9;
        const double east = km * std::cos(static_cast<double>(p.y) * 1e-9 * (std::numbers::pi / 180));
        double least = reach_km * reach_km;
        std::int32_t found = -1;
        for (std::size_t area = 0; area < areas_.size(); ++area) {
            const Area& each = areas_[area];
            if (each.first == each.last) continue;  // its box is empty, and differences from it overflow
            const double aside =
                east * static_cast<double>(std::max({each.low_x - p.x, p.x - each.high_x, std::int64_t{0}}));
            const double away =
                km * static_cast<double>(std::max({each.low_y - p.y, p.y - each.high_y, std::int64_t{0}}));
            if (aside * aside + away * away > least) continue;
            for (std::uint32_t at = each.first; at < each.last; ++at) {
                const Edge& edge = edges_[at];
                const double ax = east * static_cast<double>(edge.a.x - p.x),
                             ay = km * static_cast<double>(edge.a.y - p.y);
                const double dx = east * static_cast<double>(edge.b.x - edge.a.x),
                             dy = km * static_cast<double>(edge.b.y - edge.a.y);
                const double length = dx * dx + dy * dy;
                const double along = length > 0 ? std::clamp(-(ax * dx + ay * dy) / length, 0.0, 1.0) : 0.0;
                const double to_x = ax + along * dx, to_y = ay + along * dy;
                const double square = to_x * to_x + to_y * to_y;
                if (square < least || (found < 0 && square == least)) {
                    least = square;
                    found = static_cast<std::int32_t>(area);
                }
            }
        }
        return found;
    }

private:
    struct Edge {
        LatticePoint a, b;
    };

    // The edges of one area, by slabs of latitude: a point is compared with the edges of its slab only.
    struct Area {
        std::uint32_t first, last;
        std::int64_t low_x, high_x, low_y, high_y, height;
        std::vector<std::uint32_t> slab_start, slab_edges;

        Area(const std::vector<Edge>& edges, std::uint32_t begin, std::uint32_t end) : first(begin), last(end) {
            low_x = low_y = std::numeric_limits<std::int64_t>::max();
            high_x = high_y = std::numeric_limits<std::int64_t>::min();
            for (std::uint32_t at = first; at < last; ++at) {
                low_x = std::min({low_x, edges[at].a.x, edges[at].b.x});
                high_x = std::max({high_x, edges[at].a.x, edges[at].b.x});
                low_y = std::min({low_y, edges[at].a.y, edges[at].b.y});
                high_y = std::max({high_y, edges[at].a.y, edges[at].b.y});
            }
            const std::int64_t slabs = std::clamp<std::int64_t>((last - first) / 4, 1, 64);
            height = first == last ? 1 : (high_y - low_y) / slabs + 1;
            slab_start.assign(static_cast<std::size_t>(slabs) + 1, 0);
            for (const bool counting : {true, false}) {
                if (!counting) {
                    for (std::size_t k = 1; k < slab_start.size(); ++k) slab_start[k] += slab_start[k - 1];
                    slab_edges.resize(slab_start.back());
                }
                std::vector<std::uint32_t> next(slab_start);
                for (std::uint32_t at = first; at < last; ++at) {
                    const auto low = slab(std::min(edges[at].a.y, edges[at].b.y)),
                               high = slab(std::max(edges[at].a.y, edges[at].b.y));
                    for (std::size_t k = low; k <= high; ++k) {
                        if (counting)
                            ++slab_start[k + 1];
                        else
                            slab_edges[next[k]++] = at;
                    }
                }
            }
        }

        [[nodiscard]] std::size_t slab(std::int64_t y) const { return static_cast<std::size_t>((y - low_y) / height); }

        [[nodiscard]] bool has(const std::vector<Edge>& edges, const LatticePoint& p) const {
            if (p.x < low_x || p.x > high_x || p.y < low_y || p.y > high_y) return false;
            bool inside = false;
            const std::size_t k = slab(p.y);
            for (auto at = slab_start[k]; at < slab_start[k + 1]; ++at) {
                const Edge& edge = edges[slab_edges[at]];
                const bool rises = edge.a.y <= edge.b.y;
                const LatticePoint &low = rises ? edge.a : edge.b, &high = rises ? edge.b : edge.a;
                if (p.y < low.y || p.y > high.y) continue;
                __extension__ using Wide = __int128;
                const Wide side = static_cast<Wide>(high.x - low.x) * (p.y - low.y) -
                                  static_cast<Wide>(high.y - low.y) * (p.x - low.x);
                if (side == 0 && p.x >= std::min(low.x, high.x) && p.x <= std::max(low.x, high.x))
                    return true;                                 // on the edge
                if (p.y < high.y && side > 0) inside = !inside;  // an edge has its lower end, not its upper one
            }
            return inside;
        }
    };

    void make_grid() {
        low_x_ = low_y_ = std::numeric_limits<std::int64_t>::max();
        high_x_ = high_y_ = std::numeric_limits<std::int64_t>::min();
        for (const Area& area : areas_) {
            if (area.first == area.last) continue;
            low_x_ = std::min(low_x_, area.low_x);
            high_x_ = std::max(high_x_, area.high_x);
            low_y_ = std::min(low_y_, area.low_y);
            high_y_ = std::max(high_y_, area.high_y);
        }
        if (low_x_ > high_x_) return;  // no area has an edge
        side_ = static_cast<std::size_t>(std::clamp(std::sqrt(static_cast<double>(areas_.size())) * 2, 1.0, 256.0));
        width_ = (high_x_ - low_x_) / static_cast<std::int64_t>(side_) + 1;
        height_ = (high_y_ - low_y_) / static_cast<std::int64_t>(side_) + 1;
        std::vector<std::vector<std::uint32_t>> cells(side_ * side_);
        for (std::size_t area = 0; area < areas_.size(); ++area) {
            const Area& each = areas_[area];
            if (each.first == each.last) continue;
            for (std::size_t r = row(each.low_y); r <= row(each.high_y); ++r)
                for (std::size_t c = column(each.low_x); c <= column(each.high_x); ++c)
                    cells[r * side_ + c].push_back(static_cast<std::uint32_t>(area));
        }
        cell_start_.push_back(0);
        for (const auto& cell : cells) {
            cell_areas_.insert(cell_areas_.end(), cell.begin(), cell.end());
            cell_start_.push_back(cell_areas_.size());
        }
    }

    [[nodiscard]] std::size_t column(std::int64_t x) const { return static_cast<std::size_t>((x - low_x_) / width_); }
    [[nodiscard]] std::size_t row(std::int64_t y) const { return static_cast<std::size_t>((y - low_y_) / height_); }

    std::vector<Edge> edges_;
    std::vector<Area> areas_;
    std::int64_t low_x_ = 0, high_x_ = -1, low_y_ = 0, high_y_ = -1, width_ = 1, height_ = 1;
    std::size_t side_ = 1;
    std::vector<std::size_t> cell_start_;
    std::vector<std::uint32_t> cell_areas_;
};

}  // namespace privroute
