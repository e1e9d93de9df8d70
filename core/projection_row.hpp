// One row of a projection as whole arrays over links and nodes, for the solvers that take one row at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "projection_problem.hpp"

namespace privroute {

class ProjectionRow {
public:
    explicit ProjectionRow(const LaneGraph& graph)
        : point(size(graph.all_links)),
          flow(size(graph.all_links)),
          is_open(size(graph.all_links)),
          potential(size(graph.all_nodes)) {}

    // Point and start of row `row`, and which links its pair may use.
    void read(const LaneGraph& graph, const ProjectionRows& rows, std::int64_t row) {
        origin = rows.origin[row];
        destination = rows.destination[row];
        std::fill(flow.begin(), flow.end(), 0.0);
        if (!rows.route_start) {
            const double* const points = rows.points + row * graph.all_links;
            const double* const start = rows.potentials_out + row * graph.all_nodes;
            std::copy(points, points + graph.all_links, point.begin());
            std::copy(start, start + graph.all_nodes, potential.begin());
            for (std::int32_t e = 0; e < graph.all_links; ++e)
                is_open[size(e)] = link_is_open(graph, e, origin, destination);
            return;
        }
        std::fill(point.begin(), point.end(), 0.0);
        std::fill(potential.begin(), potential.end(), 0.0);
        std::fill(is_open.begin(), is_open.end(), std::uint8_t{0});
        for (std::int64_t k = rows.route_start[row]; k < rows.route_start[row + 1]; ++k) {
            const std::int32_t e = rows.route_link[k];
            point[size(e)] = rows.points[k];
            is_open[size(e)] = 1;
            potential[size(graph.tail[e])] = rows.hints[k];
        }
        potential[size(destination)] = 0.0;
    }

    void write_potentials(const LaneGraph& graph, const ProjectionRows& rows, std::int64_t row) const {
        if (!rows.route_start)
            return static_cast<void>(
                std::copy(potential.begin(), potential.end(), rows.potentials_out + row * graph.all_nodes));
        for (std::int64_t k = rows.route_start[row]; k < rows.route_start[row + 1]; ++k) {
            const double from = potential[size(graph.tail[rows.route_link[k]])] - potential[size(destination)];
            rows.hints[k] = static_cast<float>(std::clamp(from, -1e30, 1e30));
        }
    }

    void write_flows(const LaneGraph& graph, const ProjectionRows& rows, std::int64_t row) const {
        if (!rows.route_start)
            return static_cast<void>(std::copy(flow.begin(), flow.end(), rows.flows + row * graph.all_links));
        for (std::int64_t k = rows.route_start[row]; k < rows.route_start[row + 1]; ++k)
            rows.flows[k] = flow[size(rows.route_link[k])];
    }

    std::int32_t origin = 0, destination = 0;
    std::vector<double> point, flow;
    std::vector<std::uint8_t> is_open;
    std::vector<double> potential;

private:
    static std::size_t size(std::int32_t i) { return static_cast<std::size_t>(i); }
};

}  // namespace privroute
