// Shortest paths from one node (Dijkstra with a 4-ary heap and decrease-key), respecting the no-through rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "graph.hpp"

namespace privroute {

inline constexpr double unreachable = std::numeric_limits<double>::infinity();

// Buffers of one search, reused from source to source so that a sweep over all origins allocates once.
class ShortestPaths {
public:
    explicit ShortestPaths(const Graph& graph)
        : graph_(graph),
          terminal_(terminals(graph)),
          slot_(graph.nodes()),
          distance(graph.nodes(), unreachable),
          incoming(graph.nodes(), -1) {
        heap_.reserve(graph.nodes());
        settled.reserve(graph.nodes());
    }

    // Fills distance and incoming (the last link of a shortest path, -1 at the source and where no path leads), and
    // settled (the nodes that the search went on from, in its order).
    void run(std::span<const double> cost, Node source) {
        std::fill(distance.begin(), distance.end(), unreachable);
        std::fill(incoming.begin(), incoming.end(), -1);
        std::fill(slot_.begin(), slot_.end(), outside);
        heap_.clear();
        settled.clear();
        distance[static_cast<std::size_t>(source)] = 0.0;
        scan(source, 0.0, cost);
        while (!heap_.empty()) {
            const auto [reached, node] = pop();
            scan(node, reached, cost);
        }
    }

private:
    struct Item {
        double key;
        Node node;
    };
    static constexpr std::int32_t outside = -1;

    // Nodes that a shortest path ends at or starts from, but never passes: those marked no-through, and those that can
    // only be left to the node they are entered from, as zones on a connector.
    static std::vector<std::uint8_t> terminals(const Graph& graph) {
        constexpr Node none = -1, several = -2;
        std::vector<Node> neighbour(graph.nodes(), none);
        const auto note = [&](Node v, Node other) {
            Node& seen = neighbour[static_cast<std::size_t>(v)];
            seen = seen == none || seen == other ? other : several;
        };
        for (std::size_t link = 0; link < graph.links(); ++link) {
            note(graph.tail[link], graph.head[link]);
            note(graph.head[link], graph.tail[link]);
        }
        std::vector<std::uint8_t> terminal(graph.no_through);
        for (std::size_t v = 0; v < graph.nodes(); ++v)
            if (neighbour[v] != several) terminal[v] = 1;
        return terminal;
    }

    void scan(Node node, double reached, std::span<const double> cost) {
        settled.push_back(node);
        const auto v = static_cast<std::size_t>(node);
        for (auto k = static_cast<std::size_t>(graph_.out_start[v]),
                  end = static_cast<std::size_t>(graph_.out_start[v + 1]);
             k < end; ++k) {
            const auto next = static_cast<std::size_t>(graph_.out_head[k]);
            const Link link = graph_.out_links[k];
            const double candidate = reached + cost[static_cast<std::size_t>(link)];
            if (candidate < distance[next]) {
                distance[next] = candidate;
                incoming[next] = link;
                if (!terminal_[next]) raise(static_cast<Node>(next), candidate);
            }
        }
    }

    // Inserts the node or moves it up after its key fell. Settled nodes never return: costs are not negative.
    void raise(Node node, double key) {
        std::int32_t hole = slot_[static_cast<std::size_t>(node)];
        if (hole == outside) {
            hole = static_cast<std::int32_t>(heap_.size());
            heap_.push_back({key, node});
        }
        while (hole > 0) {
            const std::int32_t parent = (hole - 1) / 4;
            if (heap_[static_cast<std::size_t>(parent)].key <= key) break;
            place(hole, heap_[static_cast<std::size_t>(parent)]);
            hole = parent;
        }
        place(hole, {key, node});
    }

    Item pop() {
        const Item top = heap_.front();
        const Item last = heap_.back();
        heap_.pop_back();
        const auto size = heap_.size();
        if (size > 0) {
            std::size_t hole = 0;
            for (std::size_t child = 1; child < size; child = 4 * hole + 1) {
                std::size_t least = child;
                for (std::size_t other = child + 1; other < std::min(child + 4, size); ++other)
                    if (heap_[other].key < heap_[least].key) least = other;
                if (heap_[least].key >= last.key) break;
                place(static_cast<std::int32_t>(hole), heap_[least]);
                hole = least;
            }
            place(static_cast<std::int32_t>(hole), last);
        }
        slot_[static_cast<std::size_t>(top.node)] = outside;
        return top;
    }

    void place(std::int32_t slot, Item item) {
        heap_[static_cast<std::size_t>(slot)] = item;
        slot_[static_cast<std::size_t>(item.node)] = slot;
    }

    const Graph& graph_;
    std::vector<std::uint8_t> terminal_;
    std::vector<Item> heap_;
    std::vector<std::int32_t> slot_;

public:
    std::vector<double> distance;
    std::vector<Link> incoming;
    std::vector<Node> settled;
};

}  // namespace privroute
