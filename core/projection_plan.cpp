#include "projection_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace privroute {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

ProjectionPlan::ProjectionPlan(std::span<const Node> tail, std::span<const Node> head,
                               std::span<const std::uint8_t> no_through)
    : graph(tail, head, no_through), elimination(no_through.size(), tail, head), reached_(no_through.size()) {
    order_links();
    std::vector<std::int32_t> degree(nodes(), 0);
    for (std::size_t e = 0; e < links(); ++e) {
        ++degree[at(tail[e])];
        ++degree[at(head[e])];
    }
    for (const std::int32_t d : degree) largest_degree_ = std::max(largest_degree_, d);
}

void ProjectionPlan::order_links() {
    struct Edge {
        std::int32_t lower, upper;
        Link up, down;  // -1: none
    };
    // An upward link meets the oldest downward link between the same nodes that has no partner yet, and vice versa.
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Edge>> between;
    for (std::size_t e = 0; e < links(); ++e) {
        const std::int32_t from = elimination.position[at(graph.tail[e])], to = elimination.position[at(graph.head[e])];
        const bool up = from < to;
        auto& edges = between[std::minmax(from, to)];
        const auto partner =
            std::find_if(edges.begin(), edges.end(), [&](const Edge& edge) { return (up ? edge.up : edge.down) < 0; });
        const auto link = static_cast<Link>(e);
        if (partner == edges.end()) edges.push_back({std::min(from, to), std::max(from, to), up ? link : -1, up ? -1 : link});
        else (up ? partner->up : partner->down) = link;
    }
    for (const bool paired : {true, false})
        for (const auto& [ends, edges] : between)  // by lower position: the kernels keep its sums in registers
            for (const Edge& edge : edges) {
                if ((edge.up >= 0 && edge.down >= 0) != paired) continue;
                const bool upward = edge.up >= 0;
                lower_.push_back(upward ? edge.lower : edge.upper);
                upper_.push_back(upward ? edge.upper : edge.lower);
                slot_.push_back(elimination.slot(edge.lower, edge.upper));
                link_of_row_.push_back(upward ? edge.up : edge.down);
                if (paired) {
                    link_of_row_.push_back(edge.down);
                    ++two_way_;
                }
            }
    for (std::size_t row = 0; row < links(); ++row) {
        const auto link = at(link_of_row_[row]);
        if (graph.no_through[at(graph.tail[link])] || graph.no_through[at(graph.head[link])])
            restricted_rows_.push_back(static_cast<std::int32_t>(row));
    }
}

bool ProjectionPlan::joined(Node origin, Node destination) {
    auto& reached = reached_[at(origin)];
    if (reached.empty()) {
        reached.assign(nodes(), false);
        reached[at(origin)] = true;
        std::vector<Node> open{origin};
        while (!open.empty()) {
            const Node v = open.back();
            open.pop_back();
            if (graph.no_through[at(v)] && v != origin) continue;
            for (Link k = graph.out_start[at(v)]; k < graph.out_start[at(v) + 1]; ++k) {
                const Node next = graph.head[at(graph.out_links[at(k)])];
                if (reached[at(next)]) continue;
                reached[at(next)] = true;
                open.push_back(next);
            }
        }
    }
    return reached[at(destination)];
}

double ProjectionPlan::expected_seconds() const {
    const auto operations = 10 * links() + 5 * elimination.row.size() + elimination.target.size();
    return 1e-9 * static_cast<double>(operations);
}

LaneGraph ProjectionPlan::lanes() const {
    const auto count = [](const auto& values) { return static_cast<std::int32_t>(values.size()); };
    LaneGraph view{};
    view.nodes = static_cast<std::int32_t>(nodes());
    view.links = static_cast<std::int32_t>(links());
    view.edges = count(lower_);
    view.two_way = two_way_;
    view.slots = count(elimination.row);
    view.roots = count(elimination.roots);
    view.restricted = count(restricted_rows_);
    view.largest_degree = largest_degree_;
    view.lower = lower_.data();
    view.upper = upper_.data();
    view.slot = slot_.data();
    view.link_of_row = link_of_row_.data();
    view.column_start = elimination.column_start.data();
    view.row = elimination.row.data();
    view.panels = count(elimination.panel) - 1;
    view.panel = elimination.panel.data();
    view.target = elimination.target.data();
    view.root = elimination.roots.data();
    view.position = elimination.position.data();
    view.tail = graph.tail.data();
    view.head = graph.head.data();
    view.restricted_row = restricted_rows_.data();
    view.no_through = graph.no_through.data();
    return view;
}

}  // namespace privroute
