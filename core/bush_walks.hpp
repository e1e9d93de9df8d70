// Routes of pairs as walks back through a bush: drawn, by number, or the most probable ones.
//
// Only nodes that several links enter ("splits") leave a choice, so a walk is a list of choices; between two splits it
// follows a chain of single links. The routes of a node are numbered in the order of its links: those over the first
// link come first, then those over the second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "bush_sweeps.hpp"
#include "parallel.hpp"
#include "policy_bushes.hpp"
#include "sampling.hpp"

namespace privroute {

// A bush made ready for walks. Buffers are kept from bush to bush.
class BushTable {
public:
    struct Choice {
        Link link;
        Node tail;
        double share;
        std::uint64_t before;  // routes over the node's links before this one
    };

    explicit BushTable(const BushesView& policy) : policy_(policy), at_(policy.nodes) {}

    void use(std::size_t bush) {
        choices_.clear();
        splits_.clear();
        at_[index(policy_.root[bush])] = {-1, -1, 0, -1};
        for_each_node(policy_.head, policy_.links_of(bush), policy_.shares_of(bush),
                      [&](Node node, std::span<const Link> links, std::span<const double> share) {
                          if (links.size() == 1) {
                              const Node tail = policy_.tail[index(links[0])];
                              const At& before = at_[index(tail)];
                              at_[index(node)] = {links[0], tail, before.hops + 1, before.split};
                          } else {
                              add_split(node, links, share);
                          }
                      });
    }

    // Number of routes to a node.
    [[nodiscard]] std::uint64_t routes(Node node) const { return routes_to(at_[index(node)].split); }

    // Calls next(choices) at every split on the way back; it returns the position of the chosen link. Returns the
    // number of links of the walk.
    template <typename Next>
    std::size_t length(Node node, Next&& next) const {
        std::size_t links = 0;
        while (true) {
            const At& at = at_[index(node)];
            links += static_cast<std::size_t>(at.hops);
            if (at.split < 0) return links;
            const std::span<const Choice> choices = choices_of(at.split);
            node = choices[next(choices)].tail;
            ++links;
        }
    }

    // Writes the walk's links in front of `end`, the last one first.
    template <typename Next>
    void write(Node node, Link* end, Next&& next) const {
        while (true) {
            At at = at_[index(node)];
            for (; at.link >= 0; at = at_[index(at.tail)]) *--end = at.link;
            if (at.split < 0) return;
            const std::span<const Choice> choices = choices_of(at.split);
            const Choice& chosen = choices[next(choices)];
            *--end = chosen.link;
            node = chosen.tail;
        }
    }

    // The position of the split that a walk from the node meets first, -1 where it meets none.
    [[nodiscard]] std::int32_t split(Node node) const { return at_[index(node)].split; }
    [[nodiscard]] std::span<const Choice> choices_of(std::int32_t split) const {
        const Split& found = splits_[index(split)];
        return std::span(choices_).subspan(index(found.first), index(found.count));
    }
    // The most probable choice at a split.
    [[nodiscard]] std::int32_t best(std::int32_t split) const { return splits_[index(split)].best; }

private:
    // How a walk goes on from a node: by a single link (link >= 0), at a split, or not at all. `split` is the next one
    // on the way, -1 if there is none, and `hops` the number of links up to it.
    struct At {
        Link link;
        Node tail;
        std::int32_t hops;
        std::int32_t split;
    };
    struct Split {
        std::int32_t first;  // in choices_
        std::int32_t count;
        std::int32_t best;
        double likeliest;
        std::uint64_t routes;
    };

    void add_split(Node node, std::span<const Link> links, std::span<const double> share) {
        const auto number = static_cast<std::int32_t>(splits_.size());
        Split split{static_cast<std::int32_t>(choices_.size()), static_cast<std::int32_t>(links.size()), 0, 0.0, 0};
        for (std::size_t i = 0; i < links.size(); ++i) {
            const Node tail = policy_.tail[index(links[i])];
            const std::int32_t next = at_[index(tail)].split;
            const double likeliest = share[i] * (next < 0 ? 1.0 : splits_[index(next)].likeliest);
            choices_.push_back({links[i], tail, share[i], split.routes});
            split.routes = RouteCount::joined(split.routes, routes_to(next));
            if (likeliest > split.likeliest) {
                split.likeliest = likeliest;
                split.best = static_cast<std::int32_t>(i);
            }
        }
        splits_.push_back(split);
        at_[index(node)] = {-1, -1, 0, number};
    }

    [[nodiscard]] std::uint64_t routes_to(std::int32_t split) const {
        return split < 0 ? 1 : splits_[index(split)].routes;
    }
    static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

    const BushesView& policy_;
    std::vector<At> at_;  // by node; those of other bushes are stale, and no walk meets them
    std::vector<Choice> choices_;
    std::vector<Split> splits_;
};

// Chooses by share. The choices of a walk are hashes of the draw's key and the number of the choice.
class ChooseAtRandom {
public:
    explicit ChooseAtRandom(std::uint64_t key) : key_(key) {}
    std::size_t operator()(std::span<const BushTable::Choice> choices) {
        double left = Uniform::at(key_, step_++);
        std::size_t last = 0;
        for (; last + 1 < choices.size(); ++last) {
            left -= choices[last].share;
            if (left < 0.0) break;
        }
        probability *= choices[last].share;
        number += choices[last].before;
        return last;
    }
    double probability = 1.0;
    std::uint64_t number = 0;

private:
    std::uint64_t key_;
    std::uint64_t step_ = 0;
};

// Chooses so that the walk is the one with the given number.
class ChooseByNumber {
public:
    explicit ChooseByNumber(std::uint64_t number) : left_(number) {}
    std::size_t operator()(std::span<const BushTable::Choice> choices) {
        std::size_t last = choices.size() - 1;
        while (last > 0 && choices[last].before > left_) --last;
        left_ -= choices[last].before;
        probability *= choices[last].share;
        return last;
    }
    double probability = 1.0;

private:
    std::uint64_t left_;
};

// Routes one after the other: route i has links[start[i] .. start[i + 1]) in driving order.
struct Routes {
    std::vector<std::int64_t> start;
    std::vector<Link> links;
    std::vector<double> probability;
};

// A walk for every entry of `pairs`, with the choices that chooser(entry) makes, twice the same. Walks are written bush
// after bush, and then put into the order of the entries.
template <typename Chooser>
Routes walks(const BushesView& policy, std::span<const std::int64_t> pairs, Chooser&& chooser) {
    const ByBush grouped(pairs.size(), policy.bushes(), [&](std::size_t i) {
        return static_cast<std::size_t>(policy.bush_of_pair[static_cast<std::size_t>(pairs[i])]);
    });
    BushTable table(policy);
    Routes routes{std::vector<std::int64_t>(pairs.size() + 1, 0), {}, std::vector<double>(pairs.size())};
    std::vector<std::vector<Link>> written(policy.bushes());
    for (std::size_t b = 0; b < policy.bushes(); ++b) {
        const std::span<const std::int32_t> entries = grouped.of(b);
        if (entries.empty()) continue;
        table.use(b);
        std::size_t links = 0;
        for (const std::int32_t entry : entries) {
            const auto i = static_cast<std::size_t>(entry);
            auto choose = chooser(i);
            const std::size_t length = table.length(policy.destination[static_cast<std::size_t>(pairs[i])], choose);
            routes.start[i + 1] = static_cast<std::int64_t>(length);
            routes.probability[i] = choose.probability;
            links += length;
        }
        written[b].resize(links);
        Link* end = written[b].data();
        for (const std::int32_t entry : entries) {
            const auto i = static_cast<std::size_t>(entry);
            end += routes.start[i + 1];
            table.write(policy.destination[static_cast<std::size_t>(pairs[i])], end, chooser(i));
        }
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) routes.start[i + 1] += routes.start[i];
    routes.links.resize(static_cast<std::size_t>(routes.start.back()));
    for (std::size_t b = 0; b < policy.bushes(); ++b) {
        auto from = written[b].begin();
        for (const std::int32_t entry : grouped.of(b)) {
            const auto i = static_cast<std::size_t>(entry);
            const auto length = routes.start[i + 1] - routes.start[i];
            std::copy_n(from, length, routes.links.begin() + routes.start[i]);
            from += length;
        }
        written[b] = {};
    }
    return routes;
}

// The numbers of drawn routes among those of their pair.
inline std::vector<std::uint64_t> drawn_numbers(const BushesView& policy, std::span<const std::int64_t> pairs,
                                                const Uniform& uniform) {
    const ByBush grouped(pairs.size(), policy.bushes(), [&](std::size_t i) {
        return static_cast<std::size_t>(policy.bush_of_pair[static_cast<std::size_t>(pairs[i])]);
    });
    BushTable table(policy);
    std::vector<std::uint64_t> numbers(pairs.size());
    for (std::size_t b = 0; b < policy.bushes(); ++b) {
        if (grouped.of(b).empty()) continue;
        table.use(b);
        for (const std::int32_t entry : grouped.of(b)) {
            const auto i = static_cast<std::size_t>(entry);
            ChooseAtRandom choose(uniform.key(i));
            table.length(policy.destination[static_cast<std::size_t>(pairs[i])], choose);
            numbers[i] = choose.number;
        }
    }
    return numbers;
}

// The most probable routes of a node, in falling order of probability (Lawler's partition: a route that is taken out
// leaves, for every split behind its own deviation, the routes that deviate there).
class BestWalks {
public:
    explicit BestWalks(const BushTable& table) : table_(table) {}

    // Calls found(probability, position of the chosen link at each split) for at most `limit` routes to the node.
    template <typename Found>
    void run(Node node, std::size_t limit, Found&& found) {
        waiting_ = {};
        taken_.clear();
        start_.assign(1, 0);
        made_ = 0;
        waiting_.push({1.0, made_++, 0, 0, 0});
        for (std::size_t taken = 0; taken < limit && !waiting_.empty(); ++taken) {
            const Walk walk = waiting_.top();
            waiting_.pop();
            const double probability = expand(table_.split(node), walk, taken);
            found(probability, std::span<const std::int32_t>(choices_));
            taken_.insert(taken_.end(), choices_.begin(), choices_.end());
            start_.push_back(taken_.size());
        }
    }

private:
    // A walk that makes the first count - 1 choices of the walk `parent` that was taken, then `choice`, and the most
    // probable ones from there on. Only walks that are taken have their choices written out: a route of a thousand
    // splits leaves a thousand deviations.
    struct Walk {
        double probability;
        std::size_t made, parent, count;
        std::int32_t choice;
        bool operator<(const Walk& other) const {  // the top is the most probable; of equal ones, the first made
            return probability < other.probability || (probability == other.probability && made > other.made);
        }
    };

    // Fills choices_ with those of the walk and lets the deviations behind its own wait. Returns its probability.
    double expand(std::int32_t split, const Walk& walk, std::size_t position) {
        choices_.clear();
        if (walk.count > 0) {
            const auto prefix = taken_.begin() + static_cast<std::ptrdiff_t>(start_[walk.parent]);
            choices_.assign(prefix, prefix + static_cast<std::ptrdiff_t>(walk.count - 1));
            choices_.push_back(walk.choice);
        }
        double probability = 1.0;
        for (std::size_t depth = 0; split >= 0; ++depth) {
            const std::span<const BushTable::Choice> choices = table_.choices_of(split);
            if (depth >= walk.count) {
                const std::int32_t best = table_.best(split);
                for (std::int32_t i = 0; i < static_cast<std::int32_t>(choices.size()); ++i)
                    if (i != best)
                        waiting_.push({completed(probability, choices[static_cast<std::size_t>(i)]), made_++, position,
                                       depth + 1, i});
                choices_.push_back(best);
            }
            const BushTable::Choice& chosen = choices[static_cast<std::size_t>(choices_[depth])];
            probability *= chosen.share;
            split = table_.split(chosen.tail);
        }
        return probability;
    }

    // The probability of the walk over this choice and the most probable ones behind it, multiplied in the walk's
    // order, so that equal walks have equal ones.
    [[nodiscard]] double completed(double probability, const BushTable::Choice& choice) const {
        probability *= choice.share;
        for (std::int32_t split = table_.split(choice.tail); split >= 0;) {
            const BushTable::Choice& best = table_.choices_of(split)[static_cast<std::size_t>(table_.best(split))];
            probability *= best.share;
            split = table_.split(best.tail);
        }
        return probability;
    }

    const BushTable& table_;
    std::priority_queue<Walk> waiting_;
    std::size_t made_ = 0;
    std::vector<std::int32_t> taken_;  // choices of the walks that were taken, one walk after the other
    std::vector<std::size_t> start_;
    std::vector<std::int32_t> choices_;
};

// Calls visit(probability, number, links in driving order) for at most `limit` routes to the node, the most probable
// first. The links are gone after the call.
template <typename Visit>
void for_each_best(const BushTable& table, BestWalks& walks, Node to, std::size_t limit, std::vector<Link>& links,
                   Visit&& visit) {
    walks.run(to, limit, [&](double probability, std::span<const std::int32_t> choices) {
        std::size_t depth = 0;
        std::uint64_t number = 0;
        const auto choose = [&](std::span<const BushTable::Choice> at) {
            const auto chosen = static_cast<std::size_t>(choices[depth++]);
            number += at[chosen].before;
            return chosen;
        };
        links.resize(table.length(to, choose));
        const std::uint64_t found = number;
        depth = 0;
        table.write(to, links.data() + links.size(), choose);
        visit(probability, found, std::span<const Link>(links));
    });
}

// At most `limit` routes for every entry of `pairs`, the most probable first: those of entry i are routes
// first[i] .. first[i + 1].
struct RoutesOfPairs {
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> number;  // by route, among those of its pair
    Routes routes;
};

inline RoutesOfPairs best_routes(const BushesView& policy, std::span<const std::int64_t> pairs, std::size_t limit,
                                 int threads) {
    struct Chunk {
        std::vector<std::int64_t> end;  // by route: of its links
        std::vector<Link> links;
        std::vector<double> probability;
        std::vector<std::int64_t> number;
    };
    struct Spot {
        std::size_t chunk = 0, first = 0, count = 0;
    };
    const ByBush grouped(pairs.size(), policy.bushes(), [&](std::size_t i) {
        return static_cast<std::size_t>(policy.bush_of_pair[static_cast<std::size_t>(pairs[i])]);
    });
    std::vector<std::size_t> wanted;
    for (std::size_t b = 0; b < policy.bushes(); ++b)
        if (!grouped.of(b).empty()) wanted.push_back(b);
    std::vector<Chunk> chunks(wanted.size());
    std::vector<Spot> spots(pairs.size());
    std::vector<BushTable> tables(static_cast<std::size_t>(std::min<std::size_t>(
                                      static_cast<std::size_t>(threads), std::max<std::size_t>(wanted.size(), 1))),
                                  BushTable(policy));
    parallel_for(wanted.size(), static_cast<int>(tables.size()), [&](std::size_t worker, std::size_t item) {
        BushTable& table = tables[worker];
        table.use(wanted[item]);
        BestWalks walks(table);
        std::vector<Link> path;
        Chunk& chunk = chunks[item];
        for (const std::int32_t entry : grouped.of(wanted[item])) {
            const Node to = policy.destination[static_cast<std::size_t>(pairs[static_cast<std::size_t>(entry)])];
            const std::size_t first = chunk.probability.size();
            for_each_best(table, walks, to, limit, path,
                          [&](double probability, std::uint64_t number, std::span<const Link> links) {
                              chunk.number.push_back(static_cast<std::int64_t>(number));
                              chunk.links.insert(chunk.links.end(), links.begin(), links.end());
                              chunk.end.push_back(static_cast<std::int64_t>(chunk.links.size()));
                              chunk.probability.push_back(probability);
                          });
            spots[static_cast<std::size_t>(entry)] = {item, first, chunk.probability.size() - first};
        }
    });

    RoutesOfPairs result;
    result.first.push_back(0);
    result.routes.start.push_back(0);
    std::size_t routes = 0, links = 0;
    for (const Chunk& chunk : chunks) {
        routes += chunk.probability.size();
        links += chunk.links.size();
    }
    result.first.reserve(pairs.size() + 1);
    result.routes.start.reserve(routes + 1);
    result.routes.links.reserve(links);
    result.routes.probability.reserve(routes);
    for (const Spot& spot : spots) {
        for (std::size_t route = spot.first; route < spot.first + spot.count; ++route) {
            const Chunk& chunk = chunks[spot.chunk];
            const std::int64_t begin = route == 0 ? 0 : chunk.end[route - 1];
            result.routes.links.insert(result.routes.links.end(), chunk.links.begin() + begin,
                                       chunk.links.begin() + chunk.end[route]);
            result.routes.start.push_back(static_cast<std::int64_t>(result.routes.links.size()));
            result.routes.probability.push_back(chunk.probability[route]);
            result.number.push_back(chunk.number[route]);
        }
        result.first.push_back(static_cast<std::int64_t>(result.routes.probability.size()));
    }
    return result;
}

// How many pairs have a route over each link.
inline std::vector<std::int64_t> pairs_using(const BushesView& policy) {
    const ByBush pairs = pairs_by_bush(policy);
    std::vector<std::int64_t> using_link(policy.head.size(), 0);
    // A pair uses a link of its bush if a walk back from its destination meets the link's head.
    std::vector<std::int64_t> met_by(policy.nodes, -1);
    std::vector<std::uint32_t> begin(policy.nodes), count(policy.nodes);
    std::vector<Node> stack;
    for (std::size_t b = 0; b < policy.bushes(); ++b) {
        if (pairs.of(b).empty()) continue;
        const std::span<const Link> links = policy.links_of(b);
        std::size_t at = 0;
        count[static_cast<std::size_t>(policy.root[b])] = 0;
        for_each_node(policy.head, links, policy.shares_of(b),
                      [&](Node node, std::span<const Link> entering, std::span<const double>) {
                          begin[static_cast<std::size_t>(node)] = static_cast<std::uint32_t>(at);
                          count[static_cast<std::size_t>(node)] = static_cast<std::uint32_t>(entering.size());
                          at += entering.size();
                      });
        for (const std::int32_t pair : pairs.of(b)) {
            stack.assign(1, policy.destination[static_cast<std::size_t>(pair)]);
            met_by[static_cast<std::size_t>(stack[0])] = pair;
            while (!stack.empty()) {
                const auto node = static_cast<std::size_t>(stack.back());
                stack.pop_back();
                for (std::uint32_t i = begin[node]; i < begin[node] + count[node]; ++i) {
                    const auto link = static_cast<std::size_t>(links[i]);
                    ++using_link[link];
                    const auto tail = static_cast<std::size_t>(policy.tail[link]);
                    if (met_by[tail] == pair) continue;
                    met_by[tail] = pair;
                    stack.push_back(policy.tail[link]);
                }
            }
        }
    }
    return using_link;
}

}  // namespace privroute
