// From bushes to a policy: each pair follows its source's splits, and the unit flow that results is taken apart into
// paths.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bush.hpp"
#include "policy.hpp"
#include "reduction.hpp"

namespace privroute {

// Collects the paths of pairs in any order and from several threads, and lines them up by pair at the end.
class PolicyAssembly {
public:
    // The paths written by one work item.
    class Chunk {
    public:
        // `back` is the path from its end to its start, without first and last link (-1 where absent).
        void add(double probability, Link first, std::span<const Link> back, Link last) {
            if (first >= 0) links_.push_back(first);
            links_.insert(links_.end(), back.rbegin(), back.rend());
            if (last >= 0) links_.push_back(last);
            path_end_.push_back(static_cast<std::int64_t>(links_.size()));
            probability_.push_back(probability);
        }
        [[nodiscard]] std::size_t paths() const { return probability_.size(); }
        [[nodiscard]] double* probability_from(std::size_t path) { return probability_.data() + path; }

    private:
        friend class PolicyAssembly;
        std::vector<Link> links_;
        std::vector<std::int64_t> path_end_;
        std::vector<double> probability_;
    };

    PolicyAssembly(std::size_t pairs, std::size_t chunks) : spot_(pairs), chunks_(chunks) {}

    Chunk& chunk(std::size_t index) { return chunks_[index]; }
    // The pair owns the paths of the chunk from `first` to the last one written.
    void assign(std::size_t pair, std::size_t chunk, std::size_t first) {
        spot_[pair] = {static_cast<std::int32_t>(chunk), static_cast<std::int32_t>(chunks_[chunk].paths() - first),
                       first};
    }

    // Calls visit(probability, links) for each path that the pair has so far.
    template <typename Visit>
    void for_each_path(std::size_t pair, Visit&& visit) const {
        const Spot& spot = spot_[pair];
        if (spot.paths == 0) return;
        const Chunk& chunk = chunks_[spot.chunk];
        for (std::size_t path = spot.first; path < spot.first + static_cast<std::size_t>(spot.paths); ++path) {
            const std::int64_t begin = path == 0 ? 0 : chunk.path_end_[path - 1], end = chunk.path_end_[path];
            visit(chunk.probability_[path],
                  std::span(chunk.links_.data() + begin, static_cast<std::size_t>(end - begin)));
        }
    }

    [[nodiscard]] Policy finish() const {
        Policy policy;
        std::size_t paths = 0, links = 0;
        for (const Chunk& chunk : chunks_) {
            paths += chunk.paths();
            links += chunk.links_.size();
        }
        policy.pair_start.reserve(spot_.size() + 1);
        policy.path_start.reserve(paths + 1);
        policy.links.reserve(links);
        policy.probability.reserve(paths);
        policy.pair_start.push_back(0);
        policy.path_start.push_back(0);
        for (std::size_t pair = 0; pair < spot_.size(); ++pair) {
            for_each_path(pair, [&](double probability, std::span<const Link> path) {
                policy.links.insert(policy.links.end(), path.begin(), path.end());
                policy.path_start.push_back(static_cast<std::int64_t>(policy.links.size()));
                policy.probability.push_back(probability);
            });
            policy.pair_start.push_back(static_cast<std::int64_t>(policy.probability.size()));
        }
        return policy;
    }

private:
    struct Spot {
        std::int32_t chunk = 0;
        std::int32_t paths = 0;
        std::size_t first = 0;
    };
    std::vector<Spot> spot_;
    std::vector<Chunk> chunks_;
};

// Takes the unit flows of one bush apart. Buffers are kept from bush to bush.
class BushPaths {
public:
    // Paths with a probability of at most `negligible` are left out.
    BushPaths(const Reduction& reduction, double negligible)
        : reduction_(reduction), negligible_(negligible), place_(reduction.graph.nodes()) {}

    void use(const Bush& bush) {
        bush_ = &bush;
        share_.assign(bush.entries.size(), 1.0);
        left_.assign(bush.entries.size(), 0.0);
        load_.assign(bush.order.size(), 0.0);
        pending_.assign(bush.order.size() / 64 + 1, 0);
        for (Position k = 0; k < bush.size(); ++k) {
            place_[bush.order[k]] = k;
            const std::int32_t begin = bush.start[k], end = bush.start[k + 1];
            if (end - begin <= 1) continue;
            double sum = 0.0;
            for (std::int32_t e = begin; e < end; ++e) sum += bush.flow[e];
            for (std::int32_t e = begin; e < end; ++e)
                share_[e] = sum > 0.0 ? bush.flow[e] / sum : (e == begin ? 1.0 : 0.0);
        }
    }

    // Writes the paths of a trip; their probabilities add up to 1.
    void write(const ReducedTrip& trip, PolicyAssembly::Chunk& chunk) {
        const Position destination = place_[trip.destination];
        if (walk_if_single(destination)) {
            chunk.add(1.0, trip.first, path_, trip.last);
            return;
        }
        spread(destination);
        const std::size_t first = chunk.paths();
        double total = 0.0;
        // Every peel empties an entry, so this ends.
        for (double probability = peel(destination); probability > negligible_; probability = peel(destination)) {
            total += probability;
            chunk.add(probability, trip.first, path_, trip.last);
        }
        for (std::size_t path = first; path < chunk.paths(); ++path) *chunk.probability_from(path) /= total;
    }

private:
    // Fills path_ if no node on the way back has a split.
    bool walk_if_single(Position k) {
        path_.clear();
        while (k > 0) {
            const std::int32_t e = bush_->start[k];
            if (bush_->start[k + 1] - e > 1) return false;
            path_.push_back(reduction_.original[bush_->entries[e].link]);
            k = bush_->entries[e].tail;
        }
        return true;
    }

    // Sends one unit back from the destination: left_ becomes the unit flow on the entries it passes. Nodes wait in a
    // bit set, so that only the pair's own part of the bush is visited, from the far end to the source.
    void spread(Position destination) {
        load_[destination] = 1.0;
        pending_[static_cast<std::size_t>(destination) / 64] |= std::uint64_t{1} << (destination % 64);
        for (std::size_t word = static_cast<std::size_t>(destination) / 64 + 1; word-- > 0;) {
            while (pending_[word] != 0) {
                const int bit = 63 - std::countl_zero(pending_[word]);
                pending_[word] ^= std::uint64_t{1} << bit;
                const auto k = static_cast<Position>(word * 64 + static_cast<std::size_t>(bit));
                const double amount = load_[k];
                load_[k] = 0.0;
                for (std::int32_t e = bush_->start[k]; e < bush_->start[k + 1]; ++e) {
                    left_[e] = amount * share_[e];
                    const Position tail = bush_->entries[e].tail;
                    if (left_[e] <= 0.0) continue;
                    load_[tail] += left_[e];
                    pending_[static_cast<std::size_t>(tail) / 64] |= std::uint64_t{1} << (tail % 64);
                }
            }
        }
    }

    // Takes away the path that follows the largest remaining flow at every node; returns what it carried.
    double peel(Position destination) {
        taken_.clear();
        double bottleneck = 1.0;
        for (Position k = destination; k > 0;) {
            std::int32_t best = bush_->start[k];
            for (std::int32_t e = best + 1; e < bush_->start[k + 1]; ++e)
                if (left_[e] > left_[best]) best = e;
            bottleneck = std::min(bottleneck, left_[best]);
            taken_.push_back(best);
            k = bush_->entries[best].tail;
        }
        path_.clear();
        for (const std::int32_t e : taken_) {
            left_[e] -= bottleneck;
            path_.push_back(reduction_.original[bush_->entries[e].link]);
        }
        return bottleneck;
    }

    const Reduction& reduction_;
    double negligible_;
    const Bush* bush_ = nullptr;
    std::vector<Position> place_;
    std::vector<double> share_, left_, load_;
    std::vector<std::uint64_t> pending_;
    std::vector<std::int32_t> taken_;
    std::vector<Link> path_;
};

}  // namespace privroute
