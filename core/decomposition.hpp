// A unit flow as a distribution over paths (the flow decomposition theorem; the paper's remark on randomized routing).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"
#include "policy.hpp"

namespace privroute {

// Walks from the origin along the largest remaining flow. A walk that meets a node twice has found a cycle, which is
// taken out; a walk that arrives is a path, which takes its smallest flow with it; a walk that ends elsewhere follows
// flow that is not conserved (rounding), and its last link is dropped. Each of the three empties at least one link, so
// there are at most as many paths as links.
class Decomposition {
public:
    explicit Decomposition(const Graph& graph) : graph_(graph), rest_(graph.links()), place_(graph.nodes(), -1) {}

    // Appends the paths of `flow` (by link) for one pair to `policy`; their weights sum to 1. False if no path arrives.
    bool run(std::span<const double> flow, Node origin, Node destination, double smallest, Policy& policy) {
        for (std::size_t e = 0; e < rest_.size(); ++e) {
            const bool closed = graph_.tail[e] != origin && graph_.no_through[index(graph_.tail[e])];
            rest_[e] = flow[e] > smallest && !closed ? flow[e] : 0.0;
        }
        const std::size_t first = policy.probability.size();
        double total = 0.0;
        while (true) {
            const bool arrived = walk(origin, destination, smallest);
            if (walk_.empty()) break;
            if (!arrived) continue;
            const double weight = take(0);
            policy.links.insert(policy.links.end(), walk_.begin(), walk_.end());
            policy.path_start.push_back(static_cast<std::int64_t>(policy.links.size()));
            policy.probability.push_back(weight);
            total += weight;
        }
        policy.pair_start.push_back(static_cast<std::int64_t>(policy.probability.size()));
        for (std::size_t i = first; i < policy.probability.size(); ++i) policy.probability[i] /= total;
        return total > 0.0;
    }

private:
    // Fills walk_; true if it arrives. An empty walk means that nothing leaves the origin any more. After a cycle or a
    // dead end the flow has changed and the caller walks again.
    bool walk(Node origin, Node destination, double smallest) {
        for (const Link e : walk_) {  // forget the places of the walk before
            place_[index(graph_.tail[index(e)])] = -1;
            place_[index(graph_.head[index(e)])] = -1;
        }
        walk_.clear();
        Node at = origin;
        place_[index(at)] = 0;
        while (at != destination) {
            const Link next = largest(at, smallest);
            if (next < 0) {
                if (!walk_.empty())
                    rest_[index(walk_.back())] = 0.0;
                else
                    place_[index(at)] = -1;
                return false;
            }
            walk_.push_back(next);
            at = graph_.head[index(next)];
            const std::int64_t before = place_[index(at)];
            if (before >= 0) {
                take(static_cast<std::size_t>(before));
                return false;
            }
            place_[index(at)] = static_cast<std::int64_t>(walk_.size());
        }
        return true;
    }

    Link largest(Node node, double smallest) const {
        Link best = -1;
        double most = smallest;
        for (Link k = graph_.out_start[index(node)]; k < graph_.out_start[index(node) + 1]; ++k) {
            const Link e = graph_.out_links[index(k)];
            if (rest_[index(e)] > most) {
                most = rest_[index(e)];
                best = e;
            }
        }
        return best;
    }

    // Subtracts the smallest flow of the walk from its link number `from` on; that link becomes exactly empty.
    double take(std::size_t from) {
        double least = rest_[index(walk_[from])];
        for (std::size_t i = from; i < walk_.size(); ++i) least = std::min(least, rest_[index(walk_[i])]);
        for (std::size_t i = from; i < walk_.size(); ++i) {
            double& rest = rest_[index(walk_[i])];
            rest = rest == least ? 0.0 : rest - least;
        }
        return least;
    }

    static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

    const Graph& graph_;
    std::vector<double> rest_;
    std::vector<std::int64_t> place_;  // of a node on the walk: the number of links before it; -1 elsewhere
    std::vector<Link> walk_;
};

}  // namespace privroute
