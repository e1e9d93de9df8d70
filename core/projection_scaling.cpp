#include "projection_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

namespace privroute {
namespace {

constexpr double unit = 0x1p-52;
constexpr std::int64_t whole = std::int64_t{1} << 52;  // a flow of 1

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

ScalingProjection::ScalingProjection(const ProjectionPlan& plan)
    : graph_(plan.lanes()),
      network_(plan.graph),
      entering_(plan.nodes()),
      row_(graph_),
      flow_(plan.links()),
      weight_(plan.links()),
      point_(plan.links()),
      potential_(plan.nodes()),
      excess_(plan.nodes()),
      distance_(plan.nodes()),
      by_(plan.nodes()),
      settled_(plan.nodes()) {
    for (std::size_t e = 0; e < plan.links(); ++e) entering_[at(network_.head[e])].push_back(static_cast<Link>(e));
}

// w z of a link.
ScalingProjection::Wide ScalingProjection::stretched(std::size_t link) const {
    return weight_[link] * point_[link] + potential_[at(network_.head[link])] - potential_[at(network_.tail[link])];
}

// Any start is correct; those beyond `largest` could overflow.
void ScalingProjection::start() {
    const double largest = 1e20 * unit_of_weights_;
    const auto fits = [=](double p) { return std::abs(p) <= largest; };
    const bool useful = std::all_of(row_.potential.begin(), row_.potential.end(), fits);
    for (std::size_t v = 0; v < potential_.size(); ++v)
        potential_[v] = useful ? static_cast<Wide>(std::nearbyint(row_.potential[v] / (unit * unit_of_weights_))) : 0;
}

// Shortens gaps between the potentials to what decides the flow of any link across: keeps numbers small and changes no
// flow.
void ScalingProjection::close_gaps() {
    Wide enough = 0;
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        enough = std::max(enough, weight_[e] * ((point_[e] < 0 ? -point_[e] : point_[e]) + 2 * Wide{whole}));
    }
    std::vector<std::size_t> order(potential_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return potential_[a] < potential_[b]; });
    Wide before = potential_[order.front()], level = 0;
    for (const std::size_t v : order) {
        level += std::min(potential_[v] - before, enough);
        before = std::exchange(potential_[v], level);
    }
}

// Every flow becomes the multiple of `grain` nearest to clip(z). Returns the sum of |A x - b|.
double ScalingProjection::round_flows(std::int64_t grain) {
    std::fill(excess_.begin(), excess_.end(), 0);
    excess_[at(row_.origin)] = whole;
    excess_[at(row_.destination)] = -whole;
    for (const std::int32_t link : open_) {
        const auto e = at(link);
        const Wide step = Wide{weight_[e]} * grain,
                   inside = std::clamp<Wide>(stretched(e), 0, Wide{weight_[e]} * whole);
        flow_[e] = static_cast<std::int64_t>((inside + step / 2) / step) * grain;
        excess_[at(network_.tail[e])] -= flow_[e];
        excess_[at(network_.head[e])] += flow_[e];
    }
    double sum = 0.0;
    for (const Wide value : excess_) sum += std::abs(static_cast<double>(value));
    return sum;
}

// Sends one grain along a shortest path from the nodes with too much to one with too little, if there are any. Lengths
// say how far a link's z is from letting its flow change by a grain; moving the potentials by the distances makes those
// on the path 0 and keeps all others from becoming negative. Such a path exists: see the proof.
bool ScalingProjection::send(std::int64_t grain) {
    using Entry = std::pair<Wide, std::int32_t>;
    const auto later = [](const Entry& a, const Entry& b) { return a.first > b.first; };
    std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
    constexpr Wide never = -1;
    std::fill(distance_.begin(), distance_.end(), never);
    std::fill(settled_.begin(), settled_.end(), std::uint8_t{0});
    const auto reach = [&](std::int32_t node, Wide distance, std::int32_t by) {
        if (distance_[at(node)] != never && distance_[at(node)] <= distance) return;
        distance_[at(node)] = distance;
        by_[at(node)] = by;
        queue.emplace(distance, node);
    };
    for (std::int32_t v = 0; v < graph_.all_nodes; ++v)
        if (excess_[at(v)] > 0) reach(v, 0, -1);
    const std::int64_t half = grain / 2;
    while (!queue.empty()) {
        const auto [distance, node] = queue.top();
        queue.pop();
        if (settled_[at(node)]) continue;
        settled_[at(node)] = 1;
        if (excess_[at(node)] < 0) {
            for (std::size_t v = 0; v < potential_.size(); ++v)
                if (settled_[v]) potential_[v] -= distance - distance_[v];
            std::int32_t here = node;
            while (by_[at(here)] >= 0) {
                const auto e = at(by_[at(here)]);
                const bool forward = network_.head[e] == here;
                flow_[e] += forward ? grain : -grain;
                here = forward ? network_.tail[e] : network_.head[e];
            }
            excess_[at(node)] += grain;
            excess_[at(here)] -= grain;
            return true;
        }
        for (std::int32_t k = network_.out_start[at(node)]; k < network_.out_start[at(node) + 1]; ++k) {
            const auto e = at(network_.out_links[at(k)]);
            if (row_.is_open[e] && flow_[e] < whole)
                reach(network_.head[e], distance + (Wide{weight_[e]} * (flow_[e] + half) - stretched(e)),
                      static_cast<Link>(e));
        }
        for (const std::int32_t link : entering_[at(node)]) {
            const auto e = at(link);
            if (row_.is_open[e] && flow_[e] > 0)
                reach(network_.tail[e], distance + (stretched(e) - Wide{weight_[e]} * (flow_[e] - half)), link);
        }
    }
    return false;
}

bool ScalingProjection::balance(std::int64_t grain, bool (*stop)(void*), void* context) {
    while (!stop(context))
        if (!send(grain)) return true;
    return false;
}

bool ScalingProjection::run(const ProjectionRows& rows, std::int64_t row, bool (*stop)(void*), void* context) {
    row_.read(graph_, rows, row);
    unit_of_weights_ = rows.metric.inverse ? weight_unit : 1.0;
    open_.clear();
    for (std::int32_t link = 0; link < graph_.all_links; ++link) {
        const auto e = at(link);
        weight_[e] = rows.metric.inverse ? static_cast<std::int64_t>(1.0 / (rows.metric.inverse[e] * weight_unit)) : 1;
        point_[e] = static_cast<Wide>(std::nearbyint(row_.point[e] / unit));
        if (row_.is_open[e]) open_.push_back(link);
    }
    start();
    close_gaps();

    const double links = std::sqrt(rows.metric.total);
    const auto bound = [&](std::int64_t grain) {  // half a grain, and half a unit of the points; 1.001 for this formula
        return 1.001 * (0.5 * static_cast<double>(grain) + 0.5) * unit * links;
    };
    std::int64_t finest = whole;
    while (finest > 2 && bound(finest) > rows.tolerance) finest /= 2;
    // good potentials need no coarse phase: it would only spoil them
    std::int64_t grain = finest;
    const auto links_each_way = 2.0 * static_cast<double>(open_.size());
    while (grain < whole && round_flows(grain) > links_each_way * static_cast<double>(grain)) grain *= 2;
    for (;; grain /= 2) {
        round_flows(grain);
        if (!balance(grain, stop, context)) return false;
        close_gaps();
        if (grain == finest) break;
    }

    for (const std::int32_t e : open_) row_.flow[at(e)] = static_cast<double>(flow_[at(e)]) * unit;
    for (std::size_t v = 0; v < potential_.size(); ++v)
        row_.potential[v] = static_cast<double>(potential_[v]) * unit * unit_of_weights_;
    row_.write_flows(graph_, rows, row);
    row_.write_potentials(graph_, rows, row);
    rows.error_bound[row] = bound(finest);
    return true;
}

}  // namespace privroute
