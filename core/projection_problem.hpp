// Plain data handed to the projection kernels. Files compiled for a newer instruction set include only this and their
// own code: an inline function of the standard library compiled there could be the copy that the linker keeps, and
// would then fail on an older machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace privroute {

static constexpr std::int32_t widest_panel = 4;

// A node that hangs on one other by a link each way: parent -> node is `in`, node -> parent is `out`.
struct Pendant {
    std::int32_t node, in, out;
};

// The graph without its pendants, for the Newton steps. An edge joins two positions of the elimination order. The first
// `two_way` edges carry two opposite links, rows 2e (lower to upper) and 2e + 1 (upper to lower); edge e of the others
// carries one link, row two_way + e, from `lower` to `upper` (for these the names say the direction only).
struct LaneGraph {
    std::int32_t all_nodes, all_links;  // pendants included: the lengths of a row of potentials and of points
    std::int32_t nodes, links, edges, two_way, slots, roots, panels, restricted, pendants, largest_degree;
    bool shared_slots;  // whether two edges join the same nodes
    const std::int32_t *lower, *upper, *slot, *link_of_row;
    const std::int32_t *column_start, *row, *target, *panel, *root;
    const std::int32_t *position, *node;  // position of each node (a pendant's: its parent's), node at each position
    const std::int32_t *tail, *head, *tail_position, *head_position;  // of all links
    const std::int32_t* restricted_link;
    const std::uint8_t* no_through;
    const Pendant* pendant;
    const std::int32_t* pendant_of;  // index of each node's pendant, or -1
};

// A pair may use a link unless it leaves a no_through node other than the pair's origin. A link into such a node that
// is not one of the pair's ends carries nothing either: what enters cannot leave. Closing it changes no feasible flow.
static inline bool link_is_open(const LaneGraph& graph, std::int32_t link, std::int32_t origin,
                                std::int32_t destination) {
    const std::int32_t tail = graph.tail[link], head = graph.head[link];
    return (!graph.no_through[tail] || tail == origin) &&
           (!graph.no_through[head] || head == origin || head == destination);
}

// The metric |x|_w^2 = sum_e w_e x_e^2 of a projection: x(p) = clip(v + (p[head] - p[tail]) / w, 0, 1). Weights are
// powers of 2, so dividing by them is exact in every arithmetic here.
//   inverse : 1/w of each link; null for w = 1
//   heaviest_path : no simple path of the inner graph weighs more;  total : of all links
struct ProjectionMetric {
    const double* inverse;
    double heaviest_path, total;
};

// Smallest weight that is allowed: whole numbers in units of it.
static constexpr double weight_unit = 0x1p-10;

enum class RowState : std::uint8_t { waiting, done, failed, unusable };

// Row k of points, flows and potentials belongs to pair k. flows may be the same memory as points, potentials_in the
// same as potentials_out; potentials_in may be null (start from 0).
//
// With route sets (route_start not null) a row has only the links that its pair may use: entries route_start[k] to
// route_start[k + 1] of points and flows are for the links in route_link. A start is then one number for each entry in
// `hints`: the potential of the link's tail, less that of the destination. It is read and replaced. `acyclic`: no row's
// links form a cycle, and they are in topological order.
struct ProjectionRows {
    ProjectionMetric metric;
    bool acyclic;
    const std::int64_t* route_start;
    const std::int32_t* route_link;
    float* hints;
    const double* points;
    const double* potentials_in;
    double* flows;
    double* potentials_out;
    double* error_bound;
    RowState* state;
    const std::int32_t *origin, *destination;
    double tolerance;
    double largest_point;
};

// Where a kernel takes its next row from: an index, or -1 when there is none or the work is to stop.
struct RowSource {
    std::int64_t (*next)(void*);
    void* context;
};

// The certificate of docs/proofs/projection.md, Theorem 2: |x - x*|_w for flows x = clip(v + (p[head] - p[tail])/w, 0,
// 1) as computed.
//   imbalance : sum over nodes of |(A x - b)_i| as computed;  flow : sum of x, both without pendants
//   largest_point : max |v|;  unit : relative rounding error of the arithmetic
static inline double certified_bound(const LaneGraph& graph, const ProjectionMetric& metric, double imbalance,
                                     double flow, double largest_point, double unit) {
    const double summing = unit * (graph.largest_degree + 3) * (2.0 * flow + 2.0);
    const double transport = 0.5 * __builtin_sqrt(metric.heaviest_path) * (imbalance + summing);
    const double rounding = unit * (largest_point + 3.0) * __builtin_sqrt(metric.total);
    return 1.001 * (transport + rounding);  // the margin covers products of rounding errors and this formula's own
}

using LaneKernel = void (*)(const LaneGraph&, const ProjectionRows&, const RowSource&, void* workspace);

// Bytes of workspace that a kernel with this many lanes needs, and the alignment of every vector in it.
static constexpr std::size_t lane_alignment = 64;
static inline std::size_t lane_workspace(const LaneGraph& graph, std::size_t lanes) {
    const auto whole = static_cast<std::size_t>(graph.all_links + graph.all_nodes);
    const auto vectors = 5 * static_cast<std::size_t>(graph.nodes) + static_cast<std::size_t>(graph.slots) + whole;
    return (vectors * lanes + whole) * sizeof(double);
}

void project_lanes_plain(const LaneGraph&, const ProjectionRows&, const RowSource&, void*);
void project_lanes_plain8(const LaneGraph&, const ProjectionRows&, const RowSource&, void*);
#if defined(PRIVROUTE_X86)
void project_lanes_avx2(const LaneGraph&, const ProjectionRows&, const RowSource&, void*);
void project_lanes_avx512(const LaneGraph&, const ProjectionRows&, const RowSource&, void*);
#endif

}  // namespace privroute
