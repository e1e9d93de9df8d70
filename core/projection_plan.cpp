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
    : graph(tail, head, no_through),
      inner_(graph),
      elimination(inner_.nodes(), inner_.tail, inner_.head),
      reached_(no_through.size()) {
    node_.resize(inner_.nodes());
    for (std::size_t v = 0; v < nodes(); ++v) {
        position_.push_back(elimination.position[at(inner_.number[v])]);
        if (inner_.pendant_of[v] < 0) node_[at(position_.back())] = static_cast<Node>(v);
    }
    order_links();
    std::vector<std::int32_t> degree(inner_.nodes(), 0);
    for (std::size_t e = 0; e < inner_.tail.size(); ++e) {
        ++degree[at(inner_.tail[e])];
        ++degree[at(inner_.head[e])];
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
    for (const Link inner : inner_.links) {
        const auto e = at(inner);
        const std::int32_t from = position_[at(graph.tail[e])], to = position_[at(graph.head[e])];
        const bool up = from < to;
        auto& edges = between[std::minmax(from, to)];
        const auto partner =
            std::find_if(edges.begin(), edges.end(), [&](const Edge& edge) { return (up ? edge.up : edge.down) < 0; });
        const auto link = static_cast<Link>(e);
        if (partner == edges.end())
            edges.push_back({std::min(from, to), std::max(from, to), up ? link : -1, up ? -1 : link});
        else
            (up ? partner->up : partner->down) = link;
    }
    for (const bool paired : {true, false})
        for (const auto& [ends, edges] : between) {  // by lower position: the kernels keep its sums in registers
            shared_slots_ |= edges.size() > 1;
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
        }
    for (std::size_t e = 0; e < links(); ++e) {
        tail_position_.push_back(position_[at(graph.tail[e])]);
        head_position_.push_back(position_[at(graph.head[e])]);
        if (graph.no_through[at(graph.tail[e])] || graph.no_through[at(graph.head[e])])
            restricted_links_.push_back(static_cast<Link>(e));
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
    const auto operations = 10 * link_of_row_.size() + 5 * elimination.row.size() + elimination.target.size();
    return 1e-9 * static_cast<double>(operations);
}

LaneGraph ProjectionPlan::lanes() const {
    const auto count = [](const auto& values) { return static_cast<std::int32_t>(values.size()); };
    LaneGraph view{};
    view.all_nodes = static_cast<std::int32_t>(nodes());
    view.all_links = static_cast<std::int32_t>(links());
    view.nodes = count(node_);
    view.links = count(link_of_row_);
    view.edges = count(lower_);
    view.two_way = two_way_;
    view.slots = count(elimination.row);
    view.roots = count(elimination.roots);
    view.pendants = count(inner_.pendants);
    view.restricted = count(restricted_links_);
    view.largest_degree = largest_degree_;
    view.shared_slots = shared_slots_;
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
    view.position = position_.data();
    view.node = node_.data();
    view.pendant = inner_.pendants.data();
    view.tail = graph.tail.data();
    view.head = graph.head.data();
    view.tail_position = tail_position_.data();
    view.head_position = head_position_.data();
    view.restricted_link = restricted_links_.data();
    view.pendant_of = inner_.pendant_of.data();
    view.no_through = graph.no_through.data();
    return view;
}

}  // namespace privroute
