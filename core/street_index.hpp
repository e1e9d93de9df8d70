// The place on a street that is nearest to a point, and the fastest way between places on streets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace privroute {

struct OnStreet {
    std::int32_t link = -1;
    double share = 0;     // of the link's length, from its tail
    double distance = 0;  // metres from the point
    double x = 0, y = 0;  // degrees
};

// Segments of streets in the cells of a grid; a search goes from the point's cell outwards, ring by ring.
class StreetIndex {
public:
    // x, y : points of all links, degrees; link e is drawn by [start[e], start[e + 1])
    // usable : links to which points may be moved
    StreetIndex(std::span<const double> x, std::span<const double> y, std::span<const std::int64_t> start,
                std::span<const std::uint8_t> usable)
        : x_(x.begin(), x.end()), y_(y.begin(), y.end()), start_(start.begin(), start.end()) {
        double sum = 0;
        for (std::size_t link = 0; link + 1 < start_.size(); ++link) {
            if (!usable[link]) continue;
            for (auto at = start_[link]; at + 1 < start_[link + 1]; ++at) {
                segments_.push_back({static_cast<std::int32_t>(link), at});
                low_x_ = std::min({low_x_, px(at), px(at + 1)});
                high_x_ = std::max({high_x_, px(at), px(at + 1)});
                low_y_ = std::min({low_y_, py(at), py(at + 1)});
                high_y_ = std::max({high_y_, py(at), py(at + 1)});
                sum += py(at);
            }
        }
        if (segments_.empty()) return;
        shrink_ = std::max(0.01, std::cos(sum / static_cast<double>(segments_.size()) * radians));
        side_ = static_cast<std::int64_t>(std::clamp(std::sqrt(static_cast<double>(segments_.size())), 1.0, 1024.0));
        // long segments lie in many cells: coarser cells where the lists would become longer than eight a segment
        while (side_ > 1 && entries() > 8 * segments_.size()) side_ /= 2;
        fill();
    }

    // link -1 where there is no street within reach_m
    OnStreet nearest(double longitude, double latitude, double reach_m) const {
        OnStreet best;
        if (segments_.empty() || !(std::abs(longitude) <= 180 && std::abs(latitude) <= 90)) return best;
        const double north = metres, east = metres * std::max(0.01, std::cos(latitude * radians));
        double least = reach_m * reach_m;
        const std::int64_t c = column(longitude), r = row(latitude);
        const double cell_m = std::min(cell_x() * metres * std::min(shrink_, east / metres), cell_y() * metres);
        const std::int64_t rings = 2 * side_ + 1;
        for (std::int64_t ring = 0; ring <= rings; ++ring) {
            // whatever lies in this ring is at least ring - 1 cells away from a point inside the grid
            const double away = static_cast<double>(ring - 1) * cell_m;
            if (ring > 0 && away > 0 && away * away > least) break;
            for (std::int64_t down = r - ring; down <= r + ring; ++down) {
                if (down < 0 || down >= side_) continue;
                const bool whole = down == r - ring || down == r + ring;
                for (std::int64_t across = c - ring; across <= c + ring; across += whole || ring == 0 ? 1 : 2 * ring) {
                    if (across < 0 || across >= side_) continue;
                    const auto cell = static_cast<std::size_t>(down * side_ + across);
                    for (auto k = cell_start_[cell]; k < cell_start_[cell + 1]; ++k)
                        consider(segments_[cell_segments_[k]], longitude, latitude, east, north, least, best);
                }
            }
        }
        if (best.link >= 0) best.distance = std::sqrt(least);
        return best;
    }

private:
    struct Segment {
        std::int32_t link;
        std::int64_t at;
    };
    static constexpr double radians = std::numbers::pi / 180, metres = 6371008.8 * radians;

    double px(std::int64_t at) const { return x_[static_cast<std::size_t>(at)]; }
    double py(std::int64_t at) const { return y_[static_cast<std::size_t>(at)]; }
    double cell_x() const { return std::max((high_x_ - low_x_) / static_cast<double>(side_), 1e-9); }
    double cell_y() const { return std::max((high_y_ - low_y_) / static_cast<double>(side_), 1e-9); }
    std::int64_t column(double x) const {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor((x - low_x_) / cell_x())), 0, side_ - 1);
    }
    std::int64_t row(double y) const {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor((y - low_y_) / cell_y())), 0, side_ - 1);
    }

    template <typename Visit>
    void cells_of(const Segment& segment, Visit visit) const {
        const double ax = px(segment.at), bx = px(segment.at + 1), ay = py(segment.at), by = py(segment.at + 1);
        for (auto r = row(std::min(ay, by)); r <= row(std::max(ay, by)); ++r)
            for (auto c = column(std::min(ax, bx)); c <= column(std::max(ax, bx)); ++c)
                visit(static_cast<std::size_t>(r * side_ + c));
    }

    std::size_t entries() const {
        std::size_t count = 0;
        for (const Segment& segment : segments_) {
            const double ax = px(segment.at), bx = px(segment.at + 1), ay = py(segment.at), by = py(segment.at + 1);
            count += static_cast<std::size_t>((row(std::max(ay, by)) - row(std::min(ay, by)) + 1) *
                                              (column(std::max(ax, bx)) - column(std::min(ax, bx)) + 1));
        }
        return count;
    }

    void fill() {
        cell_start_.assign(static_cast<std::size_t>(side_ * side_) + 1, 0);
        for (const Segment& segment : segments_) cells_of(segment, [&](std::size_t cell) { ++cell_start_[cell + 1]; });
        for (std::size_t cell = 1; cell < cell_start_.size(); ++cell) cell_start_[cell] += cell_start_[cell - 1];
        cell_segments_.resize(cell_start_.back());
        std::vector<std::size_t> next(cell_start_.begin(), cell_start_.end() - 1);
        for (std::size_t k = 0; k < segments_.size(); ++k)
            cells_of(segments_[k], [&](std::size_t cell) { cell_segments_[next[cell]++] = k; });
    }

    void consider(const Segment& segment, double longitude, double latitude, double east, double north, double& least,
                  OnStreet& best) const {
        const double ax = (px(segment.at) - longitude) * east, ay = (py(segment.at) - latitude) * north;
        const double dx = (px(segment.at + 1) - px(segment.at)) * east,
                     dy = (py(segment.at + 1) - py(segment.at)) * north;
        const double length = dx * dx + dy * dy;
        const double along = length > 0 ? std::clamp(-(ax * dx + ay * dy) / length, 0.0, 1.0) : 0.0;
        const double to_x = ax + along * dx, to_y = ay + along * dy, square = to_x * to_x + to_y * to_y;
        if (square > least || (best.link >= 0 && (square == least && segment.link >= best.link))) return;
        least = square;
        best.link = segment.link;
        best.x = longitude + to_x / east;
        best.y = latitude + to_y / north;
        double before = 0, all = 0;
        for (auto at = start_[static_cast<std::size_t>(segment.link)];
             at + 1 < start_[static_cast<std::size_t>(segment.link) + 1]; ++at) {
            const double part = std::hypot((px(at + 1) - px(at)) * east, (py(at + 1) - py(at)) * north);
            if (at < segment.at) before += part;
            if (at == segment.at) before += along * part;
            all += part;
        }
        best.share = all > 0 ? std::clamp(before / all, 0.0, 1.0) : 0.0;
    }

    std::vector<double> x_, y_;
    std::vector<std::int64_t> start_;
    std::vector<Segment> segments_;
    double low_x_ = std::numeric_limits<double>::infinity(), high_x_ = -low_x_, low_y_ = low_x_, high_y_ = -low_x_,
           shrink_ = 1;
    std::int64_t side_ = 1;
    std::vector<std::size_t> cell_start_, cell_segments_;
};

// Fastest ways from link to link that end as soon as the target is settled: those within a zone touch a small part of a
// city. To turn round on a street costs `turn_back` more, except at a dead end, where nothing else is left.
class LocalPaths {
public:
    // reverse : (links,) the same street in the other direction, -1 for none
    LocalPaths(std::span<const Node> tail, std::span<const Node> head, std::span<const std::uint8_t> no_through,
               std::span<const double> cost, std::span<const Link> reverse, double turn_back)
        : graph_(tail, head, no_through),
          cost_(cost.begin(), cost.end()),
          reverse_(reverse.begin(), reverse.end()),
          turn_back_(turn_back) {}

    // (links of the fastest way from one of the sources to one of the targets, both included, its cost); no links and
    // infinite where there is none. A way has at least two links: the source's and the target's.
    // source_cost : of each source, up to the end of the link; target_cost : of each target, from its start on
    std::pair<std::vector<Link>, double> path(std::span<const Link> sources, std::span<const double> source_cost,
                                              std::span<const Link> targets,
                                              std::span<const double> target_cost) const {
        struct Label {
            double cost;
            Link before;
            bool settled;
        };
        using Item = std::pair<double, Link>;
        std::unordered_map<Link, Label> labels;
        std::unordered_map<Link, double> ends;
        for (std::size_t k = 0; k < targets.size(); ++k) {
            const auto [at, fresh] = ends.try_emplace(targets[k], target_cost[k]);
            if (!fresh) at->second = std::min(at->second, target_cost[k]);
        }
        std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
        const auto reach = [&](Link link, double cost, Link before) {
            const auto [at, fresh] = labels.try_emplace(link, Label{cost, before, false});
            if (!fresh) {
                if (at->second.settled || at->second.cost <= cost) return;
                at->second = Label{cost, before, false};
            }
            queue.emplace(cost, link);
        };
        for (std::size_t k = 0; k < sources.size(); ++k) reach(sources[k], source_cost[k], -1);
        double least = std::numeric_limits<double>::infinity();
        Link last = -1, target = -1;
        while (!queue.empty() && queue.top().first < least) {
            const Link link = queue.top().second;
            queue.pop();
            Label& label = labels.at(link);
            if (label.settled) continue;
            label.settled = true;
            const double cost = label.cost;
            const auto v = static_cast<std::size_t>(graph_.head[static_cast<std::size_t>(link)]);
            if (graph_.no_through[v]) continue;
            const auto begin = static_cast<std::size_t>(graph_.out_start[v]),
                       end = static_cast<std::size_t>(graph_.out_start[v + 1]);
            for (auto k = begin; k < end; ++k) {
                const Link next = graph_.out_links[k];
                const bool back = next == reverse_[static_cast<std::size_t>(link)] && end - begin > 1;
                const double so_far = cost + (back ? turn_back_ : 0.0);
                if (const auto goal = ends.find(next); goal != ends.end() && so_far + goal->second < least) {
                    least = so_far + goal->second;
                    last = link;
                    target = next;
                }
                reach(next, so_far + cost_[static_cast<std::size_t>(next)], link);
            }
        }
        std::vector<Link> links;
        if (target >= 0) {
            links.push_back(target);
            for (Link link = last; link >= 0; link = labels.at(link).before) links.push_back(link);
            std::reverse(links.begin(), links.end());
        }
        return {links, least};
    }

private:
    Graph graph_;
    std::vector<double> cost_;
    std::vector<Link> reverse_;
    double turn_back_;
};

}  // namespace privroute
